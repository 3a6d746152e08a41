"""Issues of a journal: chapters that begin a page, columns over many pages, figures over all columns, heads that count on."""

from __future__ import annotations

from random import Random

from samples.generator import cutting, pictures
from samples.generator.flow import Flow
from samples.generator.furniture import Furniture, drawn_furniture
from samples.generator.style import Style
from samples.generator.templates.news import fill
from samples.generator.templates.parts import any_grid, paragraphs


def journal(flow: Flow, rng: Random) -> None:
    """Two or three chapters in two or three columns; text runs on below a figure over the page, into columns and over pages."""
    style, words = flow.style, flow.style.words
    style.columns = rng.choice((2, 3))
    flow.band(1)
    flow.title(words.heading(rng), factor=1.9)
    for chapter in range(rng.randint(2, 3)):
        if chapter:
            flow.new_page()
            flow.band(1)
        flow.heading(1)
        flow.band(style.columns, flow.room * rng.uniform(0.3, 0.45))
        fill(flow, rng)
        flow.y = flow.bottom
        flow.band(1)
        flow.skip(8)
        box = [flow.left, flow.y, flow.left + flow.measure, flow.y + rng.uniform(80, 130)]
        figure = pictures.photo(flow.sheet, rng, box, red=False, column=-1)
        flow.y = box[3] + 4
        flow.caption(words.caption(rng, "figure", flow.number("figure")), target=figure)
        flow.skip(6)
        flow.band(style.columns)
        for _ in range(rng.randint(2, 3)):
            flow.heading(2)
            paragraphs(flow, rng, rng.randint(2, 4))
        if rng.random() < 0.5:
            grid = any_grid(flow, rng, rng.randint(8, 14), cols=2, ruling="full", spans=False)
            cutting.place(flow, grid, caption=words.caption(rng, "table", flow.number("table")))
            paragraphs(flow, rng, 1)


def counting(rng: Random, style: Style) -> Furniture:
    """Heads that carry the page's number among other words."""
    what = drawn_furniture(rng, style)
    name = style.words.heading(rng)
    what.head = rng.choice((f"{name} {{n}}", f"{{n}} | {name}", f"{name} 2024 / {{n}}"))
    what.second_head = what.head if rng.random() < 0.5 else f"{style.words.heading(rng)} {{n}}"
    return what
