"""Whether two sources are the same object, and what is said when an id belongs to another one."""

from __future__ import annotations

from shared.contracts.errors import DocfleetError, ErrorCode
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


def taken(document_id: str, generation: int) -> DocfleetError:
    """What a submission under the id and generation of another source ends with."""
    return DocfleetError(
        ErrorCode.conflict,
        f"document id {document_id} at generation {generation} belongs to another source; use another id or the next generation",
    )
