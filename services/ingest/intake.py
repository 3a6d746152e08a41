"""What may arrive on `docs.incoming`: our own envelope, or a bucket notification as MinIO and S3 send it.

A notification names objects in `Records[].s3`, with the key URL-encoded once (MinIO's record key is the same, unescaped; it is not
used). Only object creations are submissions; deletions and test events are answered with nothing.
"""

from __future__ import annotations

from urllib.parse import unquote_plus

import msgspec

from shared.contracts.codec import decode
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.records import DocumentSubmitted, SourceRef


class Intake(msgspec.Struct, frozen=True, kw_only=True):
    """The submissions in one record."""

    submissions: list[DocumentSubmitted]

    @property
    def document_id(self) -> str | None:
        """The id by which a cancel finds this record; none where the submitter gave none, or there are several documents."""
        return self.submissions[0].document_id if len(self.submissions) == 1 else None

    @property
    def generation(self) -> int:
        return self.submissions[0].generation if len(self.submissions) == 1 else 0


class _Name(msgspec.Struct):
    name: str


class _Object(msgspec.Struct, rename="camel"):
    key: str
    size: int | None = None
    e_tag: str | None = None
    version_id: str | None = None


class _S3(msgspec.Struct):
    bucket: _Name
    object: _Object


class _NotificationRecord(msgspec.Struct, rename="camel"):
    event_name: str
    s3: _S3


class _Notification(msgspec.Struct, rename={"records": "Records", "event": "Event", "event_name": "EventName"}):
    records: list[_NotificationRecord] | None = None
    event: str | None = None
    event_name: str | None = None


def read(value: bytes) -> Intake:
    """Submissions of a record of `docs.incoming`. Raises `DocfleetError(invalid_message)` for anything else."""
    try:
        notification = msgspec.json.decode(value, type=_Notification)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DocfleetError(
            ErrorCode.invalid_message, f"neither a submission nor a bucket notification: {error}"
        ) from error
    if notification.records is not None:
        return Intake(submissions=[_submission(r) for r in notification.records if "ObjectCreated" in r.event_name])
    if notification.event == "s3:TestEvent":
        return Intake(submissions=[])
    return Intake(submissions=[decode(value, DocumentSubmitted)])


def _submission(record: _NotificationRecord) -> DocumentSubmitted:
    found = record.s3.object
    source = SourceRef(
        bucket=record.s3.bucket.name,
        key=unquote_plus(found.key),
        version_id=found.version_id if found.version_id not in ("", "null") else None,
        etag=found.e_tag.strip('"') if found.e_tag else None,
        size=found.size,
    )
    return DocumentSubmitted(source=source)
