"""Pieces of the Markdown for retrieval, each with its offsets, pages, headings and places.

A piece is a range of the Markdown as it is stored, so `markdown[start:end] == text` always holds. It never runs over the end of a section (its
headings stay with the text below them), never is longer than `max_chars`, and cuts a table only between its rows, prose between
sentences if it can. Only a single row or formula that is longer than the bound exceeds it, and says so (`oversized`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from docfleet.exporters.common import section_paths
from shared.contracts.document import Block, ParsedDocument, Provenance, Section, Span
from shared.contracts.errors import DocfleetError, ErrorCode

MAX_CHARS = 1_500
"""Default bound of a piece: some 350 tokens of English, 1,000 of Chinese, which embedding models of 512 to 8,192 tokens take whole or nearly so."""
MIN_CHARS = 50
"""Least bound that can be asked for."""
_HEADINGS = ("title", "section_header")
_OPEN_LINK = re.compile(r"(?<!\\)!?\[(?:\\.|[^\[\]\\])*(?:\](?:\([^()\s]*)?)?\Z")
"""A link or picture that a text ends in the middle of; brackets that are none are escaped in our Markdown."""
_SENTENCE = re.compile(r"[.!?…](?=[\s\"'”’)\]])|[。！？；]")


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """A piece. `start` and `end`: half-open character offsets in the Markdown; `pages`: 1-based; `boxes`: in units of their pages."""

    id: str
    document_id: str
    generation: int
    index: int
    start: int
    end: int
    text: str
    filename: str | None
    section_id: str | None
    section_path: list[str]
    """Titles of the headings above it, outermost first."""
    block_ids: list[str]
    labels: list[str]
    pages: list[int]
    boxes: list[dict[str, Any]]
    table_header: str | None = None
    """Header row of the table, as Markdown or HTML, where the piece begins in the middle of one."""
    oversized: bool = False


@dataclass(frozen=True)
class Piece:
    """A range of the Markdown inside one block. `rows`: of a table, the half-open range of rows it holds."""

    start: int
    end: int
    header: str | None = None
    rows: tuple[int, int] | None = None


@dataclass
class _Open:
    """A chunk while pieces are added; `headings` as long as it holds nothing else."""

    section: str | None
    headings: bool = True
    pieces: list[tuple[Block, Piece]] = field(default_factory=list)

    def add(self, block: Block, piece: Piece) -> None:
        self.pieces.append((block, piece))
        self.section = block.section_id
        self.headings = self.headings and block.label in _HEADINGS

    def ends_before(self, block: Block, paths: dict[str, list[Section]]) -> bool:
        """Whether a block belongs to another section; a heading keeps those of its subsections that follow at once."""
        if block.section_id == self.section:
            return False
        inside = any(section.id == self.section for section in paths.get(block.section_id or "", []))
        return not (self.headings and inside)

    @property
    def start(self) -> int:
        return self.pieces[0][1].start

    @property
    def end(self) -> int:
        return self.pieces[-1][1].end


def chunks(document: ParsedDocument, markdown: str, max_chars: int = MAX_CHARS) -> list[Chunk]:
    """The pieces in the order of the Markdown.

    Raises `DocfleetError`: `invalid_message` when `markdown` is not the document's (a span reaches beyond it) or `max_chars` is below
    `MIN_CHARS`; `source_missing` when the document was parsed without Markdown (`options.formats`).
    """
    if any(block.content_layer == "body" and block.text for block in document.blocks) and not document.markdown.spans:
        raise DocfleetError(ErrorCode.source_missing, "the document was parsed without Markdown")
    if max_chars < MIN_CHARS:
        raise DocfleetError(ErrorCode.invalid_message, f"a piece has room for {MIN_CHARS} characters at least")
    by_id = {block.id: block for block in document.blocks}
    spans = [span for span in document.markdown.spans if span.block_id in by_id]
    if any(not 0 <= span.start <= span.end <= len(markdown) for span in spans):
        raise DocfleetError(ErrorCode.invalid_message, "the Markdown is not the one that belongs to this document")
    paths = section_paths(document)
    return [
        _closed(document, markdown, index, open_, paths, max_chars)
        for index, open_ in enumerate(_filled(spans, by_id, markdown, paths, max_chars))
    ]


def _filled(
    spans: list[Span], by_id: dict[str, Block], markdown: str, paths: dict[str, list[Section]], max_chars: int
) -> Iterator[_Open]:
    current: _Open | None = None
    for span in spans:
        block = by_id[span.block_id]
        if current is not None and current.ends_before(block, paths):
            yield current
            current = None
        room = max_chars if current is None else max_chars - (span.start - current.start)
        if current is not None and span.end - span.start > room and not (current.headings and 4 * room >= max_chars):
            yield current  # headings alone keep the text below them, which is cut to the room they leave
            current, room = None, max_chars
        for piece in cut(block, span, markdown, room, max_chars):
            if current is not None and piece.end - current.start > max_chars:
                yield current
                current = None
            if current is None:
                current = _Open(block.section_id)
            current.add(block, piece)
    if current is not None:
        yield current


def cut(block: Block, span: Span, markdown: str, room: int, max_chars: int) -> Iterator[Piece]:
    """The pieces of a block: the first at most `room` characters long, the others `max_chars`; rows and formulas whole."""
    text = markdown[span.start : span.end]
    if block.table is not None:
        yield from _rows(text, span.start, room, max_chars)
    elif block.latex and block.label == "formula":
        yield Piece(span.start, span.end)
    else:
        yield from _prose(text, span.start, room, max_chars, by_lines=block.label == "code")


def _rows(text: str, offset: int, room: int, max_chars: int) -> Iterator[Piece]:
    """Rows of a table, as many together as fit. The header of a table in pipes is its first row and the line below it."""
    if text.startswith("<table"):
        ends = [found.end() for found in re.finditer(r"</tr>", text)]
        first = text[text.find("<tr>") : ends[0]] if ends else ""
        header = first if "<th" in first else None
    else:
        ends = [found.end() for found in re.finditer(r"\n", text)]
        header = text[: ends[1]].rstrip("\n") if len(ends) > 1 else None
        ends = [*ends[1:], len(text)]  # the first row and the line below it are one
    ends = [*ends[:-1], len(text)]
    start = first_row = reached = 0
    for row, end in enumerate(ends):
        if end - start > (room if start == 0 else max_chars) and reached > start:
            last = _before_newline(text, start, reached)
            yield Piece(offset + start, offset + last, header if start else None, (first_row, row))
            start, first_row = reached, row
        reached = end
    yield Piece(offset + start, offset + reached, header if start else None, (first_row, len(ends)))


def _before_newline(text: str, start: int, end: int) -> int:
    return end - 1 if end - 1 > start and text[end - 1] == "\n" else end


def _prose(text: str, offset: int, room: int, max_chars: int, *, by_lines: bool) -> Iterator[Piece]:
    start = 0
    while len(text) - start > (limit := room if start == 0 else max_chars):
        end = start + _break(text[start : start + limit + 1], limit, by_lines=by_lines)
        kept = len(text[start:end].rstrip())
        if kept:
            yield Piece(offset + start, offset + start + kept)
        start = end
        while start < len(text) and text[start] in ("\n" if by_lines else " \n\t"):
            start += 1
    if start < len(text):
        yield Piece(offset + start, offset + len(text))


def _break(text: str, limit: int, *, by_lines: bool) -> int:
    """Where to cut a text longer than `limit`: after a line, a sentence, a word, or, where there is none, anywhere but in an escape or a link."""
    least = limit // 3
    link = _OPEN_LINK.search(text[:limit])
    if link is not None and link.start() >= least:
        limit = link.start()
    line = text.rfind("\n", least, limit)
    if line > 0:
        return line
    if not by_lines:
        sentence = max((found.end() for found in _SENTENCE.finditer(text, least, limit)), default=0)
        if sentence:
            return sentence
    blank = text.rfind(" ", least, limit + 1)
    if blank > 0:
        return blank
    return limit - 1 if limit > 1 and text[limit - 1] == "\\" else limit


def _closed(
    document: ParsedDocument,
    markdown: str,
    index: int,
    open_: _Open,
    paths: dict[str, list[Section]],
    max_chars: int,
) -> Chunk:
    blocks = list({block.id: block for block, _ in open_.pieces}.values())
    places = [place for block, piece in open_.pieces for place in _places(block, piece)]
    boxes = {(place.page_no, tuple(place.bbox)) for place in places if place.bbox is not None}
    return Chunk(
        id=f"{document.document_id}-{document.generation}-{index:05d}",
        document_id=document.document_id,
        generation=document.generation,
        index=index,
        start=open_.start,
        end=open_.end,
        text=markdown[open_.start : open_.end],
        filename=document.source.filename,
        section_id=open_.section,
        section_path=[section.title for section in paths.get(open_.section or "", [])],
        block_ids=[block.id for block in blocks],
        labels=sorted({block.label for block in blocks}),
        pages=sorted({place.page_no for place in places}),
        boxes=[{"page_no": page_no, "bbox": list(box)} for page_no, box in sorted(boxes)],
        table_header=open_.pieces[0][1].header,
        oversized=open_.end - open_.start > max_chars,
    )


def _places(block: Block, piece: Piece) -> list[Provenance]:
    """Where a piece of a block stands: of a table over several pages, the pages of its rows."""
    if block.table is None or piece.rows is None or not block.table.parts:
        return block.prov
    first, end = piece.rows
    pages = {part.page_no for part in block.table.parts if part.rows[0] < end and first < part.rows[1]}
    return [place for place in block.prov if place.page_no in pages] or block.prov
