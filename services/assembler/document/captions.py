"""Captions: which table or picture a caption belongs to, and which plain lines are captions.

A caption names what it describes (`Table 3`, `图1`) or stands next to it. It belongs to the nearest thing of that kind
on its page that shares its columns; a plain single paragraph that begins like a caption is one only beside such a thing, and so
is what a network took for a heading of a scan.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from services.assembler.document.boxes import overlap
from shared.contracts.document import Block

_NUMBER = r"\s*[\dA-ZIVX一二三四五六七八九十]"
_TABLE = re.compile(
    r"\s*(?:表格?|續表|续表|Table|TABLE|Tab\.|Tabelle|Tableau|Tabla|Tabella|Tabela|Таблица|표)" + _NUMBER
)
_PICTURE = re.compile(
    r"\s*(?:图表?|圖|図|Figure|FIGURE|Fig\.|FIG\.|Chart|Image|Plate|Photo|照片|写真|Abbildung|Abb\.|Bild|Figura|Рисунок|Рис\.|그림)"
    + _NUMBER
)
NEAR = 3.0
"""Distance in line heights up to which a plain paragraph that begins like a caption is taken for one."""


def attached(blocks: Sequence[Block]) -> list[Block]:
    """Blocks in reading order with captions labelled and tied to their table or picture, both ways."""
    out = list(blocks)
    for index, block in enumerate(blocks):
        kind = _kind(block.text)
        plain = block.label == "text" or (block.label == "section_header" and block.method != "native")
        if block.label == "caption" or (plain and kind and len(block.lines) <= 2):
            target = _nearest(block, blocks, kind)
            if target is None or (plain and _distance(block, blocks[target]) > NEAR * _line(block)):
                continue
            owner = out[target]
            out[index] = replace(out[index], label="caption", parent_id=owner.id)
            out[target] = replace(owner, caption_ids=[*owner.caption_ids, block.id])
    return out


def names_table(text: str) -> bool:
    """Whether a text begins as the caption of a table does."""
    return _TABLE.match(text) is not None


def _kind(text: str) -> str | None:
    if _TABLE.match(text):
        return "table"
    return "picture" if _PICTURE.match(text) else None


def _nearest(block: Block, blocks: Sequence[Block], kind: str | None) -> int | None:
    wanted = (kind,) if kind else ("table", "picture")
    near = [
        (round(_distance(block, other), 2), index)
        for index, other in enumerate(blocks)
        if other.label in wanted and _share_columns(block, other)
    ]
    return min(near)[1] if near else None


def _share_columns(a: Block, b: Block) -> bool:
    first, second = a.prov[0].bbox, b.prov[0].bbox
    return bool(first and second and overlap(first[0], first[2], second[0], second[2]) > 0)


def _distance(a: Block, b: Block) -> float:
    """White between two blocks, top to bottom."""
    first, second = a.prov[0].bbox, b.prov[0].bbox
    if first is None or second is None:
        return 0.0
    return max(0.0, second[1] - first[3], first[1] - second[3])


def _line(block: Block) -> float:
    heights = [line.bbox[3] - line.bbox[1] for line in block.lines]
    return max(heights, default=12.0)
