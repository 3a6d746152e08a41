"""What a column or page break cut in two: paragraphs that go on, tables that go on.

A paragraph goes on when its last line is full, it does not end like a sentence, and what follows begins like the middle
of one: lower case, or Han after Han. A table goes on when it is the last thing of one page's body and the first of the
next one's, with the same columns at the same places; a repeated header row is dropped once per page.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from services.assembler.document.regions import replace_table
from services.assembler.document.tables import finished
from services.assembler.document.text import is_cjk, join, marker
from shared.contracts.document import Block, Cell, Provenance, Table, TablePart

_ENDS = ".!?。！？:：;；…”’\"'）)】」』"
SAME_SIZE = 0.1
"""Relative difference of font sizes up to which two blocks are of one paragraph."""
FULL = 2.5
"""White at the end of a line, in line heights, up to which it counts as full."""
SAME_EDGE = 0.03
"""Difference of a table's edges over two pages, as a share of its width."""


def joined_over_columns(blocks: Sequence[Block]) -> list[Block]:
    """Blocks of one page in order, paragraphs that go on in the next column made one."""
    out: list[Block] = []
    for block in blocks:
        if out and _in_next_column(out[-1], block) and _goes_on(out[-1], block):
            out[-1] = _one(out[-1], block)
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
            if before.table and block.table and not block.caption_ids and _same_columns(before, block):
                out[open_at] = _one_table(before, before.table, block, block.table)
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
    first, second = a.prov[-1].bbox, b.prov[0].bbox
    return bool(first and second and second[1] < first[1] and second[0] > first[2])


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
    height = last[3] - last[1]
    if box is None or a.text[-1] in _ENDS or len(a.lines) < 2 or box[2] - last[2] > FULL * height:
        return False
    if is_cjk(a.text[-1]) or a.text[-1].isdigit():
        return is_cjk(b.text[0]) or b.text[0].islower()
    return b.text[0].islower()


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
        a, text=text, prov=prov, lines=lines, confidence=None if confidence is None else round(confidence, 4)
    )


def _same_columns(a: Block, b: Block) -> bool:
    first, second = a.prov[-1].bbox, b.prov[0].bbox
    if not (a.table and b.table and first and second) or a.table.num_cols != b.table.num_cols:
        return False
    width = max(first[2] - first[0], second[2] - second[0], 1.0)
    return abs(first[0] - second[0]) <= SAME_EDGE * width and abs(first[2] - second[2]) <= SAME_EDGE * width


def _one_table(a: Block, top: Table, b: Block, below: Table) -> Block:
    repeated = _row(top, 0) == _row(below, 0) and any(_row(top, 0))
    dropped = 1 if repeated else 0
    shift = top.num_rows - dropped
    cells: list[Cell] = [
        *top.cells,
        *(
            replace(cell, row=cell.row + shift, column_header=cell.column_header and cell.row > 0)
            for cell in below.cells
            if cell.row >= dropped
        ),
    ]
    here, there = a.prov[0].page_no, b.prov[0].page_no
    parts = top.parts or [TablePart(page_no=here, rows=[0, top.num_rows])]
    rows = top.num_rows + below.num_rows - dropped
    table = Table(
        num_rows=rows,
        num_cols=top.num_cols,
        cells=cells,
        html="",
        parts=[*parts, TablePart(page_no=there, rows=[top.num_rows, rows])],
    )
    prov: list[Provenance] = [*a.prov, *b.prov]
    lines = [replace(line, page_no=line.page_no or here) for line in a.lines]
    lines += [replace(line, page_no=there) for line in b.lines]
    return replace_table(replace(a, prov=prov, lines=lines), finished(table))


def _row(table: Table, row: int) -> list[str]:
    return ["".join(cell.text.split()) for cell in table.cells if cell.row == row]
