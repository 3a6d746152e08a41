"""CJK text from top to bottom, columns from right to left."""

from __future__ import annotations

from random import Random

from samples.generator.flow import Flow
from samples.generator.truth import Line, hull


def vertical(flow: Flow, rng: Random) -> None:
    """A heading at the right, then paragraphs; on some pages in two storeys with a rule between."""
    style, words = flow.style, flow.style.words
    storeys = 2 if rng.random() < 0.3 else 1
    height = (flow.limit - style.top - 16 * (storeys - 1)) / storeys
    flow.sheet.truth.columns = storeys
    pitch = style.size * style.leading * 1.05
    for storey in range(storeys):
        top = style.top + storey * (height + 16)
        x = style.width - style.right - style.size
        if storey == 0:
            size = style.size * 1.5
            line = flow.sheet.column_of_text(x, top, words.heading(rng)[: int(height / size)], size)
            flow.sheet.add("title", [line], text=line.text, level=0, size=size, vertical=True)
            x -= pitch * 2
        else:
            flow.sheet.rule(style.left, top - 8, style.width - style.right, top - 8, width=0.5)
        while x > style.left + 3 * pitch:
            x = _paragraph(flow, words.paragraph(rng, rng.randint(2, 5)), x, top, height, pitch, storey)


def _paragraph(flow: Flow, text: str, x: float, top: float, height: float, pitch: float, storey: int) -> float:
    """Set a paragraph from `x` on to the left, with its first column one character lower; the next free `x`."""
    size = flow.style.size
    lines: list[Line] = []
    rest, room, y = text, int(height / size) - 1, top + size
    while rest and x > flow.style.left:
        lines.append(flow.sheet.column_of_text(x, y, rest[:room], size))
        rest, room, y = rest[room:], int(height / size), top
        x -= pitch
    placed = text[: len(text) - len(rest)]
    flow.sheet.add(
        "text", lines, hull([line.bbox for line in lines]), text=placed, column=storey, size=size, vertical=True
    )
    return x - pitch * 0.3
