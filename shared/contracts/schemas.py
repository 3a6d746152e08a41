"""JSON Schema (2020-12) of everything that travels or is stored, generated from the types.

`python -m shared.contracts.schemas docs/reference` writes `schemas/<kind>.json` below that folder and removes files of
kinds that are gone. A kind is the name of its type in snake case (`parsed_document`).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import orjson

from shared.contracts import records
from shared.contracts.document import ParsedDocument
from shared.contracts.layout import (
    CacheEntry,
    ComposedPage,
    DoneMark,
    Inspection,
    Lease,
    PageLayout,
    Reading,
    TaskError,
)

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_STORED: tuple[type[msgspec.Struct], ...] = (
    ParsedDocument,
    ComposedPage,
    PageLayout,
    Reading,
    TaskError,
    Inspection,
    CacheEntry,
    DoneMark,
    Lease,
)
_PUBLIC: tuple[type[msgspec.Struct], ...] = (
    records.DocumentSubmitted,
    records.DocumentParsed,
    records.DocumentProgress,
)


def _name(kind: type) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


def _all_subclasses(kind: type[msgspec.Struct]) -> list[type[msgspec.Struct]]:
    return [found for child in kind.__subclasses__() for found in (child, *_all_subclasses(child))]


KINDS: dict[str, type[msgspec.Struct]] = {
    _name(kind): kind
    for kind in sorted((*_STORED, *_PUBLIC, *_all_subclasses(records.Event)), key=lambda kind: kind.__name__)
}
"""Kind to type: the stored objects, the three records without a `type` field, and every typed record."""


def schema_of(kind: str) -> dict[str, Any]:
    """The schema of a kind of `KINDS`. Raises `KeyError` for another name."""
    return {"$schema": DIALECT, "$id": f"urn:docfleet:schema:{kind}", **msgspec.json.schema(KINDS[kind])}


def schema_bytes(kind: str) -> bytes:
    """The schema as it is written: indented, sorted keys, one newline at the end."""
    options = orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    return orjson.dumps(schema_of(kind), option=options)


def write(folder: Path) -> list[Path]:
    """Write every schema below `folder/schemas`; returns the files."""
    target = folder / "schemas"
    target.mkdir(parents=True, exist_ok=True)
    files = [target / f"{kind}.json" for kind in KINDS]
    for gone in set(target.glob("*.json")) - set(files):
        gone.unlink()
    for file in files:
        file.write_bytes(schema_bytes(file.stem))
    return files


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m shared.contracts.schemas FOLDER    (docs/reference in this repository)")
    print(f"{len(write(Path(sys.argv[1])))} schemas written")
