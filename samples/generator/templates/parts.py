"""What several templates are made of."""

from __future__ import annotations

from random import Random

from samples.generator import pictures, tables
from samples.generator.flow import Flow
from samples.generator.truth import Element, Ruling

HEADS = ((0.9, 0.9, 0.9), (0.85, 0.9, 0.97), None, None)
"""Grounds of table headers."""
RULINGS: tuple[Ruling, ...] = ("full", "full", "rows", "three", "none")
RED_HEAD = (0.8, 0.12, 0.14)


def paragraphs(flow: Flow, rng: Random, count: int, *, note: bool = False) -> list[Element]:
    """So many paragraphs of two to five sentences; the last one with a footnote, if wanted."""
    words, found = flow.style.words, []
    for index in range(count):
        footnote = words.sentence(rng) if note and index == count - 1 else None
        found += flow.paragraph(words.paragraph(rng, rng.randint(2, 5)), note=footnote)
    return found


def figure(flow: Flow, rng: Random, *, red: bool = False, caption_above: bool = False) -> Element:
    """A photo or chart over the column with its caption."""
    style, words = flow.style, flow.style.words
    height = min(rng.uniform(90, 190), (flow.limit - style.top) * 0.4)
    flow.need(height + style.size * 4)
    flow.skip(style.size * 0.5)
    text = words.caption(rng, "figure", flow.number("figure"))
    centred = rng.random() < 0.5
    above = flow.caption(text, centred=centred) if caption_above else None
    flow.skip(4)
    width = flow.measure * rng.choice((1.0, 0.8, 0.65))
    x = flow.left + (flow.measure - width) / 2
    box = [x, flow.y, x + width, flow.y + height]
    if red or rng.random() < 0.5:
        element = pictures.photo(flow.sheet, rng, box, red=red, column=flow.column)
    else:
        element = pictures.chart(flow.sheet, rng, box, words, column=flow.column)
    flow.y = box[3] + 4
    if above is not None:
        above.target = element.id
    else:
        flow.caption(text, centred=centred, target=element)
    flow.skip(style.size * 0.8)
    return element


def any_grid(
    flow: Flow,
    rng: Random,
    rows: int,
    *,
    cols: int | None = None,
    ruling: Ruling | None = None,
    spans: bool | None = None,
) -> tables.Grid:
    """A table's content in the document's type."""
    style = flow.style
    fill = rng.choice(HEADS)
    if rng.random() < 0.08:
        fill = RED_HEAD
    grid = tables.drawn_grid(
        rng,
        style.words,
        style.body,
        style.bold,
        max(6.5, style.size * rng.uniform(0.82, 0.95)),
        rows,
        cols or rng.randint(3, 5),
        ruling=rng.choice(RULINGS) if ruling is None else ruling,
        spans=rng.random() < 0.3 if spans is None else spans,
        fill=fill,
    )
    if fill == RED_HEAD:
        grid.header_color = (1.0, 1.0, 1.0)
    return grid
