"""Which characters of a block a link of the page is on.

A link is an area with the characters that lie under it in the file. Its line is found by geometry, its characters in the line's text by what they
are, nearest to where the area begins. Where the text was read otherwise than the file has it (a scan, a bad font), the words that the area covers
by their share of the line are taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from services.assembler.document.boxes import overlap
from shared.contracts.document import Block, Line, Link
from shared.contracts.layout import LinkArea
from shared.contracts.turned import Turned

ON_LINE = 0.5
"""Share of the height of the area, or of the line, that they have in common."""
COVERED = 0.5
"""Share of a word's width that an area covers where the word belongs to the link."""


def linked(blocks: Sequence[Block], areas: Sequence[LinkArea], page_no: int) -> list[Block]:
    """The blocks of a page with the links that are on them; links never overlap. Blocks must be in their final form."""
    if not areas:
        return list(blocks)
    out = []
    for block in blocks:
        found = [link for area in areas for link in _on_block(block, area, page_no)]
        out.append(replace(block, links=_apart([*block.links, *found], block.text)) if found else block)
    return out


def joined(first: Block, second: Block, begin: int) -> list[Link]:
    """Links of two blocks whose texts were joined, the second from `begin` on."""
    before = [replace(link, end=min(link.end, begin)) for link in first.links if link.start < begin]
    after = [replace(link, start=link.start + begin, end=link.end + begin) for link in second.links]
    return [*before, *after]


def _on_block(block: Block, area: LinkArea, page_no: int) -> Iterator[Link]:
    if block.table is not None:
        if any(place.bbox and place.page_no == page_no and _inside(area.bbox, place.bbox) for place in block.prov):
            yield from _only_place(block.text, area)
        return
    if block.angle:  # in the frame of its text; where that has its origin does not matter
        frame = Turned(block.angle, 0.0, 0.0)
        area = replace(area, bbox=frame.into(area.bbox))
        block = replace(block, lines=[replace(line, bbox=frame.into(line.bbox)) for line in block.lines])
    vertical = block.writing_mode == "vertical_rl"
    cursor = 0
    for line in block.lines:
        begin, cursor = _place_of(line.text, block.text, cursor)
        if line.page_no in (None, page_no) and begin < cursor and _touches(line, area.bbox, vertical):
            found = _in_line(block.text, begin, cursor, line, area, vertical)
            if found is not None:
                yield Link(start=found[0], end=found[1], uri=area.uri)


def _inside(box: Sequence[float], outer: Sequence[float]) -> bool:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return outer[0] <= x <= outer[2] and outer[1] <= y <= outer[3]


def _only_place(text: str, area: LinkArea) -> Iterator[Link]:
    """Words of a table are linked where they are there once."""
    begin = text.find(area.text) if area.text else -1
    if begin >= 0 and text.find(area.text, begin + 1) < 0:
        yield Link(start=begin, end=begin + len(area.text), uri=area.uri)


def _place_of(line: str, text: str, cursor: int) -> tuple[int, int]:
    """Where a line's text is in its block's, from `cursor` on; a line broken at a hyphen is there without it. Nowhere: an empty range."""
    words = line.strip()
    for known in (words, words.rstrip("-‐\u00ad")):
        begin = text.find(known, cursor) if known else -1
        if begin >= 0:
            return begin, begin + len(known)
    return cursor, cursor


def _touches(line: Line, box: Sequence[float], vertical: bool) -> bool:
    across, along = ((0, 2), (1, 3)) if vertical else ((1, 3), (0, 2))
    common, beside = (overlap(line.bbox[a], line.bbox[b], box[a], box[b]) for a, b in (across, along))
    low, high = across
    thin = min(line.bbox[high] - line.bbox[low], box[high] - box[low])
    return common >= ON_LINE * thin > 0 and beside > 0


def _in_line(text: str, begin: int, end: int, line: Line, area: LinkArea, vertical: bool) -> tuple[int, int] | None:
    """The characters of a line, `text[begin:end]`, that an area is on; none where it only touches it."""
    low, high = (1, 3) if vertical else (0, 2)
    length = line.bbox[high] - line.bbox[low]
    if length <= 0:
        return None
    first, last = ((side - line.bbox[low]) / length for side in (area.bbox[low], area.bbox[high]))
    expected = begin + first * (end - begin)
    places = [found.start() for found in re.finditer(re.escape(area.text), text[begin:end])] if area.text else []
    if places:
        start = begin + min(places, key=lambda place: (abs(begin + place - expected), place))
        return start, start + len(area.text)
    if area.text and text[begin:end].strip() in area.text:
        return begin, end  # an area over several lines
    words = [
        (begin + found.start(), begin + found.end())
        for found in re.finditer(r"\S+", text[begin:end])
        if _share(found.start(), found.end(), end - begin, first, last) >= COVERED
    ]
    return (words[0][0], words[-1][1]) if words else None


def _share(start: int, end: int, count: int, first: float, last: float) -> float:
    return overlap(start / count, end / count, first, last) / ((end - start) / count)


def _apart(links: Sequence[Link], text: str) -> list[Link]:
    """Links in order, those to one place with only blanks between them as one, what overlaps an earlier one without it."""
    out: list[Link] = []
    for link in sorted(links, key=lambda one: (one.start, -one.end, one.uri)):
        if out and link.uri == out[-1].uri and not text[out[-1].end : link.start].strip():
            out[-1] = replace(out[-1], end=max(out[-1].end, link.end))
        elif not out or link.start >= out[-1].end:
            out.append(link)
    return out
