"""A parsed document against the truth of a generated one: headings, furniture, paragraphs, order, text, tables.

Rules, so that figures mean something. A character of the truth is *owned* by the block in one of whose lines its centre lies (on a skewed scan
by the line whose middle is nearest, as the boxes around skewed lines overlap); characters in pictures and seals do not count.

**One to one.** A unit of the truth (an element with all that continues it) is one block when that block owns at least `SHARE` of its
characters and at least `SHARE` of what the block owns is the unit's.
**Headings**: F1 of units labelled title or section_header against such blocks in the body, one to one. **Levels**: of those, the share
with the true level; a title's is 0. The only heading of a document may be its title or its section, 0 or 1.
**Furniture**: an element is found when `SHARE` of its characters lie in blocks of that layer; a block of that layer is right when `SHARE` of
its characters are such elements'; one that owns nothing and has text is wrong.
**Paragraphs**: units of running text, one to one with a block that is no heading and no furniture. `cut`: those over columns or pages.
**CER**: edits between the text of the body in the true order and the body of the document in its own, over the true characters; whole
documents, so that what is joined or stands elsewhere counts. Tables are their cells row by row.
**Order**: per page, edits between the true sequence of the body's elements and the one in which they were found, over their number.
**Cells**: F1 of cells with text; right are those with the same row, column, spans and text, of the block that owns most of the table. Rows
count through all parts, headers that are repeated only once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import radians, tan
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from benchmarks.lib.document_tally import Pair, Tally
from benchmarks.lib.document_truth import HEADINGS, SILENT, TrueCell, Unit, plain, units
from benchmarks.lib.layout_score import SLACK, characters
from samples.generator.truth import Document
from shared.contracts.document import Block, ParsedDocument

SHARE = 0.8
PARAGRAPHS = frozenset({"text", "list_item", "reference", "aside_text", "footnote", "caption"})
INSIDE = 0.8
"""Share of a block's area in a picture from which on its text is the picture's."""


class Owned(NamedTuple):
    """Characters of each pair of unit and block, and of either alone; `parts` are those of elements, by page and index."""

    both: Counter[tuple[int, str]]
    unit: Counter[int]
    block: Counter[str]
    parts: dict[tuple[int, int], Counter[str]]
    first: dict[tuple[int, int], tuple[int, int]]
    """Where an element's first owned character is: order of the block and number of the line in it."""


def score(truth: Document, document: ParsedDocument) -> Tally:
    """Compare one document."""
    true = units(truth)
    unit_of = {part: number for number, unit in enumerate(true) for part in unit.parts}
    owned = _owned(truth, document.blocks, unit_of)
    silent = _silent(truth, document.blocks)
    blocks = {block.id: block for block in document.blocks if block.id not in silent}
    tally = Tally(pages=len(truth.pages))
    twins = _twins(true, owned, blocks)
    _headings(tally, true, twins, blocks)
    _furniture(tally, truth, owned, blocks)
    _paragraphs(tally, true, twins, owned, blocks)
    _ties(tally, true, twins, owned, blocks)
    _tables(tally, true, owned, blocks)
    _text(tally, true, document.blocks, silent)
    _order(tally, truth, owned)
    return tally


def _owned(truth: Document, blocks: Sequence[Block], unit_of: Mapping[tuple[int, int], int]) -> Owned:
    lines: dict[int, list[tuple[list[float], str, int, int]]] = defaultdict(list)
    for block in blocks:
        for number, line in enumerate(block.lines):
            page = (line.page_no or block.prov[0].page_no) - 1
            lines[page].append((line.bbox, block.id, block.order, number))
    owned = Owned(Counter(), Counter(), Counter(), defaultdict(Counter), {})
    for page, facts in enumerate(truth.pages):
        slope = -tan(radians(facts.angle))
        for spot in characters(facts):
            if facts.elements[spot.element].label in SILENT:
                continue
            part = page, spot.element
            unit = unit_of[part]
            owned.unit[unit] += 1
            near = [
                (abs(spot.y - (b[1] + b[3]) / 2 - slope * (spot.x - (b[0] + b[2]) / 2)), b[2] - b[0], name, order, n)
                for b, name, order, n in lines[page]
                if b[0] - SLACK <= spot.x <= b[2] + SLACK and b[1] - SLACK <= spot.y <= b[3] + SLACK
            ]
            if near:
                _, _, name, order, number = min(near)
                owned.both[unit, name] += 1
                owned.block[name] += 1
                owned.parts[part][name] += 1
                owned.first.setdefault(part, (order, number))
    return owned


def _silent(truth: Document, blocks: Sequence[Block]) -> set[str]:
    """Blocks whose words lie in a picture or seal, and these themselves."""
    found: set[str] = set()
    for block in blocks:
        if block.label in SILENT:
            found.add(block.id)
            continue
        box = block.prov[0].bbox if block.prov else None
        if box is None:
            continue
        area = max(1e-6, (box[2] - box[0]) * (box[3] - box[1]))
        for element in truth.pages[block.prov[0].page_no - 1].elements:
            if element.label in SILENT:
                e = element.bbox
                common = max(0.0, min(box[2], e[2]) - max(box[0], e[0])) * max(
                    0.0, min(box[3], e[3]) - max(box[1], e[1])
                )
                if common >= INSIDE * area:
                    found.add(block.id)
    return found


def _twins(true: Sequence[Unit], owned: Owned, blocks: Mapping[str, Block]) -> dict[int, Block]:
    """Unit to the block that is one to one with it."""
    twins = {}
    for (unit, name), count in owned.both.items():
        if count >= SHARE * owned.unit[unit] and count >= SHARE * owned.block[name] and name in blocks:
            twins[unit] = blocks[name]
    return twins


def _is_heading(block: Block) -> bool:
    return block.label in HEADINGS and block.content_layer == "body"


def _headings(tally: Tally, true: Sequence[Unit], twins: Mapping[int, Block], blocks: Mapping[str, Block]) -> None:
    wanted = [n for n, unit in enumerate(true) if unit.label in HEADINGS]
    hit = [n for n in wanted if n in twins and _is_heading(twins[n])]
    found = [block for block in blocks.values() if _is_heading(block)]
    tally.headings = Pair(len(wanted), len(found), len(hit), len(hit))
    right = [n for n in hit if twins[n].level == true[n].level or (len(wanted) == 1 and twins[n].level in (0, 1))]
    tally.levels = Pair(true=len(hit), hit=len(right))
    for n in wanted:
        if n not in hit:
            got = twins[n].label if n in twins else "no block of its own"
            tally.faults[f"heading missed ({true[n].label}: {got}): {true[n].text[:40]}"] += 1
        elif n not in right:
            tally.faults[f"level {twins[n].level} for {true[n].level}: {true[n].text[:40]}"] += 1
    taken = {twins[n].id for n in hit}
    for block in found:
        if block.id not in taken:
            tally.faults[f"false heading: {block.text[:40]}"] += 1


def _furniture(tally: Tally, truth: Document, owned: Owned, blocks: Mapping[str, Block]) -> None:
    layer = {name for name, block in blocks.items() if block.content_layer == "furniture"}
    from_furniture: Counter[str] = Counter()
    for page, facts in enumerate(truth.pages):
        for index, element in enumerate(facts.elements):
            if not element.furniture:
                continue
            names = owned.parts.get((page, index), Counter())
            from_furniture.update(names)
            total = sum(len("".join(line.text.split())) for line in element.lines)
            tally.furniture.true += 1
            hit = sum(count for name, count in names.items() if name in layer) >= SHARE * total
            tally.furniture.hit += hit
            if not hit:
                tally.faults[f"furniture in the body: page {page + 1} {element.label} {element.text[:40]}"] += 1
    for name in layer:
        if not owned.block[name] and not blocks[name].text.strip():
            continue
        right = owned.block[name] > 0 and from_furniture[name] >= SHARE * owned.block[name]
        tally.furniture.found += 1
        tally.furniture.right += right
        if not right:
            tally.faults[f"body in the furniture: page {blocks[name].prov[0].page_no} {blocks[name].text[:40]}"] += 1


def _paragraphs(
    tally: Tally, true: Sequence[Unit], twins: Mapping[int, Block], owned: Owned, blocks: Mapping[str, Block]
) -> None:
    wanted = [n for n, unit in enumerate(true) if unit.label in PARAGRAPHS]
    hit = [n for n in wanted if n in twins and twins[n].label in PARAGRAPHS and twins[n].content_layer == "body"]
    found = [b for b in blocks.values() if b.label in PARAGRAPHS and b.content_layer == "body" and owned.block[b.id]]
    tally.paragraphs = Pair(len(wanted), len(found), len(hit), len(hit))
    cut = [n for n in wanted if len(true[n].parts) > 1]
    joined = [n for n in cut if n in hit]
    tally.cut = Pair(true=len(cut), hit=len(joined))
    items = [n for n in wanted if true[n].label == "list_item"]
    right = [n for n in items if n in twins and twins[n].label == "list_item"]
    tally.items = Pair(len(items), sum(b.label == "list_item" for b in found), len(right), len(right))
    deep = [n for n in right if (twins[n].level or 0) == true[n].depth]
    tally.depths = Pair(true=len(right), hit=len(deep))
    for n in wanted:
        if n not in hit:
            kind = "cut paragraph not joined" if n in cut else f"{true[n].label} is no block of its own"
            tally.faults[f"{kind}: page {true[n].parts[0][0] + 1} {true[n].text[:40]}"] += 1
    for n in set(items) - set(right):
        tally.faults[f"list item missed: page {true[n].parts[0][0] + 1} {true[n].text[:40]}"] += 1


def _ties(
    tally: Tally, true: Sequence[Unit], twins: Mapping[int, Block], owned: Owned, blocks: Mapping[str, Block]
) -> None:
    """Captions of tables and notes; a caption of a picture is right when it is tied to a picture on its page."""
    for n, unit in enumerate(true):
        if unit.target is None or unit.label not in ("caption", "footnote"):
            continue
        own = twins.get(n)
        target = true[unit.target]
        ids = {name for (other, name), _ in owned.both.items() if other == unit.target}
        if unit.label == "caption":
            tied = [b for b in blocks.values() if own and own.id in b.caption_ids and b.id in ids]
            if target.label == "picture":
                hit = own is not None and own.label == "caption" and own.parent_id is not None
            else:
                hit = bool(tied)
            tally.captions.add(Pair(true=1, hit=hit))
        else:
            hit = any(own is not None and own.id in b.footnote_ids and b.id in ids for b in blocks.values())
            tally.notes.add(Pair(true=1, hit=hit))
        if not hit:
            tally.faults[f"{unit.label} not tied: page {unit.parts[0][0] + 1} {unit.text[:40]}"] += 1


def _tables(tally: Tally, true: Sequence[Unit], owned: Owned, blocks: Mapping[str, Block]) -> None:
    taken: set[str] = set()
    for n, unit in enumerate(true):
        if unit.label != "table":
            continue
        near = [(count, name) for (other, name), count in owned.both.items() if other == n and name in blocks]
        tables = [(count, name) for count, name in near if blocks[name].table is not None]
        found: list[TrueCell] = []
        if tables:
            name = max(tables)[1]
            if name not in taken:
                found = cells_of(blocks[name])
            taken.add(name)
        right = sum((Counter(unit.cells) & Counter(found)).values())
        tally.cells.add(Pair(len(unit.cells), len(found), right, right))
        tally.tables.add(Pair(true=1, hit=right == len(unit.cells) == len(found)))
        if right < len(unit.cells):
            tally.faults[
                f"table: page {unit.parts[0][0] + 1}, {right} of {len(unit.cells)} cells right, {len(found)} found"
            ] += 1
    for name, block in blocks.items():
        if block.table is not None and name not in taken:
            tally.cells.found += len(cells_of(block))
            tally.faults[f"false table: page {block.prov[0].page_no} {block.text[:40]!r}"] += 1


def cells_of(block: Block) -> list[TrueCell]:
    """The cells of a block's table that have text."""
    cells = block.table.cells if block.table is not None else []
    return [
        TrueCell(cell.row, cell.col, cell.row_span, cell.col_span, plain(cell.text))
        for cell in cells
        if cell.text.strip()
    ]


def _text(tally: Tally, true: Sequence[Unit], blocks: Sequence[Block], silent: set[str]) -> None:
    wanted = "".join(plain(unit.text) for unit in true if not unit.furniture and unit.label not in SILENT)
    found = "".join(
        plain(block.text or block.latex or "")
        for block in blocks
        if block.content_layer == "body" and block.id not in silent
    )
    tally.characters = len(wanted)
    tally.errors = Levenshtein.distance(wanted, found)


def _order(tally: Tally, truth: Document, owned: Owned) -> None:
    for page, facts in enumerate(truth.pages):
        body = [
            index for index, e in enumerate(facts.elements) if not e.furniture and e.label not in SILENT and e.lines
        ]
        known = sorted((owned.first[page, index], index) for index in body if (page, index) in owned.first)
        moved = Levenshtein.distance(body, [index for _, index in known])
        tally.elements += len(body)
        tally.moved += moved
        if moved:
            tally.faults[f"order: page {page + 1}, {moved} of {len(body)}"] += 1
