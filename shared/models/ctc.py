"""From the best class of each frame to text (connectionist temporal classification)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from shared.contracts.errors import DocfleetError, ErrorCode

BLANK = 0


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


def decoded(
    index: npt.NDArray[np.integer], probability: npt.NDArray[np.floating], table: list[str]
) -> tuple[str, float]:
    """Text and confidence (mean probability of the frames that wrote a character, 0 without any) of one line.

    `index` and `probability` are `[frames]`. A class repeated without a blank between is one character.
    """
    writes = index != BLANK
    writes[1:] &= index[1:] != index[:-1]
    text = "".join(table[i] for i in index[writes].tolist())
    return text, float(probability[writes].mean()) if text else 0.0
