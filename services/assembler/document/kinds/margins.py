"""Numbers of pages that the layout took for text: alone in the outermost margin, in one of the forms that page numbers have.

Whether a text recurs over pages is seen where the whole document is (`furniture`); a number alone says it by itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from services.assembler.document.kinds.places import ROMAN, box_of, plain
from shared.contracts.document import Block

MARGIN = 0.08
"""Share of the page's height at the top and at the bottom in which page numbers stand; the layout's rule has the same value."""
_NUMBER = re.compile(
    rf"""[\s\-–—−~|·•(（\[]*
    (?:(?:page|seite|p\.|pg\.?|s\.|第)\s*)?
    (?:\d{{1,4}}|{ROMAN})
    (?:\s*(?:/|of|von|共|\|)\s*\d{{1,4}})?\s*(?:页|頁|ページ)?
    [\s\-–—−~|·•)）\]]*""",
    re.X | re.I,
)


def numbered(blocks: Sequence[Block], height: float) -> list[Block]:
    """Blocks in reading order, page numbers labelled and in the layer of running matter; `height` is the page's."""
    others = [block for block in blocks if block.content_layer == "body" and block.label != "seal"]
    if len(others) < 2:
        return list(blocks)
    return [
        replace(block, label="page_number", content_layer="furniture") if _is_number(block, others, height) else block
        for block in blocks
    ]


def _is_number(block: Block, others: Sequence[Block], height: float) -> bool:
    box = box_of(block)
    if box is None or not plain(block) or len(block.lines) != 1 or not _NUMBER.fullmatch(block.text):
        return False
    if not (box[3] <= MARGIN * height or box[1] >= (1 - MARGIN) * height):
        return False
    above, below = box[3] <= MARGIN * height, box[1] >= (1 - MARGIN) * height
    beyond = [at for other in others if other is not block and (at := box_of(other)) is not None]
    return all(at[1] >= box[1] for at in beyond) if above else below and all(at[3] <= box[3] for at in beyond)
