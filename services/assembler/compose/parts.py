"""The bytes of a large value, part by part: those of `codec.encode`, which makes plain data of the whole value first.

For a document of 5,000 pages that plain data is three times the document itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from shared.contracts.codec import encode

ITEMS = 64
"""Items of a list that are encoded at a time."""


def encoded(value: msgspec.Struct) -> Iterator[bytes]:
    """Canonical JSON of a struct without omitted defaults, in parts; joined they are `encode(value)`."""
    if value.__struct_config__.omit_defaults or value.__struct_config__.tag is not None:
        raise TypeError(f"{type(value).__name__} is not written field by field")
    names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
    before = b"{"
    for name, field in sorted(names):
        yield before + encode(name) + b":"
        yield from _of_field(getattr(value, field))
        before = b","
    yield b"}" if before == b"," else b"{}"


def _of_field(value: object) -> Iterator[bytes]:
    if not isinstance(value, list) or len(value) <= ITEMS:
        yield encode(value)
        return
    for start in range(0, len(value), ITEMS):
        yield (b"," if start else b"[") + encode(value[start : start + ITEMS])[1:-1]
    yield b"]"
