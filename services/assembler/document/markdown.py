"""GitHub-flavoured Markdown of the body, written block by block with the spans of each.

Blank lines between blocks are syntax; all that shows or marks up a block is the block's. Characters that would be
markup where they stand are escaped, and only those, so that people and language models read what the page says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote

from services.assembler.document import tables
from services.assembler.document.spans import SpanWriter
from services.assembler.document.text import marker
from shared.contracts.document import Block, Markdown, Table

_INLINE = re.compile(r"\\(?=[!-/:-@\[-`{-~])|[`*\[\]~]|(?<!\w)_|_(?!\w)|<(?=[A-Za-z/!?])|&(?=#?\w+;)")
_LINE_START = re.compile(r"(?=#{1,6}(?:\s|$)|>|[-+](?:\s|$)|[-=]{2,}\s*$|[-_*](?:\s*[-_*]){2,}\s*$|\|)")
_MATH = re.compile(r"\$(?=\S)(?=[^$\n]*[\\^_{])[^$\n]+(?<=\S)\$")
"""Inline LaTeX, as DOCX and VL models give it; amounts of dollars have none of its signs."""
_MATHEMATICAL = ("docx", "vl")
_SAFE_LINK = re.compile(r"(?:https?|ftp|mailto|tel):", re.I)
"""Addresses that are written as links. Others (`javascript:`, places in the document) are left as their words."""
_NUMBERED = re.compile(r"(\d{1,9})([.)])(?=\s|$)")


def written(blocks: Sequence[Block]) -> tuple[str, Markdown]:
    """The Markdown of the blocks in the body layer, in their order, and its spans (offsets are in characters).

    Footnotes that are kept apart from the body (DOCX) follow it.
    """
    writer = SpanWriter()
    before: Block | None = None
    nesting = _Nesting()
    notes = [block for block in blocks if block.content_layer == "notes" and block.label == "footnote"]
    for block in [*(block for block in blocks if block.content_layer == "body"), *notes]:
        indent = nesting.of(block)
        text = rendered(block, indent)
        if not text:
            continue
        if before is not None:
            writer.syntax("\n" if before.label == block.label == "list_item" else "\n\n")
        writer.syntax(" " * indent)
        writer.block(block.id, text)
        before = block
    if not writer.empty:
        writer.syntax("\n")
    return writer.text(), Markdown(spans=writer.spans)


class _Nesting:
    """How far items of a list inside another are indented: by the width of the markers that they stand under."""

    def __init__(self) -> None:
        self._open: list[tuple[int, int]] = []
        """Level and width of the marker of each item that an item may stand under."""

    def of(self, block: Block) -> int:
        """Blanks before this block. Blocks must come in their order; whatever is no item ends the list."""
        if block.label != "list_item":
            self._open = []
            return 0
        level = block.level or 0
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        indent = sum(width for _, width in self._open)
        self._open.append((level, len(_item_marker(block.text)) + 1))
        return indent


def rendered(block: Block, indent: int = 0) -> str:
    """One block as Markdown, without line breaks around it; empty for what has nothing to show.

    `indent`: blanks that stand before its first line, and before further lines of a list item.
    """
    if block.table is not None:
        return _table(block.table)
    if block.label in ("title", "section_header") and block.text:
        level = min(6, (block.level if block.level is not None else 1) + 1)
        return f"{'#' * level} {_heading(block)}"
    if block.label == "list_item" and block.text:
        return _list_item(block, indent)
    if block.latex:
        return f"$$\n{block.latex.strip()}\n$$"
    if block.label == "code" and block.text:
        fence = "`" * max(3, max((len(run) for run in re.findall("`+", block.text)), default=0) + 1)
        return f"{fence}\n{block.text}\n{fence}"
    if block.label == "picture":
        return f"![{escaped(' '.join(block.text.split()))}]({block.image_uri})" if block.image_uri else _lines(block)
    return _lines(block)


def escaped(text: str) -> str:
    """Text whose characters all show as themselves inside a line."""
    return _INLINE.sub(lambda found: "\\" + found[0], text)


def _lines(block: Block, skip: int = 0) -> str:
    """Paragraph text without its first `skip` characters; its own line breaks stay visible as hard breaks."""
    lines, at = [], skip
    for line in block.text[skip:].splitlines(keepends=True):
        if line.strip():
            begin = at + len(line) - len(line.lstrip())
            lines.append(_line(_inline(block, begin, begin + len(line.strip()))))
        at += len(line)
    return "\\\n".join(lines)


def _inline(block: Block, start: int, end: int) -> str:
    """Part of a block's text in one line, its links as links."""
    out, at = "", start
    for link in sorted(block.links, key=lambda one: (one.start, one.end)):
        first, last = max(link.start, at), min(link.end, end)
        words = block.text[first:last]
        if last <= first or not words.strip() or not _SAFE_LINK.match(link.uri):
            continue
        out += _marked_up(block, block.text[at:first]) + f"[{_marked_up(block, words)}]({_address(link.uri)})"
        at = last
    return out + _marked_up(block, block.text[at:end])


def _marked_up(block: Block, text: str) -> str:
    """Text as it is to be seen, formulas in it as LaTeX where the reader gives such."""
    if block.method not in _MATHEMATICAL:
        return escaped(text)
    out, at = "", 0
    for found in _MATH.finditer(text):
        out += escaped(text[at : found.start()]) + found[0]
        at = found.end()
    return out + escaped(text[at:])


def _address(uri: str) -> str:
    """An address that cannot end its own link."""
    return quote(uri.strip(), safe="!#$%&'*+,-./:;=?@[]_~")


def _line(line: str) -> str:
    line = _NUMBERED.sub(r"\1\\\2", line, count=1) if _NUMBERED.match(line) else line
    return "\\" + line if _LINE_START.match(line) else line


def _heading(block: Block) -> str:
    """One line; a trailing run of `#` would be taken for a closing sequence."""
    flat = " ".join(block.text.split())
    line = _inline(block, 0, len(flat)) if flat == block.text else _marked_up(block, flat)
    return re.sub(r"(^|\s)(#+)$", r"\1\\\2", line)


def _list_item(block: Block, indent: int) -> str:
    """Bullets as `-`, `1.` and `1)` as they are; other markers stay part of the text."""
    shown = _item_marker(block.text)
    mark = marker(block.text)
    known = mark is not None and (mark.style == "bullet" or shown != "-")
    text = _lines(block, len(mark.text) if mark is not None and known else 0)
    return f"{shown} {text}".replace("\n", "\n" + " " * (indent + len(shown) + 1)).rstrip()


def _item_marker(text: str) -> str:
    """The marker that the item has in Markdown."""
    mark = marker(text)
    return mark.text if mark is not None and mark.style in ("1.", "1)") and text[len(mark.text) :].strip() else "-"


def _table(table: Table) -> str:
    if not table.cells:
        return ""
    if not tables.is_simple(table):
        return table.html
    grid = [[""] * table.num_cols for _ in range(table.num_rows)]
    for cell in table.cells:
        grid[cell.row][cell.col] = escaped(" ".join(cell.text.split())).replace("|", "\\|")
    lines = ["| " + " | ".join(row) + " |" for row in grid]
    return "\n".join([lines[0], "|" + " --- |" * table.num_cols, *lines[1:]])
