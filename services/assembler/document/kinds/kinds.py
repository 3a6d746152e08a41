"""What a block is, once its words are known: the last word on labels that looks alone do not give.

The layout network knows text, headings, pictures and tables; that text is a reference, a footnote, code, a box to tick or the value of a
form's field is said by its words, its size and its place. Every rule asks for several signs at once: a wrong label is worse than a plain one.
Pure: blocks in reading order in, blocks in reading order out. Text is never changed, only parted, joined and labelled.
"""

from __future__ import annotations

from collections.abc import Sequence

from services.assembler.document.kinds import (
    captions,
    code,
    columns,
    contents,
    fields,
    items,
    margins,
    notes,
    references,
    ticks,
)
from shared.contracts.document import Block


def told(blocks: Sequence[Block], height: float) -> list[Block]:
    """Blocks of one page in reading order, labelled by their words; `height` is the page's, in its units."""
    found = margins.numbered(blocks, height)
    found = contents.gathered(found)
    found = ticks.ticked(found)
    found = fields.numbers_of_formulas(found)
    found = code.coded(found)
    found = items.itemised(found)
    found = references.listed(found)
    found = notes.noted(found, height)
    found = columns.headed(captions.below_pictures(found))
    return fields.valued(found)
