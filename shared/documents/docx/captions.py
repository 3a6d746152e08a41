"""Captions of a text without places: each belongs to the table or picture beside it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from shared.contracts.layout import FlowBlock

_OWNERS = ("table", "picture")


def tied(blocks: Sequence[FlowBlock]) -> list[FlowBlock]:
    """Captions with their owner: a picture stands before its caption, a table after it; else whichever stands beside it."""
    return [
        replace(block, owner=_owner(blocks, index)) if block.label == "caption" else block
        for index, block in enumerate(blocks)
    ]


def _owner(blocks: Sequence[FlowBlock], index: int) -> int | None:
    before = index - 1 if index > 0 and blocks[index - 1].label in _OWNERS else None
    after = index + 1 if index + 1 < len(blocks) and blocks[index + 1].label in _OWNERS else None
    if before is not None and blocks[before].label == "picture":
        return before
    if after is not None and blocks[after].label == "table":
        return after
    return before if before is not None else after
