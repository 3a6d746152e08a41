"""A page's own text, as lines with font facts, what can be seen apart from what cannot."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

import pymupdf
from pymupdf import mupdf

from shared.contracts.document import rounded
from shared.contracts.layout import Hidden
from shared.documents.frame import Frame
from shared.documents.hiding import Hiding, Place, place
from shared.documents.limits import Bounds, check_characters
from shared.documents.marks import Marks
from shared.documents.page import NativeLine, Origin
from shared.documents.vertical import upright_columns

_FLAGS = mupdf.FZ_STEXT_PRESERVE_WHITESPACE | mupdf.FZ_STEXT_USE_CID_FOR_UNKNOWN_UNICODE
"""Ligatures come as letters; a character the font has no Unicode for comes as its number in the font, and is marked as such."""
_PAINTED = mupdf.FZ_STEXT_FILLED | mupdf.FZ_STEXT_STROKED | mupdf.FZ_STEXT_CLIPPED
_NO_UNICODE = mupdf.FZ_STEXT_UNICODE_IS_CID | mupdf.FZ_STEXT_UNICODE_IS_GID
_MIN_ALPHA = 13
"""Of 255: fainter text is not seen."""
_MIN_SIZE = 1.0
"""Points as displayed: smaller text is not read by anybody."""
_MIN_HEIGHT = 1.5
"""Points of a line's height, and of the way from letter to letter, below which it is as small as its size says: fonts with a scale of
their own have sizes like 0.24."""
_SIZE_OF_HEIGHT, _SIZE_OF_WIDTH = 0.8, 1.8
"""Size of a font whose own is no use, by the height of its boxes and the mean width of its letters."""
_BAD_SHARE = 0.2
"""Share of a line's characters without meaning from which the line is not to be trusted; a single odd bullet is no reason."""


@dataclass(frozen=True)
class RawText:
    """A page's text as MuPDF has it: lines (of PyMuPDF's rawdict) with what shows them, and the contents' own structured text."""

    lines: Sequence[tuple[Origin, dict[str, Any]]]
    contents: Any


def raw_text(page: Any, limits: Bounds, page_no: int) -> RawText:
    """The text of a `pymupdf.Page` (rotation 0) in the order of the file: of its contents, then of annotations and form fields.

    Raises `resource_limit` beyond `limits.max_page_characters`, and what MuPDF raises.
    """
    texts = [(origin, _structured_text(page, run)) for origin, run in _layers(page)]
    check_characters(sum(len(text.extractText()) for _, text in texts), limits, page_no)
    lines = [
        (origin, line)
        for origin, text in texts
        for line in upright_columns(
            line for block in text.extractRAWDICT()["blocks"] if block["type"] == 0 for line in block["lines"]
        )
    ]
    return RawText(lines, texts[0][1])


_BOLD_SHARE = 0.85
"""Share of a line's characters that are bold where the line is: the number before a heading, or a mark after it, may not be."""


def native_lines(page: Any, frame: Frame, marks: Marks, text: RawText) -> list[NativeLine]:
    """Lines of a `pymupdf.Page` (rotation 0) in the order of its text. Raises what MuPDF raises."""
    lines = text.lines
    clipped = _clipped_away(page, text.contents) if marks.clips else frozenset()
    hiding = Hiding(page, marks, {span["color"] for _, line in lines for span in line["spans"]})
    found: list[NativeLine] = []
    for origin, line in lines:
        across = abs(line["dir"][1]) > abs(line["dir"][0]) or line["wmode"] == 1
        spans = [(span, _why_hidden(span, across, frame, hiding, clipped)) for span in line["spans"] if span["chars"]]
        for reason, part in groupby(spans, key=lambda pair: pair[1]):
            if (made := _line([span for span, _ in part], line, reason, frame, origin)) is not None:
                found.append(made)
    return found


def _layers(page: Any) -> Iterator[tuple[Origin, Callable[..., None]]]:
    yield "contents", mupdf.fz_run_page_contents
    if page.first_annot is not None:
        yield "annotation", mupdf.fz_run_page_annots
    if page.first_widget is not None:
        yield "widget", mupdf.fz_run_page_widgets


def _clipped_away(page: Any, text: Any) -> frozenset[Place]:
    """Where characters stand that a clip leaves nothing of. MuPDF leaves them out when asked to, which costs a millisecond or two."""
    shown = _structured_text(page, mupdf.fz_run_page_contents, _FLAGS | mupdf.FZ_STEXT_CLIP)
    if len(shown.extractText()) == len(text.extractText()):
        return frozenset()
    return frozenset(_places(text)) - frozenset(_places(shown))


def _places(text: Any) -> Iterator[Place]:
    for block in text.extractRAWDICT()["blocks"]:
        for line in block.get("lines", ()):
            for span in line["spans"]:
                for char in span["chars"]:
                    yield place(ord(char["c"]), char["origin"])


def _structured_text(page: Any, run: Callable[..., None], flags: int = _FLAGS) -> Any:
    # An infinite box keeps text that lies off the page; PyMuPDF's own way would drop it.
    text = mupdf.FzStextPage(mupdf.FzRect(mupdf.FzRect.Fixed_INFINITE))
    device = mupdf.fz_new_stext_device(text, mupdf.FzStextOptions(flags))
    run(pymupdf._as_fz_page(page), device, mupdf.FzMatrix(), mupdf.FzCookie())
    mupdf.fz_close_device(device)
    return pymupdf.TextPage(text)


def _why_hidden(
    span: dict[str, Any], across: bool, frame: Frame, hiding: Hiding, clipped: frozenset[Place]
) -> Hidden | None:
    """`across`: the text runs up or down the page."""
    if not span["char_flags"] & _PAINTED:
        # Glyphs of Type 3 that take their colour from around them are drawn as drawings; the text beside them is reported as not painted.
        return None if hiding.is_type3(span["font"]) and not hiding.is_blank(span["bbox"]) else "render_mode"
    if span["alpha"] < _MIN_ALPHA and not (
        span["char_flags"] & mupdf.FZ_STEXT_CLIPPED and not hiding.is_blank(span["bbox"])
    ):
        # Letters that are a clip are seen by what is painted through them: a gradient, a pattern.
        return "transparent"
    x0, y0, x1, y1 = span["bbox"]
    if 0 < span["size"] < _MIN_SIZE:
        high, long = (x1 - x0, y1 - y0) if across else (y1 - y0, x1 - x0)
        if high < _MIN_HEIGHT and long < _MIN_HEIGHT * len(span["chars"]):
            return "tiny"
    if not (0 <= x0 + x1 <= 2 * frame.unrotated[0] and 0 <= y0 + y1 <= 2 * frame.unrotated[1]):
        return "outside"
    if hiding.nothing and not clipped:
        return None
    places = [place(ord(char["c"]), char["origin"]) for char in span["chars"] if not char["c"].isspace()]
    if not places:
        return None
    return "clipped" if clipped.issuperset(places) else hiding.why(places[0])


def _line(
    spans: Sequence[dict[str, Any]], line: dict[str, Any], reason: Hidden | None, frame: Frame, origin: Origin
) -> NativeLine | None:
    chars = [(char, span) for span in spans for char in span["chars"] if all(map(math.isfinite, char["bbox"]))]
    while chars and _is_blank(chars[0][0]["c"]):
        chars.pop(0)
    while chars and _is_blank(chars[-1][0]["c"]):
        chars.pop()
    if not chars:
        return None
    inked = [(char, span) for char, span in chars if not _is_blank(char["c"])]
    box = frame.box(_union(char["bbox"] for char, _ in inked))
    main = _most_common(inked)
    name = main["font"].rpartition("+")[2]
    flags = main["flags"]
    bad = sum(1 for char, span in inked if span["char_flags"] & _NO_UNICODE or _is_meaningless(char["c"]))
    return NativeLine(
        bbox=box if reason == "outside" else frame.clipped(box),
        text="".join(_clean(char["c"]) for char, _ in chars),
        font_name=name,
        font=main["font"],
        font_size=_size(main, reason),
        bold=_is_bold(inked),
        italic=bool(flags & pymupdf.TEXT_FONT_ITALIC) or _says(name, _ITALIC),
        monospace=bool(flags & pymupdf.TEXT_FONT_MONOSPACED) or _says(name, _MONOSPACE),
        superscript=all(span["flags"] & pymupdf.TEXT_FONT_SUPERSCRIPT for _, span in inked),
        vertical=line["wmode"] == 1,
        angle=0.0 if line["wmode"] == 1 else frame.angle(line["dir"]),
        color=f"#{main['color']:06x}",
        visible=reason is None,
        hidden=reason,
        origin=origin,
        bad_unicode=bad > 0 and bad >= _BAD_SHARE * len(inked),
    )


def _is_bold(inked: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> bool:
    """Whether nearly all of a line is bold: a few bold names in it, however long, make no heading of it."""
    weights: dict[int, bool] = {}
    count = 0
    for _, span in inked:
        if id(span) not in weights:
            weights[id(span)] = (
                bool(span["flags"] & pymupdf.TEXT_FONT_BOLD)
                or bool(span["char_flags"] & mupdf.FZ_STEXT_BOLD)
                or _says(span["font"].rpartition("+")[2], _BOLD)
            )
        count += weights[id(span)]
    return count >= _BOLD_SHARE * len(inked)


def _size(span: dict[str, Any], reason: Hidden | None) -> float:
    size, (x0, y0, x1, y1) = span["size"], span["bbox"]
    if reason is None and 0 < size < _MIN_SIZE:
        size = max(_SIZE_OF_HEIGHT * (y1 - y0), _SIZE_OF_WIDTH * (x1 - x0) / len(span["chars"]))
    return rounded(size) if math.isfinite(size) else 0.0


_BOLD = ("bold", "black", "heavy", "demi")
_ITALIC = ("italic", "oblique")
_MONOSPACE = ("mono", "courier", "consolas", "menlo", "typewriter", "cmtt")


def _says(name: str, words: Sequence[str]) -> bool:
    lower = name.lower()
    return any(word in lower for word in words)


def _most_common(inked: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> dict[str, Any]:
    """The span whose style most characters have, of equals the first."""
    counts: dict[tuple[Any, ...], int] = {}
    first: dict[tuple[Any, ...], dict[str, Any]] = {}
    for _, run in groupby(inked, key=lambda pair: id(pair[1])):
        chars = list(run)
        span = chars[0][1]
        key = (span["font"], round(span["size"], 1), span["flags"], span["color"])
        counts[key] = counts.get(key, 0) + len(chars)
        first.setdefault(key, span)
    return first[max(counts, key=lambda key: counts[key])]


def _union(boxes: Iterator[Sequence[float]]) -> tuple[float, float, float, float]:
    columns = list(zip(*boxes, strict=True))
    return min(columns[0]), min(columns[1]), max(columns[2]), max(columns[3])


@lru_cache(8192)
def _is_blank(character: str) -> bool:
    return character.isspace() or character in "\0\u200b\ufeff"


@lru_cache(8192)
def _is_meaningless(character: str) -> bool:
    """Replacement, private use, control and unassigned characters, and halves of surrogate pairs."""
    return character == "\ufffd" or unicodedata.category(character) in ("Co", "Cc", "Cs", "Cn")


@lru_cache(8192)
def _clean(character: str) -> str:
    """A character that can be stored: blanks as a blank, controls and broken surrogates as U+FFFD."""
    if character.isspace():
        return "\u3000" if character == "\u3000" else " "
    return "\ufffd" if unicodedata.category(character) in ("Cc", "Cs") else character
