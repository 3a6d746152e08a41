"""Source text and commands in plain text: lines that are no sentences, with the signs of programming languages.

Two lines at least, most of them sure. What is read from pictures lost its typeface; what the page says itself of its typeface is known
earlier (layout).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median

from services.assembler.document.kinds.places import Box, box_of, line_height, one_of, plain
from services.assembler.document.text import is_cjk
from shared.contracts.document import Block, Line

_SURE = re.compile(
    r"""\s*(?:
      (?:def|class|func|fn|function|struct|interface|enum)\s+\w+.*[:({]\s*$       # a definition
    | (?:if|elif|while|for|switch|catch|with|except|else|try|do)\b.*[:{]\s*$       # a block begins
    | (?:return|yield|raise|throw|await|break|continue|pass|goto)\b[^.]*$          # a jump
    | (?:import|from|package|using|include|require)\s+[\w.*{}'"/]+(?:\s+import\s.*)?;?\s*$
    | (?:public|private|protected|static|const|let|var|val|final)\s+\w+.*[=;({]
    | (?:SELECT|INSERT\s+INTO|UPDATE|DELETE\s+FROM|CREATE\s+TABLE|ALTER\s+TABLE|DROP\s+TABLE)\s.*
    | (?:\$|>>>|\#!|sudo|curl|wget|git|pip|npm|docker|kubectl|apt-get|cd|ls|mkdir|export|echo)\s+[-\w./"'$:]+.*
    | [\w.\[\]"'>()*-]+\s*(?:[-+*/|&%]|<<|>>|:)?=\s*[^=\s].*                        # an assignment
    | [\w.]+\([^)]*.*\)[;:]?\s*$                                                    # a call
    | .*[;{}]\s*(?://.*|/\*.*)?$                                                    # ends like a statement
    | (?://|/\*|\*/|<!--|<\?|</?[a-zA-Z][\w-]*[^>]*>\s*$).*                         # a comment, a tag
    | @\w+(?:\(.*\))?\s*$
    )""",
    re.X,
)
_SIGNS = frozenset("(){}[]<>=;_\"'`$&|\\/+*:%#@")
_SENTENCE = re.compile(r"[^\W\d_]{2,}[.!?]\s*$|[。！？；，、]")
LEAST_SIGNS = 0.08
"""Share of characters that are signs from which a line that is not sure goes with sure ones."""
MOST_CJK = 0.3
"""Share of characters of a line that are CJK, at most: strings and comments may be."""
SURE = 0.5
"""Share of the lines of a run that are sure, at least."""
NEAR = 1.6
"""White between two blocks of one listing, in line heights, at most."""
MAX_INDENT = 120
"""Blanks before a line, at most."""


def coded(blocks: Sequence[Block]) -> list[Block]:
    """Blocks in reading order, runs of lines of code made one block `code` with its line breaks and indentation."""
    out: list[Block] = []
    run: list[Block] = []
    for block in blocks:
        if plain(block) and all(_may_be(line.text) for line in block.lines) and (not run or _goes_on(run[-1], block)):
            run.append(block)
            continue
        out += _as_code(run)
        run = []
        if plain(block) and all(_may_be(line.text) for line in block.lines):
            run = [block]
        else:
            out.append(block)
    return out + _as_code(run)


def _as_code(run: Sequence[Block]) -> list[Block]:
    lines = [line for block in run for line in block.lines]
    sure = sum(_is_sure(line.text) for line in lines)
    if sure < 2 or sure < SURE * len(lines):
        return list(run)
    return [one_of(run, "code", text_of)]


def text_of(lines: Sequence[Line]) -> str:
    """Lines of code with their indentation, in steps of a character's width, as far as the boxes tell it."""
    left = min(line.bbox[0] for line in lines)
    step = median((line.bbox[2] - line.bbox[0]) / max(1, len(line.text)) for line in lines)

    def indentation(line: Line) -> str:
        return " " * min(MAX_INDENT, round((line.bbox[0] - left) / step)) if step > 0 else ""

    return "\n".join(indentation(line) + line.text.strip() for line in lines)


def _is_sure(text: str) -> bool:
    return _SURE.match(text) is not None and not _is_sentence(text) and _few_cjk(text)


def _may_be(text: str) -> bool:
    """Whether a line is code, or may stand among lines of it."""
    if _is_sentence(text) or not _few_cjk(text):
        return False
    letters = [character for character in text if not character.isspace()]
    return _SURE.match(text) is not None or sum(c in _SIGNS for c in letters) >= LEAST_SIGNS * max(1, len(letters))


def _is_sentence(text: str) -> bool:
    """Whether a line ends like a sentence, or has a colon only as texts have it: after a word, before a blank."""
    return _SENTENCE.search(text) is not None


def _few_cjk(text: str) -> bool:
    letters = [character for character in text if not character.isspace()]
    return sum(map(is_cjk, letters)) <= MOST_CJK * len(letters)


def _goes_on(above: Block, below: Block) -> bool:
    a, b = box_of(above), box_of(below)
    return a is not None and b is not None and _is_below(a, b, NEAR * max(line_height(above), line_height(below)))


def _is_below(a: Box, b: Box, reach: float) -> bool:
    return -0.5 * reach <= b[1] - a[3] <= reach and min(a[2], b[2]) > max(a[0], b[0]) - reach
