"""Pages of pictures with captions above and below, among red things that are no seals."""

from __future__ import annotations

from random import Random

from samples.generator import pictures, seals
from samples.generator.flow import Flow
from samples.generator.templates.parts import figure, paragraphs


def gallery(flow: Flow, rng: Random) -> None:
    """Figures and text in turn; a red photo, a red sign, now and then a real stamp."""
    style = flow.style
    red = rng.random() < 0.5
    title = flow.title(style.words.heading(rng), align="left", color=(0.8, 0.1, 0.1) if red else None)
    if red:
        flow.sheet.truth.distractors.append(list(title.bbox))
    if rng.random() < 0.4:
        pictures.logo(flow.sheet, rng, style.width - style.right - 40, style.top - 20, 38)
    above = rng.random() < 0.3
    for _ in range(rng.randint(2, 4)):
        paragraphs(flow, rng, 1)
        figure(flow, rng, red=rng.random() < 0.4, caption_above=above)
    if rng.random() < 0.4:
        flow.need(150)
        flow.paragraph(rng.choice(style.words.persons), align="right", indent=0.0)
        shape = rng.choice(seals.SHAPES)
        seals.stamp(flow.sheet, rng, shape, style.left + 70, flow.y + 55, over=False)
        flow.skip(120)
