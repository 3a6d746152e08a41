"""What SeaweedFS's filer sends to Kafka: the record's key is the path, its value an `EventNotification` of its filer.proto.

Of that message only three facts are needed (field numbers of weed/pb/filer.proto, release 4): which of `old_entry` (1) and `new_entry`
(2) there are, and of the new entry `is_directory` (2) and, in `attributes` (4), `file_size` (1). A reader of those few bytes is
shorter than a schema, a compiler and a run-time library. Objects of S3 buckets lie below `/buckets/`; where `new_parent_path` (4) is set
an object was moved.
"""

from __future__ import annotations

from collections.abc import Iterator

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.records import DocumentSubmitted, SourceRef

_BUCKETS = b"/buckets/"
_OWN = (".uploads", ".versions")
"""Folders of SeaweedFS's own inside a bucket: parts of multipart uploads, versions. Its own buckets begin with a dot (`.system`)."""
_OLD, _NEW, _IS_DIRECTORY, _ATTRIBUTES, _FILE_SIZE = 1, 2, 2, 4, 1


def sent(value: bytes, key: bytes | None) -> bool:
    """Whether a record has this form: a path below `/buckets/` as key, and a value that is no JSON object."""
    return key is not None and key.startswith(_BUCKETS) and value[:1] != b"{"


def submissions(value: bytes, key: bytes) -> list[DocumentSubmitted]:
    """The object that was created or replaced; none for a deletion, a folder, or a file outside of objects.

    Raises `DocfleetError(invalid_message)` for a value that is no such message.
    """
    try:
        path = key.decode()
        entries = {number: data for number, data in _fields(value) if isinstance(data, bytes)}
        new = entries.get(_NEW)
        fields = dict(_fields(new)) if new is not None else {}
        attributes = fields.get(_ATTRIBUTES, b"")
        size = dict(_fields(attributes)).get(_FILE_SIZE) if isinstance(attributes, bytes) else None
    except (ValueError, IndexError, UnicodeDecodeError) as error:
        raise DocfleetError(
            ErrorCode.invalid_message, f"not a notification of SeaweedFS's filer: {error!s:.100}"
        ) from error
    if new is None and _OLD not in entries:
        raise DocfleetError(ErrorCode.invalid_message, "a notification of SeaweedFS's filer without an entry")
    bucket, _, name = path.removeprefix("/buckets/").partition("/")
    if new is None or fields.get(_IS_DIRECTORY) or not bucket or bucket.startswith("."):
        return []
    if not name or name.split("/", 1)[0] in _OWN:
        return []
    source = SourceRef(bucket=bucket, key=name, size=size if isinstance(size, int) and size > 0 else None)
    return [DocumentSubmitted(source=source)]


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Fields of a protobuf message in order: numbers as they are, everything else as bytes. Raises `ValueError`, `IndexError`."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            whole, at = _varint(message, at)
            yield number, whole
            continue
        if kind == 2:
            length, at = _varint(message, at)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError(f"wire type {kind}")
        if number == 0 or at + length > len(message):
            raise ValueError("a field beyond the end")
        yield number, message[at : at + length]
        at += length


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")
