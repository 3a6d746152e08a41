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
from services.layout_worker.regions import captions, structure
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
BODY_WIDTH, ASIDE_WIDTH = 0.4, 0.28
"""Shares of the page's width: the least of its body's column, and the most of a note beside it."""
_PAIR = re.compile(r"\s*[^:：,，.。;；]{1,24}[:：](?!//)")
"""How a name with its value begins."""
_NUMBER = re.compile(
    r"[-–—\s/|.·~()（）\[\]]*(?:(?:page|seite|p\.|pg\.?|第|共|页|頁|of|von|\d+|[ivxlc]{1,6}\b)[-–—\s/|,，.·~()（）\[\]]*)+",
    re.I,
)
_PLAIN_NUMBER = re.compile(r"\s*\d+\s")
_ROMAN = re.compile(r"[ivxlc]{1,6}|[IVXLC]{1,6}")
_NOTE = re.compile(r"\s*(?:\d{1,3}(?![\d.,])|[*†‡§¶]{1,3}|[\u2460-\u2473]|[\[(（]\d{1,3}[\])）])\s*\S")


def settled(drafts: Sequence[Draft], style: Style, width: float, height: float) -> list[Draft]:
    """The drafts with labels that agree with the evidence, in the order given. `width` and `height` are the page's."""
    page = _Page(drafts, style, width, height)
    body = _body(drafts, width)
    for draft in drafts:
        if draft.label not in HOLDS_TEXT or not draft.lines or draft.inside is not None:
            continue
        label = _label(draft, page)
        if label == "text" and body is not None and _is_aside(draft, body, style, width):
            label = "aside_text"
        if label != draft.label:
            draft.reason = draft.reason or f"{draft.label} by its looks, {label} by its type and place"
            draft.label = label
    return list(drafts)


class _Page:
    """What the regions of a page are compared with."""

    def __init__(self, drafts: Sequence[Draft], style: Style, width: float, height: float) -> None:
        self.style, self.width = style, width
        self.lines = [line for draft in drafts for line in draft.lines]
        self.margins = _Margins(self.lines, width, height)
        self.things = [draft for draft in drafts if draft.label in ("picture", "table")]
        self.has_headings = any(
            draft.lines and draft.label in HOLDS_TEXT and all(structure.is_heading(line, style) for line in draft.lines)
            for draft in drafts
        )
        """Whether any heading of the page stands out by its type: then the others do too."""
        self._texts = [
            line
            for draft in drafts
            if draft.label in ("text", "list_item") and len(draft.lines) > 1
            for line in draft.lines
        ]

    def is_beside_text(self, draft: Draft) -> bool:
        """Whether a region stands in one row with a line of a paragraph."""
        _, y0, _, y1 = draft.bbox
        return any(
            overlap(y0, y1, line.bbox[1], line.bbox[3]) >= 0.5 * min(y1 - y0, line.bbox[3] - line.bbox[1])
            for line in self._texts
            if overlap(draft.bbox[0], draft.bbox[2], line.bbox[0], line.bbox[2]) <= 0
        )


def _body(drafts: Sequence[Draft], width: float) -> tuple[float, float] | None:
    """From where to where the page's text stands, where it has one column that is wide enough to have something beside it."""
    texts = [d for d in drafts if d.label in ("text", "list_item", "reference") and len(d.lines) >= 2]
    wide = [d for d in texts if d.bbox[2] - d.bbox[0] >= BODY_WIDTH * width]
    if not wide or sum(len(d.lines) for d in wide) < 0.6 * sum(len(d.lines) for d in texts):
        return None
    x0, x1 = median(d.bbox[0] for d in wide), median(d.bbox[2] for d in wide)
    if any(overlap(d.bbox[0], d.bbox[2], x0, x1) < 0.5 * (x1 - x0) for d in wide):
        return None  # two columns that are both wide enough: what stands over the other is a heading of it, no note
    return x0, x1


def _is_aside(draft: Draft, body: tuple[float, float], style: Style, width: float) -> bool:
    """Whether a narrow text in small or slanted type stands beside the body, not in it."""
    x0, _, x1, _ = draft.bbox
    if x1 - x0 > ASIDE_WIDTH * width or overlap(x0, x1, *body) > 0.1 * (x1 - x0):
        return False
    if all(line.vertical for line in draft.lines):
        return False  # columns stand beside each other: it is the next, or a heading
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

    def running(self, draft: Draft) -> Label:
        """Header or footer, by the half of the page it stands in: of a line that is alone on its page the network says either."""
        return "page_header" if draft.bbox[1] + draft.bbox[3] < self.height else "page_footer"

    def is_outermost(self, draft: Draft) -> bool:
        """Whether no line of the page is nearer to the top, or none nearer to the bottom, than the region's."""
        _, y0, _, y1 = draft.bbox
        above, below = any(bottom <= y0 for _, bottom in self._tops), any(top >= y1 for top, _ in self._tops)
        return not (above and below)

    def is_page_number(self, draft: Draft, text: str) -> bool:
        """Whether a line holds nothing but a number of a page, and nothing stands between it and the nearer edge: margins may be wide."""
        says = any(map(str.isdigit, text)) or (self._is_page and _ROMAN.fullmatch(text) is not None)
        if len(draft.lines) != 1 or not says or not _NUMBER.fullmatch(text):
            return False
        share = OUTER if self._is_page else MARGIN
        return self.edge(draft, share) is not None and self.is_outermost(draft) and self.is_alone(draft)

    def is_alone(self, draft: Draft) -> bool:
        """Whether no other line stands in the region's row."""
        _, y0, _, y1 = draft.bbox
        return sum(overlap(y0, y1, top, bottom) > 0 for top, bottom in self._tops) <= len(draft.lines)

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


def _label(draft: Draft, page: _Page) -> Label:
    label, text, style = draft.label, (draft.lines[0].text or "").strip(), page.style
    native = all(line.text is not None for line in draft.lines)
    heading = all(structure.is_heading(line, style) for line in draft.lines)
    if label in ("page_header", "page_footer"):
        if all((style.ratio(line) or 0.0) >= HEADER_LARGER for line in draft.lines) and (native or heading):
            return "section_header"
        if native and captions.begins_caption(text) and captions.is_by_its_thing(draft, page.things):
            return "caption"
        if _is_running(draft, page, native):
            return page.margins.running(draft)
        if native and _is_section(text) and len(draft.lines) == 1 and not _is_sentence(text):
            return "section_header"
        label = "text"
    if label == "section_header" and native and (_is_plain(draft, page) or _is_form(draft)):
        label = "text"
    if native and label in ("text", "reference") and page.margins.is_page_number(draft, text):
        return "page_number"
    short = len({round(line.bbox[1]) for line in draft.lines}) <= 2
    texts = ("text", "reference", "caption", "footnote")
    if short and not heading and label in texts and page.margins.stands_apart(draft):
        edge = page.margins.edge(draft, MARGIN)
        if native and _NUMBER.fullmatch(text) and any(c.isdigit() for c in text) and len(draft.lines) == 1:
            return "page_number"
        return "page_header" if edge == "top" else "page_footer"
    if native and label in ("text", "reference", "list_item", "footnote", "caption"):
        return _text_kind(draft, label, page)
    if label == "reference":
        return "text"  # lines nobody has read yet: there are more lists and notes than bibliographies
    return label


def _is_running(draft: Draft, page: _Page, native: bool) -> bool:
    """Whether a header or footer of the network stands where such matter does, and is no line of the page's text that only stands there."""
    margins = page.margins
    if not margins.edge(draft, FAR) and not (margins.edge(draft, OUTER) and margins.is_outermost(draft)):
        return False
    if not native or margins.edge(draft, MARGIN):
        return not (native and page.is_beside_text(draft))
    usual = all(0.97 <= (page.style.ratio(line) or 0.0) <= structure.LARGER and not line.italic for line in draft.lines)
    return not usual and not page.is_beside_text(draft)


def _text_kind(draft: Draft, label: Label, page: _Page) -> Label:
    style = page.style
    texts = [line.text or "" for line in draft.lines]
    sources = sum(structure.is_source(text) for text in structure.rows(draft.lines))
    if sources and sources >= 0.2 * len(texts) and (label == "reference" or sources >= 2):
        return "reference"
    small = all((style.ratio(line) or 1.0) <= NOTE for line in draft.lines)
    deep = draft.bbox[1] >= NOTE_ZONE * page.margins.height
    if small and deep and _NOTE.match(texts[0]) and not captions.begins_caption(texts[0]):
        return "footnote"
    caption = captions.kind_of(draft, style, page.things, page.width)
    if caption == "caption":
        return "caption"
    if label == "caption":
        label = "text"
    if label == "text" and all(structure.is_heading(line, style) for line in draft.lines) and len(texts) <= 2:
        return "text" if _is_sentences(texts) else "section_header"
    if label == "reference":
        items = sum(structure.is_item(text) for text in texts)
        return "list_item" if items >= 2 and structure.is_item(texts[0]) else "text"
    if label == "text" and len(texts) > 1 and structure.is_item(texts[0]):
        items = sum(structure.is_item(text) for text in texts)
        return "list_item" if items >= max(2, 0.3 * len(texts)) else "text"
    return label


def _is_sentences(texts: Sequence[str]) -> bool:
    """Whether two lines of large type are a short paragraph."""
    return len(texts) > 1 and _is_sentence(texts[-1]) and not structure.is_numbered(texts[0])


def _is_section(text: str) -> bool:
    """Whether a text begins with the number of a section; a plain number may be the page's."""
    return structure.is_numbered(text) and not _PLAIN_NUMBER.match(text)


def _is_sentence(text: str) -> bool:
    return text.rstrip().endswith((".", "。"))


def _is_plain(draft: Draft, page: _Page) -> bool:
    """Whether nothing in a heading's type is different from the usual text, nor its beginning or its letters.

    A short one is believed all the same, unless the page has headings that do stand out, or it is several lines.
    """
    style = page.style
    if any((style.ratio(line) or 2.0) > 1.03 or style.stands_out(line) or line.italic for line in draft.lines):
        return False
    text = " ".join(line.text or "" for line in draft.lines)
    wide = len(text) + sum(character > "\u2e80" for character in text)
    if structure.is_numbered(text) or (text.isupper() and len(text) > 3):
        return False
    return wide > 30 or len(draft.lines) >= 2 or page.has_headings


def _is_form(draft: Draft) -> bool:
    """Whether lines are names with their values, of which the network now and then makes a heading."""
    return len(draft.lines) >= 2 and all(_PAIR.match(line.text or "") for line in draft.lines)
