"""Is an answer of a model to be believed? Pure functions; a name for what is wrong, or none.

Loops and cut answers are what users of these models report most, and the servers call them complete. The thresholds for loops
are those PaddleX and the GLM-OCR client use (`truncate_repetitive_content`, `clean_repeated_content`): a unit of eight or more
characters repeated at the end at least five times over half of the text, or one line ten times and four fifths of all lines.
A table may honestly repeat a row: there only 200 equal rows in a stretch count.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal

Fault = Literal["truncated", "empty", "repetition", "thinking", "echo"]

MIN_UNIT = 8
MIN_REPEATS = 5
MIN_LINE_REPEATS = 10
MIN_EQUAL_ROWS = 200


def fault_of(text: str, *, finish_reason: str | None, prompt: str, table: bool) -> Fault | None:
    """What is wrong with an answer, or none. `finish_reason` is the server's."""
    content = text.strip()
    if finish_reason == "length":
        return "truncated"
    if not content:
        return "empty"
    if "<think>" in content or "</think>" in content:
        return "thinking"
    if content.casefold() == prompt.strip().casefold():
        return "echo"
    if table:
        return "repetition" if _equal_rows(content) else None
    return "repetition" if _loops(content) else None


def _loops(text: str) -> bool:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines:
        _, count = Counter(lines).most_common(1)[0]
        if count >= MIN_LINE_REPEATS and count >= 0.8 * len(lines):
            return True
    for unit in range(MIN_UNIT, len(text) // MIN_REPEATS + 1):
        tail = text[-unit:]
        repeats = 1
        while text.endswith(tail, 0, len(text) - repeats * unit):
            repeats += 1
        if repeats >= MIN_REPEATS and repeats * unit > len(text) / 2:
            return True
    return False


def _equal_rows(text: str) -> bool:
    stretch, before = 0, None
    for row in text.replace("</tr>", "\n").splitlines():
        stretch = stretch + 1 if row == before else 1
        before = row
        if stretch >= MIN_EQUAL_ROWS:
            return True
    return False
