"""From the best class of each frame to text (connectionist temporal classification)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shared.contracts.errors import DocfleetError, ErrorCode

BLANK = 0


class Letter(NamedTuple):
    """What one frame of the output wrote: a character (a class may write more than one code point), and how sure it is, 0..1."""

    frame: int
    text: str
    confidence: float


class Line(NamedTuple):
    """What a line says. Confidences 0..1, both 0 where there is no text."""

    text: str
    confidence: float
    """Mean over the characters."""
    weakest: float
    """Of the least sure character: one wrong letter in a long line does not show in the mean."""
    letters: tuple[Letter, ...] = ()
    """Left to right."""

    @classmethod
    def of(cls, letters: Sequence[Letter]) -> Line:
        """The line these letters make."""
        if not letters:
            return cls("", 0.0, 0.0)
        sure = [letter.confidence for letter in letters]
        return cls("".join(letter.text for letter in letters), sum(sure) / len(sure), min(sure), tuple(letters))


def characters(dictionary: Path, classes: int) -> list[str]:
    """What each class writes: nothing for the blank (class 0), then the dictionary's lines in order, then a space.

    Raises `DocfleetError(model_unavailable)` when the dictionary does not have the size the network's output asks for.
    """
    lines = dictionary.read_text(encoding="utf-8").split("\n")  # not splitlines: U+2028 and others are characters here
    if lines and lines[-1] == "":
        lines.pop()
    table = ["", *lines, " "]
    if len(table) != classes:
        raise DocfleetError(
            ErrorCode.model_unavailable, f"{dictionary.name} has {len(table)} classes, the network has {classes}"
        )
    return table


def decoded(index: npt.NDArray[np.integer], probability: npt.NDArray[np.floating], table: list[str]) -> Line:
    """One line, letter by letter, with the probability of the frame that wrote each.

    `index` and `probability` are `[frames]`. A class repeated without a blank between is one character.
    """
    writes = index != BLANK
    writes[1:] &= index[1:] != index[:-1]
    frames = np.flatnonzero(writes)
    classes, sure = index[frames].tolist(), probability[frames].tolist()
    return Line.of([Letter(f, table[c], p) for f, c, p in zip(frames.tolist(), classes, sure, strict=True)])
