"""Lists of sources: what follows their heading, or a run of numbered entries with years."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from services.assembler.document.kinds.places import plain
from shared.contracts.document import Block

_HEADING = re.compile(
    r"""\s*(?:\d{1,2}(?:\.\d{1,2})*[.．]?\s*|[一二三四五六七八九十]+\s*[、.．]\s*)?
    (?:references?(?:\s+cited)?|bibliography|literature(?:\s+cited)?|works\s+cited|sources|further\s+reading
      |literatur(?:verzeichnis|angaben|nachweise)?|quellen(?:verzeichnis|angaben)?|bibliogra(?:phie|fie|fía|fia)|références
      |referencias|riferimenti|литература|список\s+литературы
      |参考文献|参考资料|参考書目|参考书目|參考文獻|引用文献|引用文獻|文献|参考文献一覧|참고문헌)\s*[:：]?\s*""",
    re.X | re.I,
)
_NUMBERED = re.compile(r"\s*[\[［【(（]\s*(\d{1,3})\s*[\]］】)）]")
_SOURCE = re.compile(
    r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)|doi[:.]|https?://|arXiv|\bISBN\b|\bpp?\.\s*\d|\bvol\.|\[[JMDCRNP]\]|第\d+期", re.I
)
RUN = 3
"""Entries with bracketed numbers in a row that need no heading."""
MOST_SOURCES = 0.6
"""Share of them that name a year, a link or pages."""


def listed(blocks: Sequence[Block]) -> list[Block]:
    """Blocks in reading order, entries of lists of sources labelled `reference`."""
    entries = _below_headings(blocks) | _runs(blocks)
    return [replace(block, label="reference") if i in entries else block for i, block in enumerate(blocks)]


def _below_headings(blocks: Sequence[Block]) -> set[int]:
    """Entries between the heading of a list and the next heading: numbered, or naming a source, or a rest between two such."""
    found: set[int] = set()
    inside = False
    kinds = {}
    for index, block in enumerate(blocks):
        if block.label in ("section_header", "title") or (plain(block) and len(block.text) < 30):
            heading = _HEADING.fullmatch(block.text) is not None
            if block.label in ("section_header", "title") or heading:
                inside = heading
                continue
        if inside and plain(block):
            kinds[index] = _is_entry(block.text)
    if not kinds or sum(kinds.values()) < 0.5 * len(kinds):
        return found
    last = max((index for index, entry in kinds.items() if entry), default=-1)
    return {index for index in kinds if index <= last}


def _is_entry(text: str) -> bool:
    return _NUMBERED.match(text) is not None or (_SOURCE.search(text) is not None and len(text) >= 20)


def _runs(blocks: Sequence[Block]) -> set[int]:
    """Entries numbered in brackets, one after the other, most of which name a source."""
    found: set[int] = set()
    run: list[int] = []
    number = 0
    for index, block in enumerate(blocks):
        if block.content_layer != "body" or block.label in ("picture", "seal"):
            continue
        match = _NUMBERED.match(block.text) if plain(block) else None
        if match is not None and (not run or int(match[1]) == number + 1):
            run.append(index)
            number = int(match[1])
            continue
        found |= _believed(run, blocks)
        run = [index] if match is not None else []
        number = int(match[1]) if match is not None else 0
    return found | _believed(run, blocks)


def _believed(run: Sequence[int], blocks: Sequence[Block]) -> set[int]:
    sources = sum(_SOURCE.search(blocks[index].text) is not None for index in run)
    return set(run) if len(run) >= RUN and sources >= MOST_SOURCES * len(run) else set()
