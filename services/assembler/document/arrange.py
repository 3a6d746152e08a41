"""Blocks of a page in reading order: what `order` says of the flow, and where things go that are not in it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from services.assembler.document.boxes import overlap, shared_area, union
from services.assembler.document.order import Item, reading_order
from services.assembler.document.text import PAIR
from services.assembler.document.titles import HEADINGS
from shared.contracts.document import Block
from shared.contracts.turned import Turned

_MANY = 99
"""A table is many lines: never a row of a form."""


def arranged(blocks: Sequence[Block]) -> list[Block]:
    """Blocks of a page in reading order: headers, the body by its columns, its footnotes, then footers and page numbers.

    Notes in the margin follow what they stand beside: they are no column. Text that is turned is read in its own frame, as one thing where it
    stands together; what goes across the page comes last.
    """
    across = sorted((b for b in blocks if b.angle % 90), key=lambda block: (_box(block), block.id))
    blocks = [b for b in blocks if not b.angle % 90]
    feet = ("page_footer", "page_number")
    heads = [block for block in blocks if block.label == "page_header"]
    tails = [block for block in blocks if block.label in feet]
    stamps = [block for block in blocks if block.label == "seal"]
    notes = [block for block in blocks if block.label == "footnote"]
    body = [b for b in blocks if b.label not in ("page_header", "seal", "footnote", *feet)]
    columns = sum(len(block.text) for block in body if block.writing_mode == "vertical_rl")
    vertical = 2 * columns > sum(len(block.text) for block in body) > 0
    asides = [block for block in body if block.label == "aside_text" and not vertical]
    body = [block for block in body if block not in asides]
    flow = _accompanied(_in_order(body, vertical=vertical), asides)
    return [
        *_in_order(heads), *_stamped(flow, stamps), *_in_order(notes, vertical=vertical), *_in_order(tails), *across
    ]  # fmt: skip


def with_turned(upright: Sequence[Block], ordered: Sequence[Block]) -> list[Block]:
    """The upright blocks of a page, labelled and joined since they were `ordered`, with the turned ones of that order where they were."""
    here = {block.id for block in upright}
    after: dict[str, list[Block]] = {}
    last = ""
    for block in ordered:
        if block.angle:
            after.setdefault(last, []).append(block)
        elif block.id in here:
            last = block.id
    return after.get("", []) + [b for block in upright for b in (block, *after.get(block.id, []))]


def _in_order(blocks: Sequence[Block], *, vertical: bool = False) -> list[Block]:
    """Blocks as they are read; turned ones that stand together, with nothing upright between, in the order of their own frame."""
    straight = [block for block in blocks if not block.angle]
    groups: dict[str, list[Block]] = {}
    for angle in sorted({block.angle for block in blocks if block.angle}):
        turned = [block for block in blocks if block.angle == angle]
        around = union([_box(block) for block in turned])
        if any(shared_area(around, _box(block)) > 0 for block in blocks if block.angle != angle):
            straight += turned
            continue
        groups[turned[0].id] = [turned[i] for i in reading_order(_items(turned, Turned(angle, 0.0, 0.0)))]
        straight.append(replace(turned[0], prov=[replace(turned[0].prov[0], bbox=around)]))
    straight = sorted(straight, key=lambda block: (_box(block), block.id))
    order = reading_order(_items(straight), vertical=vertical)
    return [b for i in order for b in groups.get(straight[i].id, [straight[i]])]


def _items(blocks: Sequence[Block], frame: Turned | None = None) -> list[Item]:
    """What the order is told of blocks, in the page's frame or another."""
    return [
        Item(
            box=_box(block) if frame is None else _four(frame.into(_box(block))),
            lines=max(1, len(block.lines)) if block.table is None else _MANY,
            pair=len(block.lines) <= 1 and PAIR.match(block.text) is not None,
            head=block.label in HEADINGS or block.label in ("picture", "table"),
        )
        for block in blocks
    ]


def _stamped(blocks: Sequence[Block], stamps: Sequence[Block]) -> list[Block]:
    """Seals lie over other things and would cut columns: each comes after the block it is nearest to."""
    after: dict[int, list[Block]] = {}
    for stamp in sorted(stamps, key=lambda block: (_box(block), block.id)):
        x0, y0, x1, y1 = _box(stamp)
        gaps = [
            (max(0.0, b[0] - x1, x0 - b[2]) + max(0.0, b[1] - y1, y0 - b[3]), -index)
            for index, b in enumerate(_box(block) for block in blocks)
        ]
        after.setdefault(-min(gaps)[1] if gaps else -1, []).append(stamp)
    return after.get(-1, []) + [b for index, block in enumerate(blocks) for b in (block, *after.get(index, []))]


def _accompanied(blocks: Sequence[Block], asides: Sequence[Block]) -> list[Block]:
    """Each side note after the block beside it: the nearest of those it shares the most height with."""
    after: dict[int, list[Block]] = {}
    for aside in sorted(asides, key=lambda block: (_box(block)[1], _box(block), block.id)):
        x0, y0, x1, y1 = _box(aside)
        beside = [
            (-round(overlap(y0, y1, b[1], b[3]), 1), max(b[0] - x1, x0 - b[2], 0.0) + max(b[1] - y0, 0.0), index)
            for index, b in enumerate(_box(block) for block in blocks)
        ]
        after.setdefault(min(beside)[2] if beside else -1, []).append(aside)
    return after.get(-1, []) + [b for index, block in enumerate(blocks) for b in (block, *after.get(index, []))]


def _box(block: Block) -> tuple[float, float, float, float]:
    return _four(block.prov[0].bbox or [0.0, 0.0, 0.0, 0.0])


def _four(box: Sequence[float]) -> tuple[float, float, float, float]:
    return box[0], box[1], box[2], box[3]
