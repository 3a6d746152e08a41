"""What a column or page break cut in two: paragraphs that go on, tables that go on.

A paragraph goes on when its last line is full, it does not end like a sentence, and what follows begins like the middle
of one: lower case, or Han after Han. A table goes on when it is the last thing of one page's body and the first of the
next one's, with the same columns at the same places (`table_parts`), or the first of the next column under the same header.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from services.assembler.document import links, table_parts
from services.assembler.document.text import is_cjk, join, marker
from shared.contracts.document import Block
from shared.contracts.turned import Turned

_ENDS = ".!?。！？:：;；…”’\"'）)】」』"
SAME_SIZE = 0.1
"""Relative difference of font sizes up to which two blocks are of one paragraph."""
FULL = 2.5
"""White at the end of a line, in line heights, up to which it counts as full."""


def joined_over_columns(blocks: Sequence[Block]) -> list[Block]:
    """Blocks of one page in order, paragraphs and tables that go on in the next column made one."""
    out: list[Block] = []
    for block in blocks:
        if not out or not _in_next_column(out[-1], block):
            out.append(block)
        elif _goes_on(out[-1], block):
            out[-1] = _one(out[-1], block)
        elif table_parts.continues_higher(out[-1], block):
            out[-1] = table_parts.one_table(out[-1], block)
        else:
            out.append(block)
    return out


def joined_over_pages(pages: Sequence[Sequence[Block]]) -> list[Block]:
    """Blocks of all pages in order as one list, what a page break cut made one."""
    out: list[Block] = []
    open_at: int | None = None
    """Index in `out` of the last body block of the page before; none where nothing can go on."""
    for blocks in pages:
        flow = [i for i, block in enumerate(blocks) if _flows(block)]
        first = flow[0] if flow else None
        held = dict(enumerate(blocks))
        merged = False
        if open_at is not None and first is not None:
            before, block = out[open_at], blocks[first]
            names = [other.text for other in blocks if other.id in block.caption_ids]
            if table_parts.continues(before, block, names):
                out[open_at] = table_parts.one_table(before, block)
                held = {i: replace(o, parent_id=before.id) if o.parent_id == block.id else o for i, o in held.items()}
                merged = True
            elif _goes_on(before, block):
                out[open_at] = _one(before, block)
                merged = True
            if merged:
                del held[first]
        start = len(out)
        positions = {i: start + n for n, i in enumerate(held)}
        out += held.values()
        if merged and len(flow) == 1:
            continue
        # A page without flowing text (a full-page figure) does not end a paragraph; one that is empty ends nothing.
        open_at = positions[flow[-1]] if flow else open_at
    return out


def _flows(block: Block) -> bool:
    return block.content_layer == "body" and block.label not in ("footnote", "picture", "caption", "seal", "aside_text")


def _in_next_column(a: Block, b: Block) -> bool:
    """Whether `b` stands above and to the right of `a`; in vertical text, below and to the right."""
    first, second = a.prov[-1].bbox, b.prov[0].bbox
    if not first or not second:
        return False
    if a.writing_mode == "vertical_rl":
        return second[1] > first[3] and second[2] > first[2]
    return second[1] < first[1] and second[0] > first[2]


def _goes_on(a: Block, b: Block) -> bool:
    """Whether `b` is the rest of the paragraph or list item `a`."""
    if a.label not in ("text", "list_item") or b.label != "text" or marker(b.text) is not None:
        return False
    return _middle(a, b)


def _middle(a: Block, b: Block) -> bool:
    """Whether `a` ends and `b` begins in the middle of a sentence, in the same type."""
    if not (a.lines and b.lines and a.text and b.text) or a.method != b.method or a.bold != b.bold:
        return False
    if (
        a.font_size
        and b.font_size
        and abs(a.font_size - b.font_size) > SAME_SIZE * max(a.font_size, b.font_size)
        and a.method == "native"
    ):
        return False
    box, last = a.prov[-1].bbox, a.lines[-1].bbox
    if box is None or a.text[-1] in _ENDS or len(a.lines) < 2 or _turn(a) != _turn(b):
        return False
    if a.angle:  # in the frame of its text; where that has its origin does not matter
        frame = Turned(a.angle, 0.0, 0.0)
        box, last = frame.into(box), frame.into(last)
    vertical = a.writing_mode == "vertical_rl"
    height = last[2] - last[0] if vertical else last[3] - last[1]
    room = box[3] - last[3] if vertical else box[2] - last[2]
    if room > FULL * height:
        return False
    if is_cjk(a.text[-1]) or a.text[-1].isdigit():
        return is_cjk(b.text[0]) or b.text[0].islower()
    return b.text[0].islower()


def _turn(block: Block) -> tuple[str, float]:
    return block.writing_mode, block.angle


def _one(a: Block, b: Block) -> Block:
    text = join(a.text, b.text)
    # A healed hyphen shortens the first part; the second always stands whole at the end.
    cut = len(text) - len(b.text)
    prov = [*a.prov[:-1]]
    last = a.prov[-1]
    prov.append(replace(last, char_span=[(last.char_span or [0, 0])[0], min(len(a.text), cut)]))
    prov += [
        replace(place, char_span=[cut + s for s in place.char_span] if place.char_span else None) for place in b.prov
    ]
    lines = [*a.lines, *b.lines]
    if a.prov[0].page_no != b.prov[-1].page_no:
        lines = [replace(line, page_no=line.page_no or a.prov[0].page_no) for line in a.lines]
        lines += [replace(line, page_no=line.page_no or b.prov[0].page_no) for line in b.lines]
    known = [(x.confidence, len(x.text)) for x in (a, b) if x.confidence is not None]
    confidence = sum(c * n for c, n in known) / sum(n for _, n in known) if known else None
    return replace(
        a,
        text=text,
        prov=prov,
        lines=lines,
        links=links.joined(a, b, cut),
        confidence=None if confidence is None else round(confidence, 4),
    )
