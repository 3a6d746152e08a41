"""Does a text go round in circles? Pure; all of it is linear, or nearly so, in the length of the text.

The thresholds of plain text are those that PaddleX and the GLM-OCR client found with users (`truncate_repetitive_content`,
`clean_repeated_content`): a unit of eight characters or more five times at the end over half of the text,
a text that is one unit ten times, one line ten times and four fifths of all lines. Theirs cut and call the rest the result; here a
loop is a fault, because what stands before it may be wrong too.

Tables are another matter: sixty equal rows may be honest, so equal rows alone convict only where they are more than the page has room
or lines for (`guards`), and a stretch that no page holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

MIN_UNIT = 8
MIN_REPEATS = 5
"""Of a unit at the end that covers more than half of the text."""
LONG_STRETCH = 1_000
"""Characters of units at the end that are a loop whatever stands before them, if there are MANY_REPEATS."""
MANY_REPEATS = 20
MAX_UNIT = 4_000
"""Longest unit that is looked for: a page of text."""
WHOLE_REPEATS = 10
WHOLE_LENGTH = 50
"""Of a text that is nothing but one unit."""
LINE_REPEATS = 10
LINE_SHARE = 0.8
MAX_PERIOD = 12
"""Rows after which a table's rows may begin again."""
EQUAL_ROWS = 200
"""Rows of a stretch that repeats which no page has."""
BLANKS = frozenset(" \t\r\n._-·…—–=*|●•○■□▪◦☐☑✓")
"""What rows of a form, dotted lines and bare bullets are made of: repeated honestly, and no text. Other punctuation is not in it: models
loop on commas."""


def is_looping(text: str) -> bool:
    """Whether a text, whole or as far as it has come, ends in a loop or is one."""
    text = text.strip()
    return _is_one_unit(text) or _has_looping_end(text) or _has_one_line(text)


def _is_one_unit(text: str) -> bool:
    if len(text) < WHOLE_LENGTH or set(text) <= BLANKS:
        return False
    place = (text + text).find(text, 1)  # the first shift under which a text is itself is its unit
    return place < len(text) and len(text) // place >= WHOLE_REPEATS


def _has_looping_end(text: str) -> bool:
    """For each unit length the stretch at the end that repeats it is as long as the text agrees with itself, shifted by the unit."""
    end = text[-(2 * MAX_UNIT) :]
    for unit, agreed in _agreements(end):
        goes_on = agreed >= len(end) - unit
        while goes_on and agreed + unit < len(text) and text[-1 - agreed] == text[-1 - agreed - unit]:
            agreed += 1
        stretch = agreed + unit
        unit *= -(-MIN_UNIT // unit)  # of a short unit so many as make a long one
        repeats = stretch / unit
        long = stretch > len(text) / 2 or (stretch >= LONG_STRETCH and repeats >= MANY_REPEATS)
        if repeats >= MIN_REPEATS and long and not set(text[-unit:]) <= BLANKS:
            return True
        if goes_on:
            return False  # longer units that go on are multiples of this one
    return False


def _agreements(text: str) -> list[tuple[int, int]]:
    """(unit, how many characters at the end equal those a unit before them), where these are at least as many as the unit.

    The Z-function of the text read backwards: linear, so that a hostile text costs what any other does.
    """
    back = text[::-1]
    z = [0] * len(back)
    left = right = 0
    found = []
    for i in range(1, min(len(back), MAX_UNIT + 1)):
        known = min(right - i, z[i - left]) if i < right else 0
        while i + known < len(back) and back[known] == back[i + known]:
            known += 1
        z[i] = known
        if i + known > right:
            left, right = i, i + known
        if known >= i:
            found.append((i, known))
    return found


def _has_one_line(text: str) -> bool:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) < LINE_REPEATS:
        return False
    line, count = Counter(lines).most_common(1)[0]
    return count >= LINE_REPEATS and count >= LINE_SHARE * len(lines) and not set(line) <= BLANKS


def longest_repeat(rows: Sequence[Hashable]) -> int:
    """Rows of the longest stretch in which each row equals the one `p` before it, for the best p up to `MAX_PERIOD`; 0 where none does."""
    best = 0
    for period in range(1, min(MAX_PERIOD, len(rows) // 2) + 1):
        run = 0
        for i in range(period, len(rows)):
            run = run + 1 if rows[i] == rows[i - period] else 0
            if run >= period:
                best = max(best, run + period)
    return best
