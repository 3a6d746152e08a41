"""A record is read as its readers will read it before anything is uploaded or sent: what they would refuse is told to whoever wrote it."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from shared.contracts.codec import decode, encode
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.ids import is_document_id

T = TypeVar("T", bound=msgspec.Struct)


def checked(record: T) -> T:
    """The record again. Raises `DocfleetError(invalid_message)`: sent, it would be a dead letter, and nobody would hear of the document."""
    document_id = getattr(record, "document_id", None)
    if document_id is not None and not (isinstance(document_id, str) and is_document_id(document_id)):
        raise DocfleetError(
            ErrorCode.invalid_message, f"{document_id!r:.140} is no document id: 1 to 128 of A-Z a-z 0-9 . _ : -"
        )
    try:
        data = encode(record)
    except TypeError as error:  # text that is no text: halves of surrogate pairs, as names that are not UTF-8 have
        raise DocfleetError(ErrorCode.invalid_message, f"not a valid record: {error!s:.200}") from error
    decode(data, type(record))
    return record
