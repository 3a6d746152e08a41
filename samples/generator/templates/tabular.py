"""Pages that are mostly tables."""

from __future__ import annotations

from random import Random

from samples.generator import cutting
from samples.generator.flow import Flow
from samples.generator.templates.parts import any_grid, paragraphs
from samples.generator.truth import Ruling


def tables_page(flow: Flow, rng: Random) -> None:
    """A table of each ruling, some with spans, with little text between."""
    words = flow.style.words
    flow.heading(1)
    rulings: list[Ruling] = ["full", "rows", "three", "none"]
    rng.shuffle(rulings)
    for ruling in rulings[: rng.randint(2, 4)]:
        paragraphs(flow, rng, 1)
        grid = any_grid(flow, rng, rng.randint(4, 9), ruling=ruling, spans=rng.random() < 0.5)
        caption = words.caption(rng, "table", flow.number("table")) if rng.random() < 0.8 else None
        cutting.place(flow, grid, caption=caption, width=rng.choice((1.0, 1.0, 0.8)))


def ledger(flow: Flow, rng: Random) -> None:
    """One long table over two or three pages, with or without its header on each."""
    words = flow.style.words
    flow.heading(1)
    paragraphs(flow, rng, 1)
    ruling: Ruling = rng.choice(("full", "full", "rows", "none"))
    grid = any_grid(flow, rng, rng.randint(45, 80), cols=rng.randint(4, 6), ruling=ruling, spans=rng.random() < 0.25)
    cutting.place(flow, grid, caption=words.caption(rng, "table", flow.number("table")), repeat=rng.random() < 0.6)
    paragraphs(flow, rng, 1)
