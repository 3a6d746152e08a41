"""Which buckets and keys may be asked for: a key from a record must never lead out of its bucket."""

from __future__ import annotations

from shared.contracts.errors import DocfleetError, ErrorCode

MAX_KEY_BYTES = 1024
"""S3's own limit, UTF-8."""


def check(bucket: str, key: str) -> None:
    """Raise `DocfleetError(source_missing)` for names that cannot name an object: empty, absolute, with `.` or `..` parts.

    Empty parts (`a//b`) are left to the store: S3 has such keys.
    """
    if not bucket or bucket.startswith(".") or "/" in bucket or "\\" in bucket or "\0" in bucket:
        raise DocfleetError(ErrorCode.source_missing, "the bucket's name is not one a bucket can have")
    parts = key.split("/")
    if not parts[0] or any(part in (".", "..") for part in parts) or "\0" in key:
        raise DocfleetError(
            ErrorCode.source_missing, "the key cannot name an object: it is empty, absolute or has a '.' or '..' part"
        )
    if len(key.encode("utf-8", "surrogatepass")) > MAX_KEY_BYTES:
        raise DocfleetError(ErrorCode.source_missing, f"the key is longer than {MAX_KEY_BYTES} bytes")
