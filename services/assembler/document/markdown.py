"""GitHub-flavoured Markdown of the body, written block by block with the spans of each.

Blank lines between blocks are syntax; all that shows or marks up a block is the block's. Characters that would be
markup where they stand are escaped, and only those, so that people and language models read what the page says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from services.assembler.document import tables
from services.assembler.document.spans import SpanWriter
from services.assembler.document.text import marker
from shared.contracts.document import Block, Markdown, Table

_INLINE = re.compile(r"\\(?=[!-/:-@\[-`{-~])|[`*\[\]~]|(?<!\w)_|_(?!\w)|<(?=[A-Za-z/!?])|&(?=#?\w+;)")
_LINE_START = re.compile(r"(?=#{1,6}(?:\s|$)|>|[-+](?:\s|$)|[-=]{2,}\s*$|[-_*](?:\s*[-_*]){2,}\s*$|\|)")
_NUMBERED = re.compile(r"(\d{1,9})([.)])(?=\s|$)")


def written(blocks: Sequence[Block]) -> tuple[str, Markdown]:
    """The Markdown of the blocks in the body layer, in their order, and its spans (offsets are in characters)."""
    writer = SpanWriter()
    before: Block | None = None
    for block in blocks:
        text = rendered(block) if block.content_layer == "body" else ""
        if not text:
            continue
        if before is not None:
            writer.syntax("\n" if before.label == block.label == "list_item" else "\n\n")
        writer.block(block.id, text)
        before = block
    if not writer.empty:
        writer.syntax("\n")
    return writer.text(), Markdown(spans=writer.spans)


def rendered(block: Block) -> str:
    """One block as Markdown, without line breaks around it; empty for what has nothing to show."""
    if block.table is not None:
        return _table(block.table)
    if block.label in ("title", "section_header") and block.text:
        level = min(6, (block.level if block.level is not None else 1) + 1)
        return f"{'#' * level} {_heading(block.text)}"
    if block.label == "list_item" and block.text:
        return _list_item(block.text)
    if block.latex:
        return f"$$\n{block.latex.strip()}\n$$"
    if block.label == "code" and block.text:
        fence = "`" * max(3, max((len(run) for run in re.findall("`+", block.text)), default=0) + 1)
        return f"{fence}\n{block.text}\n{fence}"
    if block.label == "picture":
        return (
            f"![{escaped(' '.join(block.text.split()))}]({block.image_uri})" if block.image_uri else _lines(block.text)
        )
    return _lines(block.text)


def escaped(text: str) -> str:
    """Text whose characters all show as themselves inside a line."""
    return _INLINE.sub(lambda found: "\\" + found[0], text)


def _lines(text: str) -> str:
    """Paragraph text; its own line breaks stay visible as hard breaks."""
    return "\\\n".join(_line(line) for line in text.splitlines() if line.strip())


def _line(line: str) -> str:
    line = escaped(line.strip())
    line = _NUMBERED.sub(r"\1\\\2", line, count=1) if _NUMBERED.match(line) else line
    return "\\" + line if _LINE_START.match(line) else line


def _heading(text: str) -> str:
    """One line; a trailing run of `#` would be taken for a closing sequence."""
    line = escaped(" ".join(text.split()))
    return re.sub(r"(^|\s)(#+)$", r"\1\\\2", line)


def _list_item(text: str) -> str:
    """Bullets as `-`, `1.` and `1)` as they are; other markers stay part of the text."""
    mark = marker(text)
    rest = text[len(mark.text) :].strip() if mark else text
    if mark is not None and mark.style == "bullet":
        return f"- {_item_text(rest)}"
    if mark is not None and mark.style in ("1.", "1)") and rest:
        return f"{mark.text} {_item_text(rest)}"
    return f"- {_item_text(text)}"


def _item_text(text: str) -> str:
    return _lines(text).replace("\n", "\n  ")


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
