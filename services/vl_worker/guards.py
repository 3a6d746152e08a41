"""Is an answer of a model to be believed? Pure functions: a name for what is wrong, or none.

Cut answers and loops are what users of these models report most, and servers call them complete. What is found here is never a
result: the service asks once more with other sampling, then the small models read the region.

Two rounds. `fault_of` looks at the answer as it came. `fault_of_table` looks at the parsed grid, with what is known about the place: no
region holds more rows than its height has room for, and no model reads three times the rows that the page has lines.
"""

from __future__ import annotations

import math
import re
from typing import Literal

import msgspec

from services.vl_worker.grammars.grounding import Part
from services.vl_worker.grammars.otsl import is_otsl
from services.vl_worker.loops import EQUAL_ROWS, is_looping, longest_repeat
from shared.contracts.document import Table, Unit, WarningCode
from shared.contracts.layout import Region
from shared.vlm.profile import Profile

Fault = Literal["truncated", "empty", "repetition", "thinking", "echo", "overlong", "malformed"]

WARNINGS: dict[Fault, WarningCode] = {
    "truncated": "vl_truncated",
    "repetition": "vl_truncated",
    "overlong": "vl_truncated",
}
"""Warning of a block that the small models read in the model's place; for the other faults it is `vl_fallback`."""
WORDS: dict[Fault, str] = {
    "truncated": "cut",
    "empty": "empty",
    "repetition": "a loop",
    "thinking": "thoughts and no text",
    "echo": "its own prompt",
    "overlong": "longer than the region can hold",
    "malformed": "not in the form it was asked for",
}

CHARACTER_AREA: dict[Unit, float] = {"pt": 6.0, "px": 24.0, None: 0.0}
"""Least area of a printed character in page units: 4 pt print takes 2 x 4 pt; on a picture 4 x 6 pixels can just be told apart."""
ROW_HEIGHT: dict[Unit, float] = {"pt": 4.0, "px": 6.0, None: 0.0}
"""Least height of a table's row."""
SLACK = 200
"""Characters that any region may hold: its box may be wrong."""
LATEX = 6.0
"""Characters of LaTeX for one that is printed."""
REPEATED_ROWS = 12
"""Rows that must repeat before the number of rows is held against the page's lines."""
ROWS_PER_LINE = 2.0
"""Rows of a table for each row of text lines on the page, from which they are more than there are."""
EQUAL_CELLS = 100
"""Cells with text of one row in a stretch that repeats which no page has."""
EQUAL_PARTS = 10
"""Blocks of a page in a stretch that repeats, if they are half of all: text and name alike, whatever their boxes."""
LONG_CELL = 200
"""Characters of a cell from which its text is looked at for loops."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where an answer belongs: how much room there is. Width and height in page units, both 0 where nothing is known."""

    width: float = 0.0
    height: float = 0.0
    unit: Unit = "pt"
    line_rows: int = 0
    """Rows of text lines that the page is known to have there, or of drawn cells if these are more; 0 where no line is known."""

    def characters(self, kind: str) -> float:
        """Most characters that have room here; infinite where nothing is known."""
        area = CHARACTER_AREA[self.unit]
        if not area or not self.width or not self.height:
            return math.inf
        return SLACK + self.width * self.height / area * (LATEX if kind == "formula" else 1.0)


NOWHERE = Place()
"""A place of which nothing is known."""


def place_of(region: Region, unit: Unit) -> Place:
    """The room of a region."""
    x0, y0, x1, y1 = region.bbox
    lines = _rows([line.bbox for line in region.lines])
    drawn = max((cell.row + cell.row_span for cell in region.grid.cells), default=0) if region.grid is not None else 0
    return Place(width=x1 - x0, height=y1 - y0, unit=unit, line_rows=max(lines, drawn) if lines else 0)


def _rows(boxes: list[list[float]]) -> int:
    """Rows of lines: those whose middle is below the last row's bottom begin a new one."""
    rows, bottom = 0, -math.inf
    for box in sorted(boxes, key=lambda b: b[1] + b[3]):
        if (box[1] + box[3]) / 2 >= bottom:
            rows, bottom = rows + 1, box[3]
    return rows


_INVISIBLE = " \t\r\n\f\v\u00a0\u200b\u200c\u200d\u2060\u3000\ufeff"
"""Blanks, and what has no width: an answer of nothing else is empty."""


def text_of(said: str, profile: Profile) -> str:
    """An answer without blanks around it and without the end token."""
    text = said.strip(_INVISIBLE)
    return text.removesuffix(profile.end_token).strip(_INVISIBLE) if profile.end_token else text


def fault_of(
    said: str,
    profile: Profile,
    kind: str,
    *,
    finish_reason: str | None,
    stopped: bool = False,
    place: Place = NOWHERE,
) -> Fault | None:
    """What is wrong with an answer, or none.

    `said` is all of it, `finish_reason` the server's (none where its API has none); `stopped`: the client broke it off as a loop.
    `kind` is a region label, `page` or `range`.
    """
    text = text_of(said, profile)
    if stopped:
        return "repetition"
    if finish_reason == "length":
        return "truncated"
    if not text:
        return "empty"
    if _is_unfinished(said, finish_reason, profile):
        return "truncated"
    if "<think>" in text or "</think>" in text:
        return "thinking"
    if _is_echo(text, profile.prompt(kind).text):
        return "echo"
    table = "<table" in text.lower() or is_otsl(text)
    if not table and is_looping(text):
        return "repetition"
    if _is_open(text):
        return "truncated"
    if not table and len(text) > place.characters(kind):
        return "overlong"
    return None


def is_hopeless(text: str) -> bool:
    """Whether an answer that is still coming goes round in circles, so that nothing good can come any more.

    In a table rows may repeat: there only the cell that is being written, and more equal rows than any page has, say so.
    """
    lower = text.lower()
    if "<table" not in lower and not is_otsl(text):
        return is_looping(text)
    rows = re.split(r"</tr>|<nl>", text)
    cell = re.split(r"<t[dh]\b[^<>]*>|<[a-z]cel>", rows[-1])[-1]
    return (len(cell) >= 2 * LONG_CELL and is_looping(cell)) or longest_repeat(rows[:-1]) >= EQUAL_ROWS


def _is_unfinished(said: str, finish_reason: str | None, profile: Profile) -> bool:
    """Whether nobody says that the answer is whole: a server that gives a reason for the end is believed, else the end token is wanted."""
    if profile.end_token is None:
        return False
    wanted = profile.needs_end_token or (profile.api == "chat" and finish_reason is None)
    return wanted and not said.strip().endswith(profile.end_token)


def _is_echo(text: str, prompt: str) -> bool:
    words = prompt.replace("<image>", "").replace("<|grounding|>", "").strip(" \n.:")
    if not words:
        return False
    said = text.replace("<image>", "").replace("<|grounding|>", "").strip()
    return not said.casefold().replace(words.casefold(), "").strip(" \n.:")


def _is_open(text: str) -> bool:
    """Whether a table or a marker is opened and never closed: the answer stopped inside it."""
    lower = text.lower()
    if lower.count("<table") > lower.count("</table"):
        return True
    return any(text.rfind(f"<|{kind}|>") > text.rfind(f"<|/{kind}|>") for kind in ("ref", "det"))


def fault_of_table(table: Table, place: Place = NOWHERE) -> Fault | None:
    """What is wrong with a table, or none: rows or cells that go round in circles, or more than there is room for."""
    rows: list[list[str]] = [[] for _ in range(table.num_rows)]
    characters = 0
    for cell in table.cells:
        rows[cell.row].append(cell.text)
        characters += len(cell.text)
        if len(cell.text) >= LONG_CELL and is_looping(cell.text):
            return "repetition"
    if not characters:
        return "empty"
    written = [tuple(row) for row in rows if any(row)]
    stretch = longest_repeat(written)
    if stretch >= EQUAL_ROWS:
        return "repetition"
    known = place.line_rows
    if stretch >= REPEATED_ROWS and known and len(written) > ROWS_PER_LINE * known + 2:
        return "repetition"
    height = ROW_HEIGHT[place.unit]
    if height and place.height and table.num_rows > place.height / height + 2:
        return "repetition" if stretch >= REPEATED_ROWS else "overlong"
    if any(longest_repeat([text for text in row if text]) >= EQUAL_CELLS for row in rows):
        return "repetition"
    return "overlong" if characters > place.characters("table") else None


def fault_of_parts(parts: list[Part]) -> Fault | None:
    """What is wrong with the blocks of a page, or none. Their tables are looked at by `fault_of_table`."""
    if not any(part.text or part.label == "picture" for part in parts):
        return "empty"
    for part in parts:
        if "<table" not in part.text.lower() and is_looping(part.text):
            return "repetition"
    repeated = longest_repeat([(part.raw, part.text) for part in parts if part.label != "picture"])
    boxes = longest_repeat([part.box for part in parts if part.box is not None])
    if max(repeated, boxes) >= EQUAL_PARTS and 2 * max(repeated, boxes) >= len(parts):
        return "repetition"
    return None
