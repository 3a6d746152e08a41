"""What is a heading, of which level, and what it owns.

Headings are what the layout says they are. Their level is, in this order: that of the bookmark with the same title, printed number or not; the
depth of a decimal number (`1.2.3` is 3); the rank of a named division (chapter above section, 一、 above (一)); that of
numbered headings in type of the same size; the rank of its size among the headings that have nothing else, never more
than one below the heading before.
A title (label `title`) has level 0 and owns what follows it until the first heading.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median

from msgspec.structs import replace

from services.assembler.document import titles
from services.assembler.document.fonts import usual_size
from services.assembler.document.text import HEADING, without_number
from shared.contracts.document import Block, OutlineEntry, Section

MAX_LEVEL = 6
SAME_SIZE = 0.08
"""Relative difference up to which two native headings are of one size; measured sizes differ more."""
SAME_SIZE_READ = 0.1
_HAN = "一二三四五六七八九十百千零〇0-9０-９"
_DECIMAL = re.compile(
    r"(?:§\s*)?((?:\d{1,3}|[A-Z])(?:[.．]\d{1,3})+|\d{1,3})[.．]?(?=[\s、\u3040-\u30ff\u4e00-\u9fff]|$)"
)
_NAMED: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(rf"第\s*[{_HAN}]+\s*[编篇部卷]"), 1),
    (re.compile(rf"第\s*[{_HAN}]+\s*章"), 1),
    (re.compile(r"(?:part|chapter|appendix|annex|anhang|kapitel)\s+(?:\d+|[A-Z]\b|[IVX]+\b)", re.I), 1),
    (re.compile(r"附录\s*[A-Z0-9一二三四五六七八九十]"), 1),
    (re.compile(rf"第\s*[{_HAN}]+\s*节"), 2),
    (re.compile(rf"第\s*[{_HAN}]+\s*条"), 3),
    (re.compile(rf"[{_HAN[:13]}]+\s*、"), 1),
    (re.compile(rf"[(（][{_HAN[:13]}]+[)）]"), 2),
)
"""Divisions with a name or a Chinese number, by their usual rank; ranks are closed up in each document."""


SET_APART, SHORT = 1.2, 60
"""Times the size of plain text from which on a bold line, or a column of vertical text, of so many characters is a heading without a number."""
PROMOTED = 1.08
"""Times the size of plain text from which on a numbered line that the layout took for text is a heading. The size of a read line
is measured to a tenth only: there a number of several parts has to do."""
_PARTS = re.compile(r"\s*(?:\d{1,2}(?:[.．]\d{1,2})+[.．]?\s+\S|第[一二三四五六七八九十百]+[章节])")
READ_APART, LETTERS = 1.3, 2
"""Times the size of plain text from which on a line that was read, whose weight nobody knows, is a heading without a number, and letters of
the shortest. Headings of generated scans that were taken for text have 1.32 to 2.6, other lines of a paragraph's type up to 1.2."""
_SENTENCE_ENDS = ".。!！?？;；,，:："


def promoted(blocks: Sequence[Block]) -> list[Block]:
    """Blocks of one page; numbered lines, one or two, in larger or bold type are headings, and single ones in much larger, whatever the
    layout took them for."""
    usual = usual_size(blocks)
    numbers = [block for block in blocks if block.text and block.text.strip(". …·").isdigit()]
    return [
        replace(block, label="section_header") if _is_heading(block, usual) and not _leads(block, numbers) else block
        for block in blocks
    ]


def _leads(block: Block, numbers: Sequence[Block]) -> bool:
    """Whether a number stands at the end of a line's row: an entry of a table of contents."""
    box = block.prov[0].bbox
    for number in numbers:
        other = number.prov[0].bbox
        if box and other and other[0] > box[2] and box[1] < (other[1] + other[3]) / 2 < box[3]:
            return True
    return False


def _is_heading(block: Block, usual: float | None) -> bool:
    if block.label not in ("text", "caption") or block.content_layer != "body" or not usual:
        return False
    if len(block.lines) != 1 and not _is_long_heading(block, usual):
        return False
    last = block.text.rstrip()[-1:]
    if not last or last in _SENTENCE_ENDS or last.isdigit():
        return False  # a sentence, or a line of a table of contents
    if block.method == "native" and block.font_size is not None and len(block.text) <= SHORT:
        set_apart = block.bold or block.writing_mode == "vertical_rl"
        if set_apart and block.font_size >= SET_APART * usual:
            return True
    if block.method != "native" and _is_set_apart(block, usual):
        return True
    if not HEADING.match(block.text):
        return False
    least = 1.0 if block.method != "native" and _PARTS.match(block.text) else PROMOTED
    return block.bold or (block.font_size is not None and block.font_size >= least * usual)


def _is_set_apart(block: Block, usual: float) -> bool:
    """Whether a line that was read is much larger than plain text, by its length and by its height: words set wide are not."""
    if block.confidence is None or block.font_size is None or len(block.text) > SHORT:
        return False
    x0, y0, x1, y1 = block.lines[0].bbox
    high = x1 - x0 if block.writing_mode == "vertical_rl" else y1 - y0
    letters = sum(character.isalpha() for character in block.text)
    return letters >= LETTERS and high >= block.font_size >= READ_APART * usual


def _is_long_heading(block: Block, usual: float) -> bool:
    """Two lines are a heading only with a number and in type that is clearly set apart."""
    large = block.font_size is not None and block.font_size >= SET_APART * usual
    apart = large or (block.bold and block.font_size is not None and block.font_size >= PROMOTED * usual)
    return len(block.lines) == 2 and len(block.text) <= SHORT and apart and HEADING.match(block.text) is not None


def levelled(blocks: Sequence[Block], outline: Sequence[OutlineEntry]) -> list[Block]:
    """Blocks in document order, headings with their level (0 for a title), others untouched."""
    blocks = titles.decided(blocks, outline)
    heads = [block for block in blocks if block.label == "section_header" and block.content_layer == "body"]
    by_title: dict[str, list[OutlineEntry]] = {}
    for entry in outline:
        by_title.setdefault(_plain(entry.title), []).append(entry)
    levels: dict[str, int] = {}
    for block in heads:
        level = _from_outline(block, by_title) or _from_number(block.text)
        if level is not None:
            levels[block.id] = level
    levels = _closed_up(levels)
    known = frozenset(levels)
    middles = _middles(heads, levels)
    sizes = sorted({head.font_size for head in heads if head.font_size}, reverse=True)
    before = 0
    for block in heads:
        if block.id not in known:
            # Type is a weak witness: it opens no level whose parent is missing.
            levels[block.id] = min(_from_size(block, middles, sizes), before + 1)
        before = levels[block.id]
    return [
        replace(block, level=0)
        if block.label == "title"
        else (replace(block, level=levels[block.id]) if block.id in levels else block)
        for block in blocks
    ]


def _plain(text: str) -> str:
    return "".join(text.split()).casefold()


def _from_outline(block: Block, by_title: dict[str, list[OutlineEntry]]) -> int | None:
    pages = {place.page_no for place in block.prov}
    named = by_title.get(_plain(block.text)) or by_title.get(_plain(without_number(block.text))) or []
    entries = [e for e in named if e.page_no is None or e.page_no in pages]
    return min(MAX_LEVEL, max(1, entries[0].level)) if entries else None


def _from_number(text: str) -> int | None:
    text = text.strip()
    for form, rank in _NAMED:
        if form.match(text):
            return rank
    found = _DECIMAL.match(text)
    return min(MAX_LEVEL, len(re.split(r"[.．]", found[1]))) if found else None


def _closed_up(levels: dict[str, int]) -> dict[str, int]:
    """Levels without holes above: a document whose headings are all `第…条` has them at level 1."""
    used = sorted(set(levels.values()))
    rank = {level: index + 1 for index, level in enumerate(used)}
    return {block_id: rank[level] for block_id, level in levels.items()}


def _middles(heads: Sequence[Block], levels: dict[str, int]) -> dict[int, float]:
    """Median font size of the headings of each level that is known."""
    known: dict[int, list[float]] = {}
    for head in heads:
        if head.id in levels and head.font_size:
            known.setdefault(levels[head.id], []).append(head.font_size)
    return {level: median(sizes) for level, sizes in known.items()}


def _from_size(block: Block, middles: dict[int, float], sizes: Sequence[float]) -> int:
    """Level by font size: that of known headings of the same size, else the rank among all sizes of headings (largest first)."""
    own = block.font_size
    if not own:
        return 1
    near = SAME_SIZE if block.method == "native" else SAME_SIZE_READ
    if middles:
        nearest = min(middles, key=lambda level: (abs(middles[level] - own), level))
        if abs(middles[nearest] - own) <= near * middles[nearest]:
            return nearest
        larger = [level for level, size in middles.items() if size > own]
        return min(MAX_LEVEL, max(larger) + 1) if larger else 1
    steps: list[float] = []
    for size in sizes:
        if not steps or size < steps[-1] * (1 - near):
            steps.append(size)
    return min(MAX_LEVEL, sum(1 for step in steps if step * (1 - near) > own) + 1)


class _Open:
    """A section while its blocks are being collected."""

    def __init__(self, id_: str, title: str, level: int) -> None:
        self.id, self.title, self.level = id_, title, level
        self.block_ids: list[str] = []
        self.pages: list[int] = []
        self.children: list[_Open] = []

    def closed(self) -> Section:
        """The finished section; its pages include those of its children."""
        children = [child.closed() for child in self.children]
        pages = [*self.pages, *(p for c in children for p in (c.page_start, c.page_end) if p is not None)]
        return Section(
            id=self.id,
            title=self.title,
            level=self.level,
            block_ids=self.block_ids,
            page_start=min(pages) if pages else None,
            page_end=max(pages) if pages else None,
            children=children,
        )


def tree(blocks: Sequence[Block]) -> tuple[list[Block], list[Section]]:
    """Blocks with their section, and the sections. Text before the first heading belongs to `s0`, which has no title."""
    roots: list[_Open] = []
    stack: list[_Open] = []
    owner: dict[str, str] = {}
    count = 0
    for block in blocks:
        if block.content_layer != "body":
            continue
        if block.label in titles.HEADINGS and block.level is not None and block.text:
            count += 1
            section = _Open(f"s{count}", block.text, block.level)
            while stack and (stack[-1].level >= block.level or not stack[-1].title):
                stack.pop()
            (stack[-1].children if stack else roots).append(section)
            stack.append(section)
        elif not stack:
            stack.append(_Open("s0", "", 0))
            roots.append(stack[-1])
        stack[-1].block_ids.append(block.id)
        stack[-1].pages += [place.page_no for place in block.prov]
        owner[block.id] = stack[-1].id
    placed = [replace(block, section_id=owner.get(block.id)) for block in blocks]
    return placed, [root.closed() for root in roots]
