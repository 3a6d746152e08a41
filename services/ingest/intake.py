"""What may arrive on `docs.incoming`: our own envelope, or a bucket notification as object stores send it.

S3's form, which MinIO, Ceph, RustFS and versitygw send too: objects in `Records[].s3`, with the key URL-encoded once (MinIO's record
key is the same, unescaped; it is not used), by versitygw not at all. Its structure has a version (`eventVersion`, 2.0 to 2.3 so far):
minor ones only add fields, another major one is refused. SeaweedFS's form is in `seaweedfs`.

Only object creations are submissions; deletions and test events are answered with nothing.
"""

from __future__ import annotations

import re
from urllib.parse import unquote_plus

import msgspec

from services.ingest import seaweedfs
from shared.contracts.codec import decode
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.records import DocumentSubmitted, SourceRef


class Intake(msgspec.Struct, frozen=True, kw_only=True):
    """The submissions in one record."""

    submissions: list[DocumentSubmitted]
    event: bool = False
    """Whether an object store sent it: nobody asked for these objects by name."""

    @property
    def document_id(self) -> str | None:
        """The id by which a cancel finds this record; none where the submitter gave none, or there are several documents."""
        return self.submissions[0].document_id if len(self.submissions) == 1 else None

    @property
    def generation(self) -> int:
        return self.submissions[0].generation if len(self.submissions) == 1 else 0


class _Bucket(msgspec.Struct):
    name: str
    arn: str = ""


class _Object(msgspec.Struct, rename="camel"):
    key: str
    size: int | None = None
    e_tag: str | None = None
    etag: str | None = msgspec.field(default=None, name="etag")
    """RustFS writes it so."""
    version_id: str | None = None


class _S3(msgspec.Struct):
    bucket: _Bucket
    object: _Object


class _NotificationRecord(msgspec.Struct, rename="camel"):
    event_name: str
    s3: _S3
    event_version: str = "2.0"


class _Wrapped(msgspec.Struct):
    """RustFS puts the record into `data`, beside names of its own."""

    data: _NotificationRecord


class _Notification(msgspec.Struct, rename={"records": "Records", "event": "Event", "event_name": "EventName"}):
    records: list[msgspec.Raw] | None = None
    event: str | None = None
    event_name: str | None = None


class _Shape(msgspec.Struct):
    data: msgspec.Raw = msgspec.Raw()


_ENCODED = re.compile(r"(?:%[0-9A-Fa-f]{2}|[^%\s\x00-\x20\x7f-\U0010ffff])*")
MAJOR = "2"
"""Major version of S3's event structure that is understood."""


def read(value: bytes, key: bytes | None = None) -> Intake:
    """Submissions of a record of `docs.incoming`. Raises `DocfleetError(invalid_message)` for anything else."""
    if seaweedfs.sent(value, key):
        return Intake(submissions=seaweedfs.submissions(value, key or b""), event=True)
    try:
        notification = msgspec.json.decode(value, type=_Notification)
        if notification.records is not None:
            records = [_record(raw) for raw in notification.records]
            return Intake(submissions=[_submission(r) for r in records if "ObjectCreated" in r.event_name], event=True)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DocfleetError(
            ErrorCode.invalid_message, f"neither a submission nor a bucket notification: {error}"
        ) from error
    if notification.event == "s3:TestEvent":
        return Intake(submissions=[], event=True)
    return Intake(submissions=[decode(value, DocumentSubmitted)])


def _record(raw: msgspec.Raw) -> _NotificationRecord:
    if bytes(msgspec.json.decode(raw, type=_Shape).data):
        record = msgspec.json.decode(raw, type=_Wrapped).data
    else:
        record = msgspec.json.decode(raw, type=_NotificationRecord)
    if record.event_version.split(".", 1)[0] != MAJOR:
        raise DocfleetError(
            ErrorCode.invalid_message,
            f"eventVersion {record.event_version!r:.20} of a bucket notification is not understood (this is {MAJOR}.x)",
        )
    return record


def _submission(record: _NotificationRecord) -> DocumentSubmitted:
    found = record.s3.object
    etag = found.e_tag or found.etag
    return DocumentSubmitted(
        source=SourceRef(
            bucket=record.s3.bucket.name,
            key=_key(record.s3),
            version_id=found.version_id if found.version_id not in ("", "null") else None,
            etag=etag.strip('"') if etag else None,
            size=found.size or None,  # versitygw says 0 of a multipart upload
        )
    )


def _key(s3: _S3) -> str:
    """The key of the object, decoded where it is encoded.

    versitygw (1.8) writes it as it is, and also puts bucket and key into the bucket's ARN: that tells `a+b` from an encoded `a b`. Of any
    other server, what no encoding produces is taken as it is too.
    """
    key = s3.object.key
    if s3.bucket.arn == f"arn:aws:s3:::/{s3.bucket.name}/{key}" or not _ENCODED.fullmatch(key):
        return key
    return unquote_plus(key)
