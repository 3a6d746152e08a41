"""What a submission names: files, folders, patterns, objects, prefixes, lists of any length. One after the other, never all in memory.

- a file or a folder of this machine (the documents below it), or a pattern that no shell has expanded (`scans/**/*.pdf`);
- `s3://bucket/key`, or everything below `s3://bucket/prefix/`, or a pattern (`s3://bucket/2026-*/*.pdf`; `*` goes over slashes);
- a list: CSV with a head, or JSON lines. `source` names one file or object a line; other columns are those of the envelope (`document_id`,
  `tenant`, `priority`, `deadline`) or of its options (`pages`, `vl`, …). In JSON `source` may be an object and `options` too, as in the envelope.
"""

from __future__ import annotations

import csv
import glob
import os
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from fnmatch import translate
from pathlib import Path
from typing import Any

import msgspec

from docfleet.inputs import SUFFIXES, is_result
from docfleet.sweep import listed as listed_objects
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.options import Options
from shared.contracts.records import DocumentSubmitted, SourceRef
from shared.objects.store import ObjectStore

_PATTERN = re.compile(r"[*?\[]")
_ENVELOPE = {"document_id", "tenant", "priority", "deadline", "not_before", "generation"}
_LINE_CHARS = 100_000


class Given(msgspec.Struct, frozen=True):
    """One document to submit. `name` is what its submitter calls it, the same at every run."""

    name: str
    source: Path | SourceRef
    fields: dict[str, Any] = {}
    """Fields of its envelope that go before those of the whole submission; of `options` (a dict) each by itself."""


async def named(store: ObjectStore, names: Sequence[str]) -> AsyncIterator[Given]:
    """Documents that a command line names. Raises `FileNotFoundError`, `source_missing`, `Unavailable`."""
    for name in names:
        if name.startswith("s3://"):
            async for given in _objects(store, name):
                yield given
        else:
            for given in _files(name):
                yield given


def listed(path: Path) -> Iterator[Given]:
    """Documents of a list: JSON lines where its name ends in `.jsonl` or `.ndjson`, CSV otherwise. Paths are relative to the list.

    Raises `FileNotFoundError`, and `DocfleetError(invalid_message)` that names the line.
    """
    json = path.suffix.lower() in (".jsonl", ".ndjson")
    number = 0 if json else 1
    with path.open(encoding="utf-8-sig", newline=None if json else "") as file:
        rows = _json_rows(file) if json else csv.DictReader(file)
        while True:
            number += 1
            try:
                row = next(rows, _END)
                if row is _END:
                    return
                given = _row(row, path.parent) if row is not None else None
            except UnicodeDecodeError as error:  # read ahead: the line is not known
                raise DocfleetError(ErrorCode.invalid_message, f"{path.name} is not UTF-8: {error!s:.200}") from error
            except (msgspec.ValidationError, msgspec.DecodeError, ValueError, TypeError, csv.Error) as error:
                raise DocfleetError(ErrorCode.invalid_message, f"{path.name}, line {number}: {error!s:.200}") from error
            if given is not None:
                yield given


_END: Any = object()


def _json_rows(lines: Any) -> Iterator[bytes | None]:
    for line in lines:
        if len(line) > _LINE_CHARS:
            raise ValueError(f"the line has more than {_LINE_CHARS} characters")
        yield line.encode() if line.strip() else None


def _row(row: dict[str, Any] | bytes, folder: Path) -> Given:
    if isinstance(row, bytes):
        row = msgspec.json.decode(row, type=dict[str, Any])
    if None in row:
        raise ValueError("more values than columns")
    given = {name: value for name, value in row.items() if value not in (None, "")}
    source = given.pop("source", None)
    if source is None:
        raise ValueError("there is no source")
    options: dict[str, Any] = dict(given.pop("options", {}))
    fields: dict[str, Any] = {}
    for name, value in given.items():
        if name in _ENVELOPE:
            fields[name] = int(value) if name == "generation" else value
        elif name in Options.__struct_fields__:
            options[name] = value
        else:
            raise ValueError(f"{name!r:.40} is neither of the envelope nor an option")
    # Checked here, so that a mistake is told with its line.
    checked = msgspec.convert({"source": {"bucket": "b", "key": "k"}} | fields, DocumentSubmitted)
    fields = {name: getattr(checked, name) for name in fields}
    if options:
        read = msgspec.convert(options, Options, strict=False)
        fields["options"] = {name: getattr(read, name) for name in options}
    if isinstance(source, dict):
        place = msgspec.convert(source, SourceRef)
        return Given(f"s3://{place.bucket}/{place.key}", place, fields)
    if not isinstance(source, str):
        raise ValueError("the source is a path, s3://bucket/key or an object")
    if source.startswith("s3://"):
        return Given(source, place_of(source), fields)
    return Given(source, folder / source, fields)


def place_of(url: str) -> SourceRef:
    """`s3://bucket/key`. Raises `ValueError`."""
    bucket, _, key = url.removeprefix("s3://").partition("/")
    if not bucket or not key:
        raise ValueError(f"{url!r:.100} names no object: write it like s3://bucket/key")
    return SourceRef(bucket=bucket, key=key)


async def _objects(store: ObjectStore, url: str) -> AsyncIterator[Given]:
    bucket, _, key = url.removeprefix("s3://").partition("/")
    if not bucket or _PATTERN.search(bucket):
        raise DocfleetError(ErrorCode.invalid_message, f"{url!r:.100}: the bucket is named in full")
    special = _PATTERN.search(key)
    if not special and key and not key.endswith("/"):
        yield Given(url, place_of(url))
        return
    wanted = re.compile(translate(key)) if special else None
    async for stat in listed_objects(store, bucket, key[: special.start()] if special else key):
        if not stat.key.endswith("/") and (wanted is None or wanted.match(stat.key)):
            # Pinned by what the listing says: one that is replaced meanwhile is submitted by its next event.
            place = SourceRef(bucket=bucket, key=stat.key, etag=stat.etag, size=stat.size)
            yield Given(f"s3://{bucket}/{stat.key}", place)


def _files(name: str) -> Iterator[Given]:
    path = Path(name)
    if path.is_dir():
        for below in _below(name):
            yield Given(below, Path(below))
    elif path.exists():
        yield Given(name, path)
    elif _PATTERN.search(name):
        found = False
        for match in glob.iglob(name, recursive=True):
            if os.path.isfile(match):
                found = True
                yield Given(match, Path(match))
        if not found:
            raise FileNotFoundError(name)
    else:
        raise FileNotFoundError(name)


def _below(folder: str) -> Iterator[str]:
    """Documents below a folder by their suffix, hidden ones left out; a directory's entries are the most that is held."""
    with os.scandir(folder) as entries:
        ordered = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
    names = {entry.name for entry in ordered}
    for entry in ordered:
        if is_result(entry.name, names):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path)
        elif entry.is_file() and os.path.splitext(entry.name)[1].lower() in SUFFIXES:
            yield entry.path
