"""What is said by what stands left of it: the number of a formula, the value of a form's field."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from services.assembler.document.boxes import overlap
from services.assembler.document.kinds.places import box_of, in_one_row, line_height
from shared.contracts.document import Block

_NUMBER = re.compile(r"\s*[(（]\s*[A-Z]?\d{1,3}(?:[.．-]\d{1,3}){0,2}[a-z]?\s*[)）]\s*")
_NAME = re.compile(r"\s*[^:：,，。;；]{1,24}[:：]\s*")
NAMES = 3
"""Names without a value in their own line from which a page is a form."""
REACH = 20.0
"""From the end of a name to its value, in line heights, at most: names and values stand in columns."""
LONGEST = 60
"""Characters of a value, at most."""
_MAY_BE_VALUE = ("text", "list_item", "caption", "aside_text", "reference")


def numbers_of_formulas(blocks: Sequence[Block]) -> list[Block]:
    """Blocks in reading order; numbers at the margin beside a formula are text of the column, no side notes."""
    formulas = [box for block in blocks if block.label == "formula" and (box := box_of(block)) is not None]
    return [
        replace(block, label="text")
        if block.label == "aside_text"
        and _NUMBER.fullmatch(block.text)
        and (at := box_of(block)) is not None
        and any(in_one_row(at, box) and box[2] <= at[0] for box in formulas)
        else block
        for block in blocks
    ]


def valued(blocks: Sequence[Block]) -> list[Block]:
    """Blocks in reading order; on a page with several names of fields, what stands right of one in its row is a `form_field`."""
    names = [block for block in blocks if _is_name(block)]
    if len(names) < NAMES:
        return list(blocks)
    values = {value.id for name in names if (value := _value_of(name, blocks)) is not None}
    return [replace(block, label="form_field") if block.id in values else block for block in blocks]


def _is_name(block: Block) -> bool:
    return block.label == "text" and len(block.lines) == 1 and _NAME.fullmatch(block.text) is not None


def _value_of(name: Block, blocks: Sequence[Block]) -> Block | None:
    """The first thing right of a name, where it is a short line that is no name itself."""
    at = box_of(name)
    if at is None:
        return None
    beside = [
        (box[0], block)
        for block in blocks
        if block is not name
        and (box := box_of(block))
        and in_one_row(at, box)
        and box[0] >= at[2] - 0.2 * line_height(name)
    ]
    if not beside:
        return None
    x, value = min(beside, key=lambda one: one[0])
    good = value.label in _MAY_BE_VALUE and len(value.lines) == 1 and len(value.text) <= LONGEST
    if not good or x - at[2] > REACH * line_height(name) or _NAME.match(value.text) or _above(value, blocks, at):
        return None
    return value


def _above(value: Block, blocks: Sequence[Block], name: tuple[float, float, float, float]) -> bool:
    """Whether text of several lines goes on below the value: a column of prose beside a name, and no value."""
    box = box_of(value)
    return box is not None and any(
        len(block.lines) > 1
        and (at := box_of(block)) is not None
        and overlap(at[0], at[2], box[0], box[2]) > 0.5 * (box[2] - box[0])
        and 0 <= at[1] - box[3] < 0.6 * (name[3] - name[1])
        for block in blocks
    )
