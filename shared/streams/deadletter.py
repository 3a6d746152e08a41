"""A dead letter: key, value and headers of a record as they came, and why it could not be worked on.

All added headers are UTF-8 text (integers too, in decimal), so that any console client shows them.
What became of a letter (sent again, dropped) is a mark: a later record of the same partition of `docs.dlq`, told by the header `dlt.mark`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Literal

import msgspec

from shared.contracts.codec import SCHEMA_VERSION
from shared.contracts.errors import MAX_MESSAGE, ErrorCode
from shared.streams import headers as record_headers
from shared.streams.headers import Headers

TOPIC = "docs.dlq"
MAX_STACK = 4_000
"""Characters of a stack that are kept: its end, where the error is."""
PREFIX = "dlt."
MARK = "dlt.mark"
"""Header of a mark; its value is the mark's `action`."""
REPLAYS = "replay.count"
"""Header of a record of `docs.incoming` that was sent again: how often it was. A letter keeps it, so that a second death is told from a
first."""
REPLAY_GENERATION = "replay.generation"
"""Header of a record of `docs.incoming` that went back as bytes: the generation it is to have, above the one that has ended."""
INTAKE = ("docs.incoming", "docs.incoming.bulk")
"""Topics of which a record may go back as it was: no stage wrote it."""

_DOCUMENT = re.compile(r"[A-Za-z0-9._:\-]{1,128}")


def headers(
    original: Iterable[tuple[str, bytes | None]] | None,
    *,
    topic: str,
    partition: int,
    offset: int,
    timestamp_ms: int,
    group: str,
    code: ErrorCode,
    message: str,
    stack: str = "",
    attempts: int = 1,
    document: tuple[str, int] | None = None,
) -> Headers:
    """Headers of a dead letter: the original ones (in order; those of an earlier death are replaced) and `dlt.*`.

    `document` is the id and generation that was told of the failure, where the stage knows one: a bucket notification has no id in it.
    """
    kept = [(name, value or b"") for name, value in original or () if not name.startswith(PREFIX)]
    added = {
        "dlt.original.topic": topic,
        "dlt.original.partition": str(partition),
        "dlt.original.offset": str(offset),
        "dlt.original.timestamp": str(timestamp_ms),
        "dlt.group": group,
        "dlt.error.code": str(code),
        "dlt.error.message": message[:MAX_MESSAGE],
        "dlt.error.stack": stack[-MAX_STACK:],
        "dlt.attempts": str(attempts),
    }
    if document is not None:
        added |= {"dlt.document.id": document[0], "dlt.document.generation": str(document[1])}
    return kept + [(name, text.encode("utf-8", "replace")) for name, text in added.items()]


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    """What a dead letter says of itself, without its value."""

    partition: int
    """Of `docs.dlq`, as is `offset`; the two name the letter."""
    offset: int
    died_at: float
    """Seconds since the epoch."""
    topic: str
    """Where the record was read from."""
    code: str
    message: str
    group: str
    attempts: int
    document_id: str | None
    """None where nobody can say: bytes that are no record, or a record of several documents."""
    generation: int
    page_no: int | None
    size: int | None
    """Bytes of the value; none where the letter had to go without it, or the record had none."""
    replays: int = 0
    """How often it had been sent again before it died, by its own header; see `docfleet.deadletters` for those that died further on."""

    @property
    def name(self) -> str:
        return f"{self.partition}:{self.offset}"

    @property
    def place(self) -> tuple[int, int]:
        return self.partition, self.offset


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a letter."""

    action: Literal["replaying", "replayed", "dropped"]
    """`replaying` is written before a document is sent again, so that whoever dies between sending and marking leaves no replay behind that
    looks like a first life; the letter stays open."""
    partition: int
    offset: int
    """Of the letter, with `partition`."""
    document_id: str | None = None
    generation: int | None = None
    """The generation that was asked for; none where bytes went back as they were."""
    replays: int = 0
    """How often the document, by way of this letter and those before it, was sent again."""
    schema_version: str = SCHEMA_VERSION


def read(
    found: Iterable[tuple[str, bytes | None]] | None,
    *,
    partition: int,
    offset: int,
    timestamp_ms: int,
    key: bytes | None,
    value: bytes | None,
) -> Letter | None:
    """A record of `docs.dlq` as a letter; none where it is something else."""
    head = {name: text.decode("utf-8", "replace") for name, text in record_headers.read(found).items()}
    if "dlt.error.code" not in head or "dlt.original.topic" not in head:
        return None
    document_id, generation, page_no = _document(head, key, value)
    return Letter(
        partition=partition,
        offset=offset,
        died_at=timestamp_ms / 1000,
        topic=head["dlt.original.topic"],
        code=head["dlt.error.code"],
        message=head.get("dlt.error.message", ""),
        group=head.get("dlt.group", ""),
        attempts=_number(head.get("dlt.attempts")) or 1,
        document_id=document_id,
        generation=generation,
        page_no=page_no,
        size=len(value) if value is not None else None,
        replays=_number(head.get(REPLAYS)) or 0,
    )


class _Named(msgspec.Struct):
    document_id: str | None = None
    generation: int = 0
    page_no: int | None = None


def _document(head: dict[str, str], key: bytes | None, value: bytes | None) -> tuple[str | None, int, int | None]:
    """Document, generation and page: by the stage's own word, else by the record's, else by its key."""
    named = _Named()
    if value is not None:
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            named = msgspec.json.decode(value, type=_Named)
    told = head.get("dlt.document.id")
    if told is not None:
        return told, _number(head.get("dlt.document.generation")) or 0, named.page_no
    topic, code = head["dlt.original.topic"], head["dlt.error.code"]
    if topic in INTAKE and code == ErrorCode.invalid_message:
        return None, 0, None  # it was not understood, so no document began or ended by it
    if named.document_id is not None and _DOCUMENT.fullmatch(named.document_id):
        return named.document_id, max(0, named.generation), named.page_no
    by_key = (key or b"").decode("utf-8", "replace").split("/", 1)[0]
    if topic not in INTAKE and _DOCUMENT.fullmatch(by_key):
        return by_key, _number(head.get("generation")) or 0, None
    return None, 0, None


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() else None
