"""One full example of every record and stored object: each field has a value, those that may be left out as well.

`python -m tests.support.example_records FOLDER` writes those that are missing there, `KIND.json` each. What a released version wrote is
never written again: it is what later versions are held to.
"""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from shared.contracts.codec import SCHEMA_VERSION, decode, encode
from shared.contracts.schemas import KINDS

WORDS = (
    "example",
    "s3",
    "a" * 64,
    "doc-1",
    "rect",
    "2026-11-30T13:00:00Z",
    "p1",
    "1-3",
    "docs.rec",
    "1.0.0",
    "en",
    "#/a",
    "00",
    "f" * 32,
)
"""Tried in order where a pattern narrows what a text may be."""


def example(kind: type[msgspec.Struct]) -> msgspec.Struct:
    """A value of a type with every field set. Raises `ValueError` where no example fits a field."""
    return decode(encode(_value(inspect.type_info(kind), kind.__name__)), kind)


def _value(kind: inspect.Type, where: str, above: tuple[type, ...] = ()) -> Any:
    """`above`: the types that this one is within; a type within itself is left empty."""
    match kind:
        case inspect.StructType():
            within = (*above, kind.cls)
            value = {one.encode_name: _value(one.type, f"{where}.{one.name}", within) for one in kind.fields}
            if kind.tag_field:
                value[kind.tag_field] = kind.tag
            if "schema_version" in value:
                value["schema_version"] = SCHEMA_VERSION
            return value
        case inspect.UnionType():
            chosen = next(one for one in kind.types if not isinstance(one, inspect.NoneType))
            return None if _again(chosen, above) else _value(chosen, where, above)
        case inspect.ListType() | inspect.SetType() | inspect.FrozenSetType() | inspect.VarTupleType():
            count = 0 if _again(kind.item_type, above) else max(1, getattr(kind, "min_length", None) or 1)
            return [_value(kind.item_type, f"{where}[]", above) for _ in range(count)]
        case inspect.TupleType():
            return [_value(one, where, above) for one in kind.item_types]
        case inspect.DictType():
            return {_text(kind.key_type, where): _value(kind.value_type, f"{where}{{}}", above)}
        case inspect.StrType():
            return _text(kind, where)
        case inspect.IntType():
            return max(3, kind.ge or 0) if kind.le is None else min(max(3, kind.ge or 0), kind.le)
        case inspect.FloatType():
            return 0.5
        case inspect.BoolType():
            return True
        case inspect.EnumType():
            return next(iter(kind.cls)).value
        case inspect.LiteralType():
            return kind.values[0]
        case inspect.DateTimeType():
            return datetime(2026, 11, 30, 13, 0, tzinfo=UTC)
        case inspect.AnyType() | inspect.RawType():
            return "anything"
    raise ValueError(f"{where}: no example of {kind}")


def _again(kind: inspect.Type, above: tuple[type, ...]) -> bool:
    return isinstance(kind, inspect.StructType) and kind.cls in above


def _text(kind: inspect.Type, where: str) -> str:
    pattern = getattr(kind, "pattern", None)
    longest = getattr(kind, "max_length", None) or 10_000
    for word in WORDS:
        if (pattern is None or re.search(pattern, word)) and len(word) <= longest:
            return word
    raise ValueError(f"{where}: no example fits {pattern}")


def main(folder: Path) -> int:
    """Write what is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, kind in KINDS.items():
        path = folder / f"{name}.json"
        if not path.exists():
            path.write_bytes(encode(example(kind)) + b"\n")
            print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
