"""The worst pages of a run, as names and, if wanted, as pictures: truth on the left, regions and lines that were found on the right."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageDraw

from benchmarks.lib.layout_tally import Tally
from docfleet.overlays import COLOURS
from samples.generator import Made
from samples.generator.show import DPI, overlay
from shared.contracts.layout import PageLayout

KEPT = 16
GREATEST_LOSS = 0.002
"""Share of missed characters from which a page is a bad one before any class is looked at."""


class _Page(NamedTuple):
    badness: float
    name: str
    made: Made
    number: int
    layout: PageLayout
    tally: Tally


class Worst:
    """Keeps the worst pages, at most two of a template and kind, so that no template hides the others."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._pages: list[_Page] = []

    def add(self, made: Made, number: int, layout: PageLayout, tally: Tally) -> None:
        """Look at a page."""
        lost = 1 - tally.covered / tally.characters if tally.characters else 0.0
        seals = tally.seals_false + tally.seals - tally.seals_found
        badness = (
            seals + (tally.tables - tally.tables_found) * 0.2 + min(1.0, lost / GREATEST_LOSS) * 0.5 + 1 - tally.f1
        )
        self._pages.append(_Page(badness, f"{made.truth.name} page {number}", made, number, layout, tally))
        self._pages = self._worst()

    def _worst(self) -> list[_Page]:
        kept: list[_Page] = []
        for page in sorted(self._pages, key=lambda page: (-page.badness, page.name)):
            kind = (page.made.truth.template, page.made.truth.name.endswith("_scan"))
            same = sum((p.made.truth.template, p.made.truth.name.endswith("_scan")) == kind for p in kept)
            if same < 2 and page.badness > 0:
                kept.append(page)
        return kept

    def write(self) -> list[str]:
        """A line for each page that is kept; their pictures, where there is a folder for them."""
        lines = []
        for page in self._pages[:KEPT]:
            tally = page.tally
            wrong = ", ".join(f"{name} {count}" for name, count in tally.confused.most_common(3))
            lines.append(
                f"  {page.name}: {tally.characters - tally.covered} of {tally.characters} characters missed, F1 {tally.f1:.2f}, "
                f"tables {tally.tables_found}/{tally.tables}, seals {tally.seals_found}/{tally.seals} false {tally.seals_false}; {wrong}"
            )
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            for page in self._pages:
                self._picture(page).save(self._folder / f"{page.name.replace(' page ', '_p')}.png")
        return lines

    def _picture(self, page: _Page) -> Image.Image:
        left = overlay(page.made.pdf, page.number, page.made.truth.pages[page.number - 1])
        bare = page.made.truth.pages[page.number - 1]
        empty = type(bare)(w=bare.w, h=bare.h, kind=bare.kind, columns=bare.columns, elements=[])
        right = overlay(page.made.pdf, page.number, empty)
        draw, scale = ImageDraw.Draw(right), DPI / 72
        for region in page.layout.regions:
            for line in region.lines:
                draw.rectangle([value * scale for value in line.bbox], outline="#80c0ff")
            box = [value * scale for value in region.bbox]
            colour = COLOURS.get(region.label, "#000000")
            draw.rectangle(box, outline=colour, width=2)
            draw.text((box[0] + 1, box[1] - 10), f"{region.label} {region.found_by} {region.read_by}", fill=colour)
        both = Image.new("RGB", (left.width + right.width + 6, left.height), "#000000")
        both.paste(left, (0, 0))
        both.paste(right, (left.width + 6, 0))
        return both
