"""List markers as Word shows them: from `numbering.xml` and the paragraphs counted so far.

Counters belong to the abstract definition, so that lists of several `w:num` with one definition count on, unless a `w:num` says where it
starts (ECMA-376 part 1, 17.9). A deeper level starts anew after a higher one, unless its `w:lvlRestart` says otherwise.
"""

from __future__ import annotations

import re

import msgspec

from shared.documents.docx.numerals import numeral
from shared.documents.docx.styles import Styles
from shared.documents.docx.xml import Element, attribute, child, name, number, parsed

MAX_LEVEL = 8
"""Levels are 0..8 (ECMA-376 part 1, 17.9.6)."""
_PLACE = re.compile(r"%([1-9])")
SYMBOLS = {
    "\uf0b7": "•", "\uf0a7": "▪", "\uf0d8": "➢", "\uf0fc": "✓", "\uf076": "❖", "\uf0a8": "□", "\uf06e": "■",
    "\uf06c": "●", "\uf075": "◆", "\uf0e0": "→", "\uf0f0": "➤", "\uf0fe": "☑", "\uf06f": "□", "\uf0a1": "○",
}  # fmt: skip
"""Bullets of the fonts Symbol and Wingdings, in the private use area where Word keeps them."""


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """A level of a list definition."""

    form: str = "decimal"
    text: str = ""
    start: int = 1
    restart: int | None = None
    """1-based level after which it starts anew; 0: never; none: after any higher one."""
    style: str | None = None
    """Id of the paragraph style that is this level."""
    legal: bool = False
    """Higher levels are shown in decimals, whatever their own format."""


class Numbering:
    """The list definitions of a document, and how far each has counted. `marker` must be asked in the order of the text."""

    def __init__(self, data: bytes | None, styles: Styles) -> None:
        """`data`: the part `numbering`, if there is one. Raises `corrupt`, `resource_limit`."""
        self._abstract: dict[str, dict[int, Level]] = {}
        self._linked: dict[str, str] = {}
        self._nums: dict[str, tuple[str, dict[int, Level], dict[int, int]]] = {}
        self._styles = styles
        self._counts: dict[str, dict[int, int]] = {}
        self._begun: set[tuple[str, int]] = set()
        for one in parsed(data, "the list of numberings") if data else ():
            if name(one) == "w:abstractNum":
                own = attribute(one, "w:abstractNumId") or ""
                self._abstract[own] = _levels(one)
                if link := attribute(child(one, "w:numStyleLink"), "w:val"):
                    self._linked[own] = link
            elif name(one) == "w:num":
                self._nums[attribute(one, "w:numId") or ""] = _num(one)

    def level_of(self, num_id: str, style_id: str | None) -> int:
        """The level that a paragraph style stands for in a list; 0 where none is tied to it."""
        found = self._found(num_id)
        levels = found[1] if found else {}
        return next((at for at, level in sorted(levels.items()) if style_id and level.style == style_id), 0)

    def marker(self, num_id: str, level: int) -> str | None:
        """Count one paragraph of a list, and its marker; empty where the level shows none, none where there is no such list."""
        found = self._found(num_id)
        if found is None:
            return None
        abstract, levels, starts = found
        level = min(max(level, 0), MAX_LEVEL)
        own = levels.get(level)
        if own is None:
            return None
        counts = self._counts.setdefault(abstract, {})
        if level in starts and (num_id, level) not in self._begun:
            counts.pop(level, None)
        self._begun.add((num_id, level))
        counts[level] = counts[level] + 1 if level in counts else starts.get(level, own.start)
        for deeper in [one for one in counts if one > level]:
            restart = levels[deeper].restart if deeper in levels else None
            if restart is None or (restart > 0 and level < restart):
                del counts[deeper]
        for higher in range(level):
            # A level that was skipped counts as begun: after 2, 2.1.1 comes 2.2.
            if higher in levels and higher not in counts:
                counts[higher] = starts.get(higher, levels[higher].start)
        if own.form == "bullet":
            return _bullet(own.text.strip())

        def shown(found: re.Match[str]) -> str:
            at = int(found[1]) - 1
            part = levels.get(at, Level())
            value = counts.get(at, starts.get(at, part.start))
            return numeral(value, "decimal" if own.legal and at < level else part.form)

        return _PLACE.sub(shown, own.text).strip()

    def _found(self, num_id: str) -> tuple[str, dict[int, Level], dict[int, int]] | None:
        """Abstract id, levels and starts of a `w:num`; a definition that only names a style is that style's."""
        for _ in range(4):
            if num_id not in self._nums:
                return None
            abstract, overrides, starts = self._nums[num_id]
            if abstract not in self._linked:
                return abstract, {**self._abstract.get(abstract, {}), **overrides}, starts
            num_id = self._styles.get(self._linked[abstract]).num_id or ""
        return None


def _bullet(text: str) -> str:
    """Characters of symbol fonts as what they look like; Word's hollow bullet is an `o` of Courier New."""
    if text in ("", "o"):
        return "◦" if text else "•"
    return "".join(SYMBOLS.get(one, "•" if "\ue000" <= one <= "\uf8ff" else one) for one in text)


def _levels(element: Element) -> dict[int, Level]:
    found = {}
    for one in element:
        if name(one) == "w:lvl":
            found[number(one, "w:ilvl", 0) or 0] = _level(one)
    return found


def _level(element: Element) -> Level:
    return Level(
        form=attribute(child(element, "w:numFmt"), "w:val") or "decimal",
        text=attribute(child(element, "w:lvlText"), "w:val") or "",
        start=number(child(element, "w:start"), "w:val", 1) or 0,
        restart=number(child(element, "w:lvlRestart"), "w:val"),
        style=attribute(child(element, "w:pStyle"), "w:val"),
        legal=child(element, "w:isLgl") is not None,
    )


def _num(element: Element) -> tuple[str, dict[int, Level], dict[int, int]]:
    abstract = attribute(child(element, "w:abstractNumId"), "w:val") or ""
    levels, starts = {}, {}
    for one in element:
        if name(one) != "w:lvlOverride":
            continue
        at = number(one, "w:ilvl", 0) or 0
        if (other := child(one, "w:lvl")) is not None:
            levels[at] = _level(other)
        if (start := number(child(one, "w:startOverride"), "w:val")) is not None:
            starts[at] = start
    return abstract, levels, starts
