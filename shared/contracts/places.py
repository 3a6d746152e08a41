"""Whether two sources are the same object."""

from __future__ import annotations

from shared.contracts.records import SourceRef


def bare(etag: str | None) -> str | None:
    """An etag without the quotes that HTTP puts around it."""
    return etag.strip('"') if etag is not None else None


def same_place(one: SourceRef, other: SourceRef) -> bool:
    """Whether two submissions mean the same object; what one of them does not pin does not tell them apart."""
    return (one.bucket, one.key) == (other.bucket, other.key) and all(
        mine is None or theirs is None or mine == theirs
        for mine, theirs in ((one.version_id, other.version_id), (bare(one.etag), bare(other.etag)))
    )
