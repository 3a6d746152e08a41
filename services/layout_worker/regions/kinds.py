"""What a region is, by what the page itself says: the network goes by looks and place, and is wrong where these mislead it.

It calls a heading at the top of a page a header, footers and lists references, and every second footnote text. Evidence is the size and
weight of type, how a text begins, and where it stands; where the evidence says nothing, the network's word stands. Running matter is
only told by place here when nothing else speaks for body text: whether it recurs is seen where the whole document is (assembler).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median

from services.layout_worker.boxes import overlap
from services.layout_worker.regions import structure
from services.layout_worker.regions.drafts import HOLDS_TEXT, Draft
from services.layout_worker.regions.style import Style
from shared.contracts.document import Label
from shared.contracts.layout import TextLine

MARGIN = 0.08
"""Share of the page's height at the top and the bottom in which running matter stands: 67 pt of A4, where margins are 72 and more."""
FAR = 0.15
"""Farther from the edge than this nothing is running matter; the assembler's rule has the same value."""
OUTER = 0.25
"""The same where nothing of the page is nearer to the edge: margins of some pages are wide."""
HEADER_LARGER = 1.3
"""Times the usual size from which what the network took for a header is a heading; the assembler's rule has 1.25 of the document's."""
GAP = 1.2
"""Space between running matter and the body, in line heights."""
FULL = 8
"""Lines of a page from which its margins mean something; a card or a label has none."""
NOTE, NOTE_ZONE = 0.92, 0.6
"""Size of a footnote by the usual one at most, and how far down the page the first may begin."""
CAPTION_LINES = 8
"""Lines of a caption, at most: those of papers explain what is seen."""
BODY_WIDTH, ASIDE_WIDTH = 0.4, 0.28
"""Shares of the page's width: the least of its body's column, and the most of a note beside it."""
NEAR = 3.0
"""Line heights between a caption and what it names, at most."""
_CAPTION = re.compile(
    r"\s*(?:(?:fig(?:ure|\.)?|table|tab\.|chart|plate|scheme|abb(?:ildung|\.)|tabelle)\s*[\dIVXA-Z]{1,4}(?:[.-]\d+)*\b|(?:图表|表格|[图表圖])[\s]*[\d一二三四五六七八九十]+(?:[-.．]\d+)*)",
    re.I,
)
_PAIR = re.compile(r"\s*[^:：,，.。;；]{1,24}[:：](?!//)")
"""How a name with its value begins."""
_NUMBER = re.compile(
    r"[-–—\s/|.·~()（）\[\]]*(?:(?:page|seite|p\.|pg\.?|第|共|页|頁|of|von|\d+|[ivxlc]{1,6}\b)[-–—\s/|,，.·~()（）\[\]]*)+",
    re.I,
)
_NOTE = re.compile(r"\s*(?:\d{1,3}|[*†‡§¶]{1,3}|[\u2460-\u2473]|[\[(（]\d{1,3}[\])）])\s*\S")


def settled(drafts: Sequence[Draft], style: Style, width: float, height: float) -> list[Draft]:
    """The drafts with labels that agree with the evidence, in the order given. `width` and `height` are the page's."""
    lines = [line for draft in drafts for line in draft.lines]
    margins = _Margins(lines, width, height)
    body = _body(drafts, width)
    for draft in drafts:
        if draft.label not in HOLDS_TEXT or not draft.lines or draft.inside is not None:
            continue
        label = _label(draft, style, margins, drafts)
        if label == "text" and body is not None and _is_aside(draft, body, style, width):
            label = "aside_text"
        if label != draft.label:
            draft.reason = draft.reason or f"{draft.label} by its looks, {label} by its type and place"
            draft.label = label
    return list(drafts)


def _body(drafts: Sequence[Draft], width: float) -> tuple[float, float] | None:
    """From where to where the page's text stands, where it has one column that is wide enough to have something beside it."""
    texts = [d for d in drafts if d.label in ("text", "list_item", "reference") and len(d.lines) >= 2]
    wide = [d for d in texts if d.bbox[2] - d.bbox[0] >= BODY_WIDTH * width]
    if not wide or sum(len(d.lines) for d in wide) < 0.6 * sum(len(d.lines) for d in texts):
        return None
    return median(d.bbox[0] for d in wide), median(d.bbox[2] for d in wide)


def _is_aside(draft: Draft, body: tuple[float, float], style: Style, width: float) -> bool:
    """Whether a narrow text in small or slanted type stands beside the body, not in it."""
    x0, _, x1, _ = draft.bbox
    if x1 - x0 > ASIDE_WIDTH * width or overlap(x0, x1, *body) > 0.1 * (x1 - x0):
        return False
    return all((style.ratio(line) or 1.0) <= NOTE or line.italic or line.text is None for line in draft.lines)


class _Margins:
    """Where running matter may stand, and what else there is in the page's height."""

    def __init__(self, lines: Sequence[TextLine], width: float, height: float) -> None:
        self.height = height
        self._tops = sorted((line.bbox[1], line.bbox[3]) for line in lines)
        self._is_page = len(lines) >= FULL and 0.5 <= width / max(height, 1.0) <= 2.0

    def edge(self, draft: Draft, share: float) -> str | None:
        """`top` or `bottom`, where the whole region lies within this share of the page from that edge."""
        _, y0, _, y1 = draft.bbox
        if y1 <= share * self.height:
            return "top"
        return "bottom" if y0 >= (1 - share) * self.height else None

    def is_outermost(self, draft: Draft) -> bool:
        """Whether no line of the page is nearer to the top, or none nearer to the bottom, than the region's."""
        _, y0, _, y1 = draft.bbox
        above, below = any(bottom <= y0 for _, bottom in self._tops), any(top >= y1 for top, _ in self._tops)
        return not (above and below)

    def stands_apart(self, draft: Draft) -> bool:
        """Whether a region in the margin is far from the next line towards the middle, in its own line heights."""
        edge = self.edge(draft, MARGIN)
        if not self._is_page or edge is None:
            return False
        _, y0, _, y1 = draft.bbox
        room = GAP * max(line.bbox[3] - line.bbox[1] for line in draft.lines)
        if edge == "top":
            return all(top >= y1 + room or bottom <= y1 + 0.1 * room for top, bottom in self._tops)
        return all(bottom <= y0 - room or top >= y0 - 0.1 * room for top, bottom in self._tops)


def _label(draft: Draft, style: Style, margins: _Margins, drafts: Sequence[Draft]) -> Label:
    label, text = draft.label, (draft.lines[0].text or "").strip()
    native = all(line.text is not None for line in draft.lines)
    short = len({round(line.bbox[1]) for line in draft.lines}) <= 2
    heading = all(structure.is_heading(line, style) for line in draft.lines)
    if label in ("page_header", "page_footer"):
        if all((style.ratio(line) or 0.0) >= HEADER_LARGER for line in draft.lines) and (native or heading):
            return "section_header"
        return (
            label
            if margins.edge(draft, FAR) or (margins.edge(draft, OUTER) and margins.is_outermost(draft))
            else "text"
        )
    if short and not heading and label in ("text", "reference", "caption", "footnote") and margins.stands_apart(draft):
        edge = margins.edge(draft, MARGIN)
        if native and _NUMBER.fullmatch(text) and any(c.isdigit() for c in text) and len(draft.lines) == 1:
            return "page_number"
        return "page_header" if edge == "top" else "page_footer"
    if label == "section_header" and native and (_is_plain(draft, style) or _is_form(draft)):
        return "text"
    if native and label in ("text", "reference", "list_item", "footnote"):
        return _text_kind(draft, style, margins, drafts)
    if label == "caption" and native and not _CAPTION.match(text) and not _is_by_its_thing(draft, drafts):
        return "text"
    if label == "reference":
        return "text"  # lines nobody has read yet: there are more lists and notes than bibliographies
    return label


def _text_kind(draft: Draft, style: Style, margins: _Margins, drafts: Sequence[Draft]) -> Label:
    texts = [line.text or "" for line in draft.lines]
    sources = sum(structure.is_source(text) for text in texts)
    if sources and sources >= 0.2 * len(texts) and (draft.label == "reference" or sources >= 2):
        return "reference"
    small = all((style.ratio(line) or 1.0) <= NOTE for line in draft.lines)
    if small and _NOTE.match(texts[0]) and draft.bbox[1] >= NOTE_ZONE * margins.height and not _CAPTION.match(texts[0]):
        return "footnote"
    if len(draft.lines) <= CAPTION_LINES and _CAPTION.match(texts[0]) and _is_by_its_thing(draft, drafts):
        return "caption"
    if draft.label == "text" and all(structure.is_heading(line, style) for line in draft.lines) and len(texts) <= 2:
        return "section_header"
    if draft.label == "reference":
        items = sum(structure.is_item(text) for text in texts)
        return "list_item" if items >= 2 and structure.is_item(texts[0]) else "text"
    if draft.label == "text" and len(texts) > 1 and structure.is_item(texts[0]):
        items = sum(structure.is_item(text) for text in texts)
        return "list_item" if items >= max(2, 0.3 * len(texts)) else "text"
    return draft.label


def _is_plain(draft: Draft, style: Style) -> bool:
    """Whether nothing in a heading's type is different from the usual text, nor its beginning or its letters."""
    if any((style.ratio(line) or 2.0) > 1.03 or style.stands_out(line) or line.italic for line in draft.lines):
        return False
    text = " ".join(line.text or "" for line in draft.lines)
    wide = len(text) + sum(character > "\u2e80" for character in text)
    return not structure.is_numbered(text) and not text.isupper() and (wide > 30 or len(draft.lines) >= 3)


def _is_form(draft: Draft) -> bool:
    """Whether lines are names with their values, of which the network now and then makes a heading."""
    return len(draft.lines) >= 2 and all(_PAIR.match(line.text or "") for line in draft.lines)


def begins_caption(text: str) -> bool:
    """Whether a line begins like the caption of a figure or a table."""
    return _CAPTION.match(text) is not None


def _is_by_its_thing(draft: Draft, drafts: Sequence[Draft]) -> bool:
    """Whether a picture or a table stands close above or below."""
    x0, y0, x1, y1 = draft.bbox
    reach = NEAR * max(line.bbox[3] - line.bbox[1] for line in draft.lines)
    return any(
        other.label in ("picture", "table")
        and overlap(x0, x1, other.bbox[0], other.bbox[2]) > 0
        and -overlap(y0, y1, other.bbox[1], other.bbox[3]) <= reach
        for other in drafts
    )
