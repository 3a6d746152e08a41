"""Grounded text: blocks of a page with boxes of 0..999 in both directions, as the DeepSeek-OCR line of models writes it.

Two forms: `<|ref|>label<|/ref|><|det|>[[x1, y1, x2, y2], …]<|/det|>text` (DeepSeek-OCR) and `<|det|>label [x1, y1, x2, y2]<|/det|>text`
(Unlimited-OCR). Their own code evaluates the box as Python; here the four markers are tokens, a box is integers, and anything else is
no box. Coordinates are clamped. The text of a block reaches to the next marker.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from shared.contracts.document import Label
from shared.contracts.errors import DocfleetError, ErrorCode

SCALE = 999
"""Coordinates of a box run from 0 to this, whatever the size of the picture (deepseek-ai/DeepSeek-OCR-2 2f3699e, draw_bounding_boxes)."""
MAX_PARTS = 2_000
"""Default of `vl.max_blocks`. A dense page of print has some 200."""
MAX_BOXES = 64
"""Boxes of one block that are looked at."""

LABELS: dict[str, Label] = {
    "title": "title",
    "doc_title": "title",
    "sub_title": "section_header",
    "subtitle": "section_header",
    "paragraph_title": "section_header",
    "text": "text",
    "list": "list_item",
    "list_item": "list_item",
    "table": "table",
    "image": "picture",
    "figure": "picture",
    "picture": "picture",
    "chart": "picture",
    "image_caption": "caption",
    "figure_caption": "caption",
    "figure_title": "caption",
    "table_caption": "caption",
    "table_title": "caption",
    "chart_title": "caption",
    "equation": "formula",
    "formula": "formula",
    "isolate_formula": "formula",
    "display_formula": "formula",
    "code": "code",
    "code_block": "code",
    "algorithm": "code",
    "header": "page_header",
    "footer": "page_footer",
    "page_number": "page_number",
    "footnote": "footnote",
    "page_footnote": "footnote",
    "table_footnote": "footnote",
    "image_footnote": "footnote",
    "reference": "reference",
    "ref_text": "reference",
    "aside_text": "aside_text",
    "seal": "seal",
}
"""Names that these models were seen to give, and their look-alikes; a name that is not here is `text`."""

_MARKER = re.compile(r"<\|(/?)(ref|det)\|>")
_BOX = re.compile(r"\[\s*(-?\d{1,7})\s*,\s*(-?\d{1,7})\s*,\s*(-?\d{1,7})\s*,\s*(-?\d{1,7})\s*\]")
_LEFT = re.compile(r"<\|[^<>|]{1,40}\|>|<｜[^<>｜]{1,40}｜>")


class Part(msgspec.Struct, frozen=True):
    """A block. `box` is in 0..999, corners in order; none where the model gave none that can be read. `raw` is the model's name for it."""

    label: Label
    raw: str
    box: tuple[int, int, int, int] | None
    text: str


def parse_grounding(text: str, *, labels: Mapping[str, Label] | None = None, max_parts: int = MAX_PARTS) -> list[Part]:
    """Blocks in the order of the answer; a text without any marker is one block without a box.

    `labels` are a profile's own names. Raises `DocfleetError(corrupt)` when a marker is not closed, or there are more blocks than allowed.
    """
    names = {**LABELS, **(labels or {})}
    parts: list[Part] = []
    ref: str | None = None
    det: str | None = None
    inside: str | None = None
    began = 0
    place = 0

    def end(upto: int) -> None:
        nonlocal ref, det
        content = _LEFT.sub("", text[began:upto]).strip()
        if ref is not None or det is not None or content:
            if len(parts) >= max_parts:
                raise DocfleetError(ErrorCode.corrupt, f"the model's answer has more than {max_parts} blocks")
            parts.append(_part(ref, det, content, names))
        ref = det = None

    for marker in _MARKER.finditer(text):
        closing, kind = marker.group(1) == "/", marker.group(2)
        if not closing:
            if inside is not None:
                raise DocfleetError(ErrorCode.corrupt, f"a {inside} marker of the model's answer is not closed")
            if kind == "ref" or det is not None or ref is None or text[began : marker.start()].strip():
                end(marker.start())
            inside, place = kind, marker.end()
        elif inside == kind:
            content = text[place : marker.start()]
            if kind == "ref":
                ref = content.strip()
            else:
                det = content
            inside, began = None, marker.end()
        # A closing marker without an opening one is noise of the model, and dropped with the other special tokens.
    if inside is not None:
        raise DocfleetError(ErrorCode.corrupt, f"a {inside} marker of the model's answer is not closed")
    end(len(text))
    return parts


def _part(ref: str | None, det: str | None, content: str, names: Mapping[str, Label]) -> Part:
    raw = ref
    if raw is None and det is not None:
        raw = det.split("[", 1)[0].strip()  # the second form: the name stands before the box
    raw = (raw or "text")[:80]
    name = raw.casefold().replace(" ", "_").replace("-", "_")
    label = names.get(name)
    if label is None and ref and not content:
        return Part("text", "text", _box(det), ref)  # no name of a block but the text itself, which was looked for
    return Part(label or "text", raw, _box(det), content)


def _box(det: str | None) -> tuple[int, int, int, int] | None:
    """The hull of all boxes, clamped; none where there is none with an area."""
    if det is None:
        return None
    found = []
    for number, match in enumerate(_BOX.finditer(det)):
        if number >= MAX_BOXES:
            break
        x0, y0, x1, y1 = (min(max(int(value), 0), SCALE) for value in match.groups())
        x0, x1 = sorted((x0, x1))
        y0, y1 = sorted((y0, y1))
        if x0 < x1 and y0 < y1:
            found.append((x0, y0, x1, y1))
    if not found:
        return None
    lefts, tops, rights, bottoms = zip(*found, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)
