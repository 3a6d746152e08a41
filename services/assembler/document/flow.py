"""Blocks of a document that is text without places (DOCX): the document itself says what each is, and in which order."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from services.assembler.document import tables
from shared.contracts.document import Block, Cell, Provenance, Table, TablePart
from shared.contracts.layout import FlowBlock, PageLayout


def blocks_of(layout: PageLayout, read: Sequence[Block] = ()) -> list[Block]:
    """The blocks in the document's order, without boxes; captions and footnotes tied to what they belong to, both ways.

    `read`: what was read on the sheet of the document's pictures, in order, with its boxes there.
    """
    flow = layout.flow or []
    blocks = [_block(one, index, layout.page_no) for index, one in enumerate(flow)]
    blocks = [
        block if one.place is None else _with_text(block, [b for b in read if _stands_in(b, one.place)])
        for block, one in zip(blocks, flow, strict=True)
    ]
    for index, one in enumerate(flow):
        if one.owner is None or not 0 <= one.owner < len(blocks):
            continue
        owner = blocks[one.owner]
        blocks[index] = replace(blocks[index], parent_id=owner.id)
        if one.label == "caption":
            blocks[one.owner] = replace(owner, caption_ids=[*owner.caption_ids, blocks[index].id])
        elif one.label == "footnote":
            blocks[one.owner] = replace(owner, footnote_ids=[*owner.footnote_ids, blocks[index].id])
    return _nested(blocks)


def _block(one: FlowBlock, index: int, page_no: int) -> Block:
    table = None if one.table is None else _placed(one.table, page_no)
    text = tables.plain(table) if table is not None else one.text
    return Block(
        id=f"f{index:06d}",
        order=0,
        label=one.label,
        raw_label=one.raw_label,
        level=one.level,
        content_layer=one.layer,
        text=text,
        prov=[Provenance(page_no=page_no, char_span=[0, len(text)])],
        method="docx",
        reason=one.reason,
        table=table,
        latex=one.latex,
        image_uri=one.image_key,
        links=one.links,
    )


def _stands_in(block: Block, place: Sequence[float]) -> bool:
    """Whether the middle of a block is in a place of the sheet."""
    box = block.prov[0].bbox
    if box is None or not block.text.strip() or block.content_layer not in ("body", "furniture"):
        return False
    return place[0] <= (box[0] + box[2]) / 2 <= place[2] and place[1] <= (box[1] + box[3]) / 2 <= place[3]


def _with_text(picture: Block, read: Sequence[Block]) -> Block:
    """A picture with what is written in it, after its alternative text."""
    if not read:
        return picture
    text = "\n".join(filter(None, [picture.text, *(block.text for block in read)]))
    known = [(block.confidence, len(block.text)) for block in read if block.confidence is not None]
    confidence = sum(c * n for c, n in known) / sum(n for _, n in known) if known else None
    return replace(
        picture,
        text=text,
        prov=[replace(picture.prov[0], char_span=[0, len(text)])],
        method=read[0].method,
        model=read[0].model,
        confidence=None if confidence is None else round(confidence, 4),
    )


def _placed(table: Table, page_no: int) -> Table:
    cells: list[Cell] = [replace(cell, page_no=page_no) for cell in table.cells]
    parts = [TablePart(page_no=page_no, rows=[0, table.num_rows])]
    return tables.finished(replace(table, cells=cells, parts=parts))


def _nested(blocks: Sequence[Block]) -> list[Block]:
    """Items of a list inside another have the item they stand under as their parent."""
    out: list[Block] = []
    above: list[Block] = []
    for block in blocks:
        if block.label == "list_item" and block.level is not None:
            while above and (above[-1].level or 0) >= block.level:
                above.pop()
            if above and block.parent_id is None:
                block = replace(block, parent_id=above[-1].id)
            above.append(block)
        elif block.content_layer == "body":
            above = []
        out.append(block)
    return out
