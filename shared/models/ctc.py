"""From the best class of each frame to text (connectionist temporal classification)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shared.contracts.errors import DocfleetError, ErrorCode

BLANK = 0


class Line(NamedTuple):
    """What a line says. Confidences 0..1, both 0 where there is no text."""

    text: str
    confidence: float
    """Mean over the characters."""
    weakest: float
    """Of the least sure character: one wrong letter in a long line does not show in the mean."""


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
    """Text of one line, and the mean and least probability of the frames that wrote a character.

    `index` and `probability` are `[frames]`. A class repeated without a blank between is one character.
    """
    writes = index != BLANK
    writes[1:] &= index[1:] != index[:-1]
    text = "".join(table[i] for i in index[writes].tolist())
    if not text:
        return Line(text, 0.0, 0.0)
    sure = probability[writes]
    return Line(text, float(sure.mean()), float(sure.min()))
