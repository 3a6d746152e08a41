"""A newspaper page: a name over the page, bands of columns, a picture over several of them."""

from __future__ import annotations

from random import Random

from samples.generator import pictures
from samples.generator.flow import Flow


def newspaper(flow: Flow, rng: Random) -> None:
    """Two or three stories on one page, each in three or two columns under its own headline."""
    style, words = flow.style, flow.style.words
    flow.band(1)
    red = rng.random() < 0.3
    flow.title(words.heading(rng), factor=2.6, color=(0.75, 0.08, 0.1) if red else None)
    if red:
        flow.sheet.truth.distractors.append(list(flow.sheet.truth.elements[-1].bbox))
    flow.sheet.rule(style.left, flow.y, style.width - style.right, flow.y, width=1.2)
    flow.skip(8)
    stories = rng.randint(2, 3)
    for story in range(stories):
        flow.band(1)
        if story == 1 and flow.room > 420:
            _picture(flow, rng)
        flow.heading(1, number="")
        height = flow.room if story == stories - 1 else flow.room / (stories - story) * 0.9
        if height < 90:
            return
        columns = rng.choice((3, 3, 2))
        flow.band(columns, height)
        fill(flow, rng)
        flow.y = flow.bottom
        flow.band(1)
        flow.skip(10)


def fill(flow: Flow, rng: Random) -> None:
    """Paragraphs until the last column is full."""
    words, step = flow.style.words, flow.style.size * flow.style.leading
    while True:
        if flow.is_last_column and flow.room < 3 * step:
            return
        fit = flow.is_last_column
        flow.paragraph(words.paragraph(rng, rng.randint(2, 4)), fit=fit)


def _picture(flow: Flow, rng: Random) -> None:
    height = rng.uniform(130, 200)
    box = [flow.left, flow.y, flow.left + flow.measure * rng.choice((1.0, 0.66)), flow.y + height]
    element = pictures.photo(flow.sheet, rng, box, red=rng.random() < 0.3, column=-1)
    flow.y = box[3] + 4
    flow.caption(flow.style.words.sentence(rng), target=element)
    flow.skip(8)
