"""Captions of a text without places: each belongs to the table or picture beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from shared.contracts.layout import FlowBlock

_OWNERS = ("table", "picture")
_OF_TABLE = re.compile(r"\s*(?:tab(?:le|elle|\.)|表)", re.I)


def tied(blocks: Sequence[FlowBlock]) -> list[FlowBlock]:
    """Captions with their owner: what stands before it, of a table's caption rather the table after it."""
    return [
        replace(block, owner=_owner(blocks, index)) if block.label == "caption" else block
        for index, block in enumerate(blocks)
    ]


def _owner(blocks: Sequence[FlowBlock], index: int) -> int | None:
    before = index - 1 if index > 0 and blocks[index - 1].label in _OWNERS else None
    after = index + 1 if index + 1 < len(blocks) and blocks[index + 1].label in _OWNERS else None
    beside = [one for one in (before, after) if one is not None]
    if _OF_TABLE.match(blocks[index].text):
        tables = [one for one in beside if blocks[one].label == "table"]
        beside = tables[::-1] or beside
    return beside[0] if beside else None
