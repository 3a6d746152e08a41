"""What the join remembers: identities only, never a text, a box or a picture.

Two tables. `parsed` holds a `Mark` per ended document (its changelog is `docs.parsed` itself). `open` holds a `Document`
under `document_id` and a `Page` under `document_id/page_no`; both lie in one table so that their changelog is one log: after a
crash what survived of it is a prefix of what was written.

The records only grow: bits are set and never cleared, an answer is added and never taken away (a reading replaces a
failure), a `Page` that is frozen stays as it is. So events that are handled again, on records that already know them,
change nothing, and the records come out the same from whatever point a replay begins.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Protocol, TypeVar, get_args

import msgspec

from services.assembler.join import bitmap
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.options import selected_pages
from shared.contracts.records import DocumentOpened, DocumentParsed, SourceRef, Status


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """The highest generation of a document that has its terminal record, and how it ended."""

    generation: int
    status: Status


class Superseded(msgspec.Struct, frozen=True, array_like=True):
    """A generation that a higher one ended; enough to publish its `cancelled` again until `parsed` shows it."""

    generation: int
    source: SourceRef
    trace_id: str | None
    submitted_at: float | None
    ended: bool = False
    """It had its terminal record before the higher generation came."""


MAX_SUPERSEDED = 16
"""Superseded generations kept per document. Only those since the last commit can be missing from `parsed`, seconds."""


class Opened(msgspec.Struct, frozen=True, array_like=True):
    """An open document. Bitmaps are over the selected pages: bit i is the i-th of them, not page number i.

    `window` is the setting at the time of opening, so that a change of it moves no page that is under way.
    `unfinished` is none until the deadline passed; then the pages that were not done, and the bitmaps are frozen.
    """

    event: DocumentOpened
    window: int
    laid_out: bytes = b""
    unlaid: bytes = b""
    """Pages whose layout failed; they are composed from the error alone."""
    composed: bytes = b""
    """Pages whose `page.json` is stored."""
    failed: bytes = b""
    """Pages composed as failed, and pages that could not be composed."""
    mismatched: bytes = b""
    """Ranges (not pages) whose answer had another number of pages; their pages are read one by one."""
    unfinished: str | None = None
    superseded: list[Superseded] = []
    lost: bytes = b""
    """Pages whose composing was proven lost twice; part of `failed`."""
    again: bool = False
    """Composing the document was asked for again, once, because the first time was proven lost."""

    @property
    def generation(self) -> int:
        return self.event.generation

    @property
    def pages(self) -> tuple[int, ...]:
        """The selected page numbers, ascending."""
        return _selected(self.event.selected, self.event.pages_total)

    def index(self, page_no: int) -> int | None:
        """Place of a page among the selected ones; none when it is not one of them."""
        pages = self.pages
        at = bisect_left(pages, page_no)
        return at if at < len(pages) and pages[at] == page_no else None

    def done(self, index: int) -> bool:
        """Whether nothing more is to come for this page."""
        return bitmap.has(self.composed, index) or bitmap.has(self.failed, index)

    def settled(self, index: int) -> bool:
        """Whether the page needs no layout any more."""
        return bitmap.has(self.laid_out, index) or bitmap.has(self.unlaid, index) or self.done(index)

    @property
    def complete(self) -> bool:
        """Whether the document can be composed: every page is done, or the deadline passed."""
        return self.unfinished is not None or bitmap.count(bitmap.union(self.composed, self.failed)) == len(self.pages)


class Document(msgspec.Struct, frozen=True, array_like=True):
    """What is known of a document that has not ended: its open generation, or a cancel that came before it."""

    opened: Opened | None = None
    parked: int | None = None
    """Generation that is to be cancelled as soon as it opens."""
    parked_at: float = 0.0


class Page(msgspec.Struct, frozen=True, array_like=True):
    """A page between its release and its `PageComposed`.

    `tasks` is none until the layout announced them; answers that come before it are kept. Once `frozen`, `readings` and
    `failed` are the inputs named in `ComposePage`.
    """

    generation: int
    tasks: list[str] | None = None
    readings: list[str] = []
    failed: list[str] = []
    frozen: bool = False
    layout_sha256: str | None = None
    """Kept only where a range may come back as single pages."""
    lost: list[str] = []
    """Tasks that were proven lost twice; they count as answered."""
    again: list[str] = []
    """Tasks that were proven lost once, and asked for again."""


class Memory(Protocol):
    """The tables as the pure join reads them."""

    def mark(self, document_id: str) -> Mark | None: ...

    def document(self, document_id: str) -> Document | None: ...

    def page(self, document_id: str, page_no: int) -> Page | None: ...


class Write(msgspec.Struct, frozen=True):
    """A change of the table `open`: of the document itself (`page_no` none) or of one page. `value` none deletes."""

    document_id: str
    page_no: int | None
    value: Document | Page | None

    @property
    def key(self) -> bytes:
        return open_key(self.document_id, self.page_no)


def open_key(document_id: str, page_no: int | None = None) -> bytes:
    """Key in the table `open`."""
    return (document_id if page_no is None else f"{document_id}/{page_no}").encode()


@lru_cache(maxsize=1024)
def _selected(selected: str, pages_total: int) -> tuple[int, ...]:
    # An empty expression means "none" here (DocumentOpened.selected), where options.pages means "all".
    return tuple(selected_pages(selected, pages_total)) if selected else ()


T = TypeVar("T", Document, Page)
_DECODERS: dict[type, msgspec.msgpack.Decoder[Any]] = {
    kind: msgspec.msgpack.Decoder(kind) for kind in (Document, Page, Mark)
}


def encode_state(value: Document | Page) -> bytes:
    """Bytes of a record of the table `open`."""
    return msgspec.msgpack.encode(value)


def decode_state(data: bytes, kind: type[T]) -> T:
    """The record, or `DocfleetError(invalid_message)` for foreign bytes."""
    try:
        value: T = _DECODERS[kind].decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DocfleetError(ErrorCode.invalid_message, f"not a record of the join: {error}") from error
    return value


_STATUSES: tuple[str, ...] = get_args(Status)


def mark_of(parsed: DocumentParsed) -> Mark:
    """The mark that a terminal record leaves."""
    return Mark(parsed.generation, parsed.status)


def tombstone_mark(head: Iterable[tuple[str, bytes | None]] | None) -> Mark | None:
    """The mark that a tombstone of the join leaves, by its headers; none for a tombstone that somebody else wrote."""
    generation = dict(head or ()).get("generation")
    return Mark(int(generation), "cancelled") if generation is not None and generation.isdigit() else None


def encode_mark(mark: Mark) -> bytes:
    """A few bytes: what is kept of a published record."""
    return f"{_STATUSES.index(mark.status)}{mark.generation}".encode()


def decode_mark(data: bytes) -> Mark:
    """Inverse of `encode_mark`."""
    return Mark(int(data[1:]), _STATUSES[data[0] - 48])  # type: ignore[arg-type]
