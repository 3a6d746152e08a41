"""Styles: what a paragraph inherits from its style and from those that one is based on."""

from __future__ import annotations

import re

import msgspec

from shared.documents.docx.xml import Element, attribute, child, name, number, parsed, switched

_HEADING = re.compile(r"(?:heading|überschrift|titre|标题)\s*([1-9])", re.I)
"""Built-in styles keep their English names in the file; other writers translate them."""
_CODE = re.compile(r"\b(?:code|source|listing|preformatted|verbatim)\b|代码", re.I)
BODY_LEVEL = 9
"""`w:outlineLvl` of plain text (ECMA-376 part 1, 17.3.1.20)."""


class Style(msgspec.Struct, frozen=True, kw_only=True):
    """A paragraph or character style with all it inherits."""

    name: str = ""
    outline: int | None = None
    """0-based outline level; `BODY_LEVEL` for plain text, none where no style of the chain says."""
    num_id: str | None = None
    num_level: int | None = None
    hidden: bool | None = None

    @property
    def heading(self) -> int | None:
        """Level of the heading that a paragraph of this style is: 1..6, 0 for a title; none where it is none."""
        if self.name.lower() == "title":
            return 0
        if self.name.lower() == "toc heading":
            return 1  # text to Word, so that it does not list itself; a heading to everybody else
        if self.outline is not None:
            return self.outline + 1 if self.outline < BODY_LEVEL else None
        found = _HEADING.fullmatch(self.name.strip())
        return int(found[1]) if found else None

    @property
    def caption(self) -> bool:
        return self.name.lower() in ("caption", "题注")

    @property
    def code(self) -> bool:
        return _CODE.search(self.name) is not None


class Styles:
    """The styles of a document, by their ids."""

    def __init__(self, data: bytes | None) -> None:
        """`data`: the part `styles`, if there is one. Raises `corrupt`, `resource_limit`."""
        self._elements: dict[str, Element] = {}
        self._resolved: dict[str, Style] = {}
        self.default = ""
        for one in parsed(data, "the list of styles") if data else ():
            if name(one) == "w:style":
                style_id = attribute(one, "w:styleId") or ""
                self._elements[style_id] = one
                if attribute(one, "w:default") in ("1", "true") and attribute(one, "w:type") == "paragraph":
                    self.default = style_id

    def get(self, style_id: str | None) -> Style:
        """The style with all it inherits; an unknown one says nothing."""
        return self._get(style_id if style_id in self._elements else self.default)

    def _get(self, style_id: str) -> Style:
        known = self._resolved.get(style_id)
        if known is not None:
            return known
        chain: list[str] = []
        at: str | None = style_id
        while at is not None and at in self._elements and at not in chain:
            chain.append(at)
            at = attribute(child(self._elements[at], "w:basedOn"), "w:val")
        style = Style()
        for one in reversed(chain):
            style = _over(style, self._elements[one])
        if style_id in self._elements:
            own = attribute(child(self._elements[style_id], "w:name"), "w:val") or style_id
            style = msgspec.structs.replace(style, name=own)
        self._resolved[style_id] = style
        return style


def _over(base: Style, element: Element) -> Style:
    """What `element` says, over what it is based on."""
    properties = child(element, "w:pPr")
    listed = child(properties, "w:numPr")
    outline = number(child(properties, "w:outlineLvl"), "w:val", base.outline)
    own = attribute(child(element, "w:name"), "w:val") or ""
    if number(child(properties, "w:outlineLvl"), "w:val") is None and (found := _HEADING.fullmatch(own.strip())):
        outline = int(found[1]) - 1
    hidden = switched(child(element, "w:rPr"), "w:vanish")
    return Style(
        name=own,
        outline=outline,
        num_id=attribute(child(listed, "w:numId"), "w:val", base.num_id),
        num_level=number(child(listed, "w:ilvl"), "w:val", base.num_level),
        hidden=base.hidden if hidden is None else hidden,
    )
