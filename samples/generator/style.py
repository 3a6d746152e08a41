"""How a document looks: page, margins, columns, type. Drawn once per document."""

from __future__ import annotations

from random import Random
from typing import Literal

import msgspec

from samples.generator import fonts
from samples.generator.sheet import BLACK, Color
from samples.generator.words import LANGUAGES, Words

Numbering = Literal["decimal", "chapter", "han", "none"]
"""`1.2.3`; `第一章` and `第二节`; `一、` and `（一）`; nothing."""
SIZES = {
    "a4": (595.0, 842.0),
    "letter": (612.0, 792.0),
    "b5": (499.0, 709.0),
    "a5": (420.0, 595.0),
    "tabloid": (792.0, 1100.0),
}
"""Points."""
TINTS: tuple[Color, ...] = ((0.99, 0.98, 0.94), (0.96, 0.97, 0.99), (0.97, 0.94, 0.88), (0.95, 0.95, 0.95))
"""Papers: cream, cool, yellowed, grey."""
HAN_DIGITS = "零一二三四五六七八九十"


class Style(msgspec.Struct, kw_only=True):
    """The looks of one document."""

    width: float
    height: float
    left: float
    top: float
    right: float
    bottom: float
    """Margins, points."""
    columns: int = 1
    gutter: float = 20.0
    family: str
    heading_family: str
    size: float
    leading: float
    """Line height, ems."""
    justified: bool
    hyphens: bool
    indent: float
    """Of a paragraph's first line, ems."""
    gap: float
    """Between paragraphs, ems."""
    words: Words
    numbering: Numbering
    tint: Color | None = None
    accent: Color = BLACK
    """Of headings."""

    @property
    def body(self) -> fonts.Face:
        return fonts.face(self.family)

    @property
    def bold(self) -> fonts.Face:
        return fonts.face(self.family, "bold")

    @property
    def italic(self) -> fonts.Face:
        return fonts.face(self.family, "italic")

    @property
    def heading(self) -> fonts.Face:
        return fonts.face(self.heading_family, "bold")

    @property
    def measure(self) -> float:
        """Width between the margins."""
        return self.width - self.left - self.right


def drawn_style(
    rng: Random, language: str, *, columns: int = 1, page: str | None = None, size: tuple[float, float] = (9.0, 12.0)
) -> Style:
    """A style at random; `page` names a size, `size` bounds that of the body's type."""
    words = LANGUAGES[language]
    width, height = SIZES[page or rng.choice(("a4", "a4", "letter", "b5"))]
    family = rng.choice(fonts.BODY_FAMILIES)
    indented = rng.random() < 0.5
    return Style(
        width=width,
        height=height,
        left=rng.uniform(42, 80),
        right=rng.uniform(42, 80),
        top=rng.uniform(62, 90),
        bottom=rng.uniform(60, 85),
        columns=columns,
        gutter=rng.uniform(14, 26),
        family=family,
        heading_family=rng.choice((family, "helvetica", "fira")),
        size=round(rng.uniform(*size) * 2) / 2,
        leading=rng.uniform(1.4, 1.75) if words.han else rng.uniform(1.18, 1.5),
        justified=rng.random() < 0.6,
        hyphens=not words.han and rng.random() < 0.5,
        indent=(2.0 if words.han else 1.2) if indented else 0.0,
        gap=rng.uniform(0.0, 0.3) if indented else rng.uniform(0.5, 0.9),
        words=words,
        numbering=rng.choice(("chapter", "han", "decimal") if words.code == "zh" else ("decimal", "decimal", "none")),
        tint=rng.choice(TINTS) if rng.random() < 0.3 else None,
        accent=rng.choice((BLACK, BLACK, BLACK, (0.1, 0.2, 0.45), (0.25, 0.25, 0.25))),
    )


def heading_number(numbering: Numbering, counters: list[int]) -> str:
    """The printed number of a heading; `counters` has one number per level."""
    level, last = len(counters), counters[-1]
    if numbering == "none":
        return ""
    if numbering == "decimal" or level > 2:
        return ".".join(str(number) for number in counters) + ("." if level == 1 else "")
    if numbering == "chapter":
        return f"第{han_number(last)}{'章' if level == 1 else '节'}"
    return f"{han_number(last)}、" if level == 1 else f"（{han_number(last)}）"


def han_number(number: int) -> str:
    """1..99 as Chinese writes it."""
    tens, ones = divmod(number, 10)
    if tens == 0:
        return HAN_DIGITS[ones]
    return (HAN_DIGITS[tens] if tens > 1 else "") + "十" + (HAN_DIGITS[ones] if ones else "")
