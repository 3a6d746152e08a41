"""Footnotes and what carries their mark: tied where it is plain, on one page, in one block and no other."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from shared.contracts.document import Block

_MARK = re.compile(r"\s*(?:(\d{1,3})(?=[\s\u2e80-\uffef])|([*†‡§]{1,3})|([\u2460-\u2473])|[\[(（](\d{1,3})[\])）])")
_BEFORE = r"(?<!\d[.,:])(?<=[^\W\d_]|[.,;:!?)\]”’\"'。，；：！？）】」』%])"
"""A raised number follows a word or a mark; one that follows a digit or a blank is a number of the text."""
_AFTER = r"(?=$|\s|[.,;:!?)\]”’\"'。，；：！？）】」』—–-])"


def tied(blocks: Sequence[Block]) -> list[Block]:
    """Blocks of the document in order, each footnote's id with the block that carries its mark, which is the note's parent."""
    carriers: dict[int, list[int]] = defaultdict(list)
    for index, block in enumerate(blocks):
        if block.content_layer == "body" and block.label != "footnote" and block.text:
            for page in {place.page_no for place in block.prov}:
                carriers[page].append(index)
    out = list(blocks)
    for index, note in enumerate(blocks):
        mark = _mark(note.text) if note.label == "footnote" and note.content_layer == "body" and note.prov else None
        if mark is None:
            continue
        here = [i for i in carriers[note.prov[0].page_no] if mark.search(blocks[i].text)]
        if len(here) == 1:
            owner = out[here[0]]
            out[here[0]] = replace(owner, footnote_ids=[*owner.footnote_ids, note.id])
            out[index] = replace(note, parent_id=owner.id)
    return out


def _mark(text: str) -> re.Pattern[str] | None:
    """How the mark that a note begins with looks in the text."""
    found = _MARK.match(text)
    if found is None:
        return None
    number, sign, circled, bracketed = found.groups()
    if number:
        return re.compile(_BEFORE + number + _AFTER)
    if bracketed:
        return re.compile(rf"[\[(（]{bracketed}[\])）]")
    return re.compile(re.escape(circled) if circled else rf"(?<=\w){re.escape(sign)}(?![*†‡§])")
