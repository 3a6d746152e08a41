"""Bytes in, typed values out, and back: the only place that encodes or decodes what travels or is stored.

Encoding is canonical (sorted keys, no blanks, UTF-8), so that equal values are equal bytes and hashes can be compared.
Decoding is tolerant of unknown fields (a newer writer) and strict about everything else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from functools import lru_cache
from typing import Any, TypeVar, cast

import msgspec
import orjson

from shared.contracts.errors import DocfleetError, ErrorCode

SCHEMA_VERSION = "1.0.0"
"""Version of every record and stored object here; a reader refuses another major."""

T = TypeVar("T")


def encode(value: Any) -> bytes:
    """Canonical JSON bytes of a Struct, or of plain data."""
    return orjson.dumps(msgspec.to_builtins(value), option=orjson.OPT_SORT_KEYS)


@lru_cache(maxsize=256)
def _decoder(kind: Hashable) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def decode(data: bytes, kind: type[T]) -> T:
    """Decode and validate. Raises `DocfleetError(invalid_message)` for foreign bytes or an unknown major version."""
    try:
        value = _decoder(cast(Hashable, kind)).decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DocfleetError(ErrorCode.invalid_message, f"not a valid record: {error}") from error
    version = getattr(value, "schema_version", SCHEMA_VERSION)
    if str(version).split(".", 1)[0] != SCHEMA_VERSION.split(".", 1)[0]:
        raise DocfleetError(
            ErrorCode.invalid_message, f"schema_version {version!s:.20} is not supported (this is {SCHEMA_VERSION})"
        )
    return cast(T, value)


def sha256(data: bytes) -> str:
    """Hex sha256 of bytes."""
    return hashlib.sha256(data).hexdigest()
