"""Blocks of a document that is text without places (DOCX): the document itself says what each is, and in which order."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from services.assembler.document import tables
from shared.contracts.document import Block, Cell, Provenance, Table, TablePart
from shared.contracts.layout import FlowBlock, PageLayout


def blocks_of(layout: PageLayout) -> list[Block]:
    """The blocks in the document's order, without boxes; captions and footnotes tied to what they belong to, both ways."""
    flow = layout.flow or []
    blocks = [_block(one, index, layout.page_no) for index, one in enumerate(flow)]
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
