"""Which heading is the document's title, and which heading is none: what only the whole document tells.

Layout models call every heading a title, or none. The title is the first heading of the first page when it is set larger than all others, or
as large and alone without a number, and no text of any length stands above it. A heading in the type of plain text, where the document's other
headings are set apart from it, is text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from services.assembler.document.fonts import usual_size
from services.assembler.document.text import HEADING, is_cjk
from shared.contracts.document import Block, OutlineEntry

HEADINGS = ("title", "section_header")
LEAST = 1.1
"""Times the size of plain text from which on a heading may be the title."""
SAME = 0.02
SAME_READ = 0.05
"""Relative difference up to which two sizes are one, native and measured on a scan."""
ABOVE = 2
"""Short texts (a logo's words, an issue's date) that may stand above a title."""
MAX_LINES = 4
LOGO = 3
"""Letters up to which a text that is not Han is no heading, and one Han character is none."""
_DOCUMENT_NUMBER = re.compile(
    r"\s*\S{1,16}\s*[〔［\[(（【]\s*(?:19|20)\d\d\s*[〕］\])）】]\s*(?:第\s*)?\d{1,4}\s*号\s*"
)
"""Number of an official paper, under its red head: issuer, year in brackets, number (GB/T 9704-2012, 7.2.5). It is no heading."""


def decided(blocks: Sequence[Block], outline: Sequence[OutlineEntry]) -> list[Block]:
    """Blocks of the document in order, the title labelled so, and headings that are none as text."""
    out = _without_plain_ones(blocks)
    place = _title_at(out, outline)
    return [replace(block, label="title") if index == place else block for index, block in enumerate(out)]


def _heads(blocks: Sequence[Block]) -> list[Block]:
    return [block for block in blocks if block.label in HEADINGS and block.content_layer == "body" and block.text]


def _without_plain_ones(blocks: Sequence[Block]) -> list[Block]:
    usual = usual_size(blocks)
    plain = [b for b in _heads(blocks) if usual and _is_plain(b, usual)]
    if 2 * len(plain) > len(_heads(blocks)):
        plain = []
    names = {block.id for block in [*plain, *(b for b in _heads(blocks) if _is_none(b))]}
    return [replace(block, label="text") if block.id in names else block for block in blocks]


def _is_none(block: Block) -> bool:
    """Whether a text is no heading by what it says: a mark, the number of a paper, a whole sentence of Chinese or Japanese."""
    sentence = block.text.rstrip().endswith("。") and not HEADING.match(block.text)
    return _is_logo(block) or sentence or _DOCUMENT_NUMBER.fullmatch(block.text) is not None


def _is_logo(block: Block) -> bool:
    """Whether a text is too short for a heading: initials, a mark."""
    letters = [c for c in block.text if c.isalnum()]
    return len(letters) <= LOGO and not HEADING.match(block.text) and not any(is_cjk(c) for c in letters[1:])


def _is_plain(block: Block, usual: float) -> bool:
    if block.method != "native" or block.bold or not block.font_size or HEADING.match(block.text):
        return False
    capitals = block.text.isupper()
    return block.font_size <= (1 + SAME) * usual and not capitals


def _title_at(blocks: Sequence[Block], outline: Sequence[OutlineEntry]) -> int | None:
    """Index of the heading that is the title; none where a label says it already, or where there is none."""
    if any(block.label == "title" for block in _heads(blocks)):
        return None
    usual = usual_size(blocks)
    above = 0
    for index, block in enumerate(blocks):
        if block.content_layer != "body" or not block.text or block.label in ("picture", "seal"):
            continue
        if block.label != "section_header":
            above += 1
            if above > ABOVE or len(block.lines) > 1 or block.table is not None:
                return None
            continue
        fits = block.prov[0].page_no == 1 and len(block.lines) <= MAX_LINES and not _is_listed(block, outline)
        return index if fits and _outranks(block, _heads(blocks), usual) else None
    return None


def _outranks(block: Block, heads: Sequence[Block], usual: float | None) -> bool:
    own = block.font_size
    if not own or HEADING.match(block.text) or (usual and own < LEAST * usual):
        return False
    same = SAME if block.method == "native" else SAME_READ
    for other in heads:
        if other is not block and other.font_size:
            numbered = HEADING.match(other.text) is not None
            if other.font_size > own * (1 + same) or (other.font_size > own * (1 - same) and not numbered):
                return False
    return True


def _is_listed(block: Block, outline: Sequence[OutlineEntry]) -> bool:
    """Whether the outline has it: then its level is known."""
    text = "".join(block.text.split()).casefold()
    return any("".join(entry.title.split()).casefold() == text for entry in outline)
