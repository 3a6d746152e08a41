"""Running heads and page numbers: the same words on every page of a document, its numbers in one of the usual forms."""

from __future__ import annotations

from random import Random
from typing import Literal

import msgspec

from samples.generator import fonts
from samples.generator.flow import Flow
from samples.generator.sheet import GREY, Sheet
from samples.generator.style import Style

Side = Literal["left", "centre", "right", "outer"]
"""`outer`: right on odd pages, left on even ones."""
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")


class Furniture(msgspec.Struct, kw_only=True):
    """What stands outside the text of every page; empty strings for what does not."""

    head: str
    """May have `{n}`, the page's number."""
    second_head: str
    """On even pages, in its place; the same as `head` in most documents."""
    foot: str
    number: str
    """Pattern with `{n}`, `{total}`, `{roman}`."""
    head_side: Side
    number_side: Side
    number_at_top: bool
    ruled: bool
    first_number: int
    size: float


def drawn_furniture(rng: Random, style: Style) -> Furniture:
    """Running heads of a document, at random; some have none."""
    words = style.words
    head = words.heading(rng) if rng.random() < 0.75 else ""
    foot = words.heading(rng) if rng.random() < 0.3 else ""
    pattern = rng.choice((words.page, "{n}", "- {n} -", "{n}/{total}", "{roman}", ""))
    first = rng.choice((1, 1, 1, 17, 98, 236))
    if pattern in (words.page, "{n}/{total}", "{roman}"):
        first = 1
    return Furniture(
        head=head,
        second_head=words.heading(rng) if rng.random() < 0.3 and head else head,
        foot=foot,
        number=pattern,
        head_side=rng.choice(("left", "centre", "right", "outer")),
        number_side=rng.choice(("centre", "outer", "right")) if not foot else rng.choice(("outer", "right")),
        number_at_top=bool(head) and rng.random() < 0.15,
        ruled=rng.random() < 0.4,
        first_number=first,
        size=max(6.5, style.size * rng.uniform(0.72, 0.85)),
    )


def furnish(flow: Flow, what: Furniture) -> None:
    """Write it on all pages; heads come first in the reading order."""
    for index, sheet in enumerate(flow.sheets):
        body = list(sheet.truth.elements)
        sheet.truth.elements.clear()
        number = what.number.format(
            n=index + what.first_number, total=len(flow.sheets), roman=_ROMAN[min(index, len(_ROMAN) - 1)]
        )
        head = (what.second_head if index % 2 else what.head).replace("{n}", str(index + what.first_number))
        top, foot = flow.style.top * 0.58, flow.style.height - flow.style.bottom * 0.45
        side = _side(what.head_side, index)
        if head:
            _write(sheet, flow.style, what, head, top, side, "page_header")
            if what.ruled:
                sheet.rule(
                    flow.style.left, top + 5, flow.style.width - flow.style.right, top + 5, width=0.5, color=GREY
                )
        if number and what.number_at_top:
            _write(sheet, flow.style, what, number, top, "right" if side == "left" else "left", "page_number")
        sheet.truth.elements.extend(body)
        if what.foot:
            _write(sheet, flow.style, what, what.foot, foot, "left", "page_footer")
        if number and not what.number_at_top:
            where = _side(what.number_side, index)
            if what.foot and where == "left":
                where = "right"
            _write(sheet, flow.style, what, number, foot, where, "page_number")


def _side(side: Side, index: int) -> Side:
    if side != "outer":
        return side
    return "left" if index % 2 else "right"


def _write(sheet: Sheet, style: Style, what: Furniture, text: str, y: float, side: Side, label: str) -> None:
    wide = fonts.width(text, style.body, what.size)
    x = style.left
    if side == "right":
        x = style.width - style.right - wide
    elif side == "centre":
        x = (style.width - wide) / 2
    line = sheet.text(x, y, text, style.body, what.size, color=GREY)
    sheet.add(label, [line], text=text, furniture=True, column=-1, size=what.size)
