"""Documents of a seed: which template, language and looks come next, and their files.

Templates follow each other in a fixed round, so that every run of some 40 pages and more has all of them; everything else is random. A
document is made of its seed and index alone: the first documents of a long run are those of a short one.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

import pymupdf

from samples.generator.flow import Flow
from samples.generator.furniture import furnish
from samples.generator.scan import scanned
from samples.generator.style import drawn_style
from samples.generator.templates import TEMPLATES, Template
from samples.generator.truth import Document


class Made(NamedTuple):
    """A document and what is in it."""

    pdf: bytes
    truth: Document


def generate(seed: int, pages: int, *, scan: bool = False, templates: tuple[str, ...] = ()) -> Iterator[Made]:
    """Documents with at least `pages` pages together; with `scan`, each followed by its scanned twin, which is not counted.

    `templates` names those to be used; raises `ValueError` for a name that there is not.
    """
    names = {template.name for template in TEMPLATES}
    if unknown := set(templates) - names:
        raise ValueError(f"no template {sorted(unknown)}; there are {sorted(names)}")
    chosen = [template for template in TEMPLATES if not templates or template.name in templates]
    made, index = 0, 0
    while made < pages:
        document = make(chosen[index % len(chosen)], seed, index)
        made += len(document.truth.pages)
        yield document
        if scan:
            yield Made(*scanned(document.pdf, document.truth, Random(f"{seed}/{index}/scan")))
        index += 1


def make(template: Template, seed: int, index: int) -> Made:
    """One born-digital document."""
    rng = Random(f"{seed}/{index}/{template.name}")
    language = rng.choice(template.languages)
    style = drawn_style(rng, language, **template.looks)
    document = pymupdf.open()
    flow = Flow(document, style, rng)
    template.draw(flow, rng)
    flow.close()
    for sheet in flow.sheets:
        sheet.reopen()
    if template.furnished:
        furnish(flow, template.furniture(rng, style))
    for sheet in flow.sheets:
        sheet.finish()
    document.subset_fonts()
    truth = Document(
        name=f"{index:04d}_{template.name}_{language}",
        template=template.name,
        language=language,
        seed=seed,
        pages=[sheet.truth for sheet in flow.sheets],
    )
    return Made(bytes(document.tobytes(garbage=4, deflate=True, no_new_id=True)), truth)
