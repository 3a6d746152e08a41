"""Regions out of lines alone: what the network left over, and whole pages where it was not asked (`layout: fast`).

The page's own text says more than pixels: size and weight make headings, fixed pitch makes code, markers make lists. Each line is of one
kind first, then neighbours of one kind are joined (`columns.grouped`), columns are parted (`gutters`), and lists are parted from the
text around them. Headers, footers and captions are told by `kinds`, for these regions and the network's alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from services.layout_worker.boxes import Box, hull
from services.layout_worker.regions import columns, doubts, gutters
from services.layout_worker.regions.drafts import Draft
from services.layout_worker.regions.style import Style
from services.layout_worker.tables.rows import rows_of
from shared.contracts.document import Label
from shared.contracts.layout import TextLine

LARGER = 1.15
"""Times the usual size from which a line of the page's own text is a heading: 10 on 11.5 pt; footnotes and body differ less upward."""
MUCH_LARGER = 1.3
"""The same for a text that ends in a colon: names of fields are larger than a page's small print, and no headings."""
SMALL = 0.92
"""Size of small print by the usual one, at most; as of a footnote."""
HEADING_CHARACTERS = 120
"""A longer line is no heading, however bold."""
DETECTED_LARGER = 1.5
"""The same for detected lines, whose heights are rough."""
_MARKER = re.compile(
    r"\s*(?:[•‣▪▫■□◆◇●○◦∙➢➤✓✔►▶]|[-–—*·](?=\s)|[(（\[]?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[)）\]](?=\s|[^\x00-\x7f])|[(（][一二三四五六七八九十]{1,3}[)）]|\d{1,2}[.．](?=\s)|[a-z][.](?=\s)|[\u2460-\u2473])"
)
"""How a list item begins. Numbers with a dot need a blank: `1.2` is a section, `3.5` a number."""
_SOURCE = re.compile(r"\s*(?:\[\d{1,3}\]|\[[A-Z][\w+]{1,8}\])\s*\S")
_SENTENCE_END = re.compile(r"[.,;:。，；：、][\"'”’)）]?\s*$")
_NUMBERED = re.compile(
    r"\s*(?:\d{1,2}(?:[.．]\d{1,2}){0,3}[.．]?\s+\S|第[一二三四五六七八九十百0-9]+[章节条]|[一二三四五六七八九十]{1,3}、|[(（][一二三四五六七八九十]+[)）])"
)

_NUMBER_ALONE = re.compile(r"\s*(?:\d{1,2}(?:[.．]\d{1,2}){1,3}[.．]?|\d{1,2}[.．])\s*")

Kind = Literal["heading", "code", "text"]


def drafts(lines: Sequence[TextLine], style: Style, taken: Sequence[Box] = ()) -> list[Draft]:
    """Regions that hold these lines, each line in exactly one; none grows over a `taken` box."""
    kinds: dict[Kind, list[TextLine]] = {"heading": [], "code": [], "text": []}
    for line in lines:
        kinds[_kind(line, style)].append(line)
    apart = [*taken, *(line.bbox for line in kinds["heading"])]
    out = [
        _draft("section_header", group)
        for group in columns.grouped(kinds["heading"], taken)
        for group in _by_size(group)
    ]
    out += [_draft("code", group) for group in columns.grouped(kinds["code"], apart)]
    for group in columns.grouped(kinds["text"], apart):
        if doubts.is_grid(group):
            out.append(_draft("table", group, "rows of cells"))
            continue
        out += [_draft(label, part) for column in gutters.parts(group) for label, part in _with_lists(column)]
    return out


def parted(label: Label, lines: Sequence[TextLine], style: Style) -> list[tuple[Label, list[TextLine]]]:
    """Lines of one column in runs of one kind, in their order: headings, code, lists, and `label` for the rest."""
    runs: list[tuple[Kind, list[TextLine]]] = []
    for line in sorted(lines, key=columns.reading_place if all(line.vertical for line in lines) else columns.place):
        kind = _kind(line, style)
        if line.monospace and runs and runs[-1][0] == "code":
            kind = "code"  # a dot or a bracket alone
        if runs and runs[-1][0] == kind and (kind != "heading" or not _differ(runs[-1][1][-1], line)):
            runs[-1][1].append(line)
        elif runs and _same_row(runs[-1][1][-1], line):
            runs[-1][1].append(line)  # a word set apart within its line
            row = runs[-1][1]
            if all(
                _same_row(row[0], other) for other in row
            ):  # what most of the row is: a bold "Table 1." begins a caption
                runs[-1] = (_kind(max(row, key=lambda other: other.bbox[2] - other.bbox[0]), style), row)
        else:
            runs.append((kind, [line]))
    out: list[tuple[Label, list[TextLine]]] = []
    for kind, whole in _with_whole_headings(runs, style):
        part, notes = _with_small_end(whole, style) if kind == "text" else (whole, [])
        if kind == "text":
            listed: list[tuple[Label, list[TextLine]]] = [("text", part)]
            if not any(is_source(text) for text in rows(part)):
                listed = _with_lists(part)
            out += [(label if found == "text" else found, held) for found, held in listed]
        else:
            out.append(("section_header" if kind == "heading" else "code", part))
        if notes:
            out.append(("text", notes))
    return out


def headed(lines: Sequence[TextLine], style: Style) -> list[tuple[Label, list[TextLine]]]:
    """Lines of the page's own text that a network boxed as one heading in runs: those in a heading's type, and those above or below it
    in the type of plain text, whose end or beginning they are. One run where all are alike."""
    runs: list[tuple[Label, list[TextLine]]] = []
    for line in sorted(lines, key=columns.place):
        plain = line.text is not None and not line.bold and (style.ratio(line) or 2.0) <= 1.0
        label: Label = "text" if plain else "section_header"
        if runs and (runs[-1][0] == label or _same_row(runs[-1][1][-1], line)):
            runs[-1][1].append(line)
        else:
            runs.append((label, [line]))
    return runs if any(label == "section_header" and is_heading(x[0], style) for label, x in runs) else []


def _with_small_end(lines: list[TextLine], style: Style) -> tuple[list[TextLine], list[TextLine]]:
    """A text, and the small print that it ends with: notes that the network boxed with the text above them."""
    begin = len(lines)
    while begin and (style.ratio(lines[begin - 1]) or 1.0) <= SMALL:
        begin -= 1
    if not 0 < begin < len(lines) or columns.place(lines[begin])[0] < max(line.bbox[3] for line in lines[:begin]) - 1.0:
        return lines, []
    return lines[:begin], lines[begin:]


def _with_whole_headings(
    runs: Sequence[tuple[Kind, list[TextLine]]], style: Style
) -> list[tuple[Kind, list[TextLine]]]:
    """A heading of several lines, one of which ends like a sentence, is one heading: bold lines right above or below in one type."""
    out: list[tuple[Kind, list[TextLine]]] = []
    for kind, part in runs:
        before = out[-1] if out else None
        if before is not None and "heading" in (kind, before[0]) and {kind, before[0]} == {"heading", "text"}:
            text = part if kind == "text" else before[1]
            if len(text) == 1 and style.stands_out(text[0]) and not _differ(before[1][-1], part[0]):
                out[-1] = ("heading", [*before[1], *part])
                continue
        out.append((kind, list(part)))
    return out


def is_source(text: str) -> bool:
    """Whether a line begins like an entry of a bibliography."""
    return _SOURCE.match(text) is not None


def rows(lines: Sequence[TextLine]) -> list[str]:
    """Texts of the rows that lines stand in, from top to bottom; a marker that is a line of its own begins the text of its row."""
    return [_row_text(sorted(row, key=lambda line: line.bbox[0])) for row in rows_of(lines)]


def is_heading(line: TextLine, style: Style) -> bool:
    """Whether a line looks like a heading: larger than the usual text, or bold where that is not and no sentence."""
    text = (line.text or "").strip()
    ratio = style.ratio(line)
    if line.text is None:
        return ratio is not None and ratio >= DETECTED_LARGER
    if len(text) > HEADING_CHARACTERS or not (any(char.isalpha() for char in text) or is_number(text)):
        return False
    if ratio is not None and ratio >= LARGER:
        return ratio >= MUCH_LARGER or not text.endswith((":", "："))
    if line.vertical or not style.stands_out(line) or (ratio is not None and ratio < 0.95):
        return False
    return _NUMBERED.match(text) is not None or not _SENTENCE_END.search(text)


def is_number(text: str) -> bool:
    """Whether a text is the number of a section and nothing else."""
    return _NUMBER_ALONE.fullmatch(text) is not None


def is_item(text: str) -> bool:
    """Whether a line begins like a list item."""
    return _MARKER.match(text) is not None


def is_marker(text: str) -> bool:
    """Whether a text is the marker of a list item and nothing else."""
    text = text.strip()
    found = _MARKER.match(f"{text} ")
    return found is not None and found.end() >= len(text)


def is_numbered(text: str) -> bool:
    """Whether a text begins like a numbered heading."""
    return _NUMBERED.match(text) is not None


def _kind(line: TextLine, style: Style) -> Kind:
    """What a line is by its type; a marker alone, or a few signs, are text."""
    if line.text is not None and line.monospace and not line.vertical and len(line.text.strip()) > 1:
        return "code"
    return "heading" if is_heading(line, style) else "text"


def _by_size(lines: Sequence[TextLine]) -> list[list[TextLine]]:
    """Headings that stand close together and differ in size, or in being bold, are two: a title and its first section."""
    out: list[list[TextLine]] = []
    for line in lines:
        last = out[-1][-1] if out else None
        if last is None or _differ(last, line) or (_NUMBERED.match(line.text or "") and not _same_row(last, line)):
            out.append([line])
        else:
            out[-1].append(line)
    return out


def _differ(one: TextLine, other: TextLine) -> bool:
    a, b = one.font_size or 0.0, other.font_size or 0.0
    return one.bold != other.bold or (min(a, b) > 0 and max(a, b) > 1.08 * min(a, b))


def _same_row(one: TextLine, other: TextLine) -> bool:
    return one.bbox[1] < (other.bbox[1] + other.bbox[3]) / 2 < one.bbox[3]


def _with_lists(lines: Sequence[TextLine]) -> list[tuple[Label, list[TextLine]]]:
    """A column of text in runs: lists with all lines of their items, and the text between. One marker alone is no list."""
    rows = [sorted(row, key=lambda line: line.bbox[0]) for row in rows_of(lines)]
    items = [is_item(_row_text(row)) for row in rows]
    if sum(items) < 2 or any(line.vertical for line in lines):
        return [("text", [line for row in rows for line in row])]
    runs: list[tuple[Label, list[TextLine]]] = []
    indent: float | None = None
    for row, item in zip(rows, items, strict=True):
        x0, height = row[0].bbox[0], row[0].bbox[3] - row[0].bbox[1]
        if item:
            indent = x0 if indent is None else min(indent, x0)
        elif indent is not None and x0 < indent + 0.5 * height:
            indent = None  # back at the left edge of the markers: the list has ended
        label: Label = "list_item" if indent is not None else "text"
        if runs and runs[-1][0] == label:
            runs[-1][1].extend(row)
        else:
            runs.append((label, list(row)))
    return runs


def _row_text(row: Sequence[TextLine]) -> str:
    """Text of a row, its marker apart from the rest where it is a line of its own."""
    return " ".join(line.text or "" for line in row)


def _draft(label: Label, lines: list[TextLine], reason: str | None = None) -> Draft:
    native = all(line.text is not None for line in lines)
    return Draft(
        label=label,
        raw_label="leftover",
        bbox=hull(line.bbox for line in lines),
        confidence=1.0 if native else min(line.confidence or 0.0 for line in lines if line.text is None),
        found_by="native" if native else "leftover",
        lines=lines,
        reason=reason,
    )
