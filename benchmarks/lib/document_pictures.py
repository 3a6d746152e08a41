"""The worst documents of a run, as names with their faults and, if wanted, as pictures: truth on the left, blocks in their order on the right."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageDraw

from benchmarks.lib.document_tally import Tally
from samples.generator import Made
from samples.generator.show import COLORS, DPI, OTHER, overlay
from shared.contracts.document import Block, ParsedDocument

KEPT = 16
OF_A_KIND = 2
FAULTS = 12
"""Faults that are named of each."""


class _Bad(NamedTuple):
    badness: float
    made: Made
    document: ParsedDocument
    tally: Tally


class Worst:
    """Keeps the worst documents, at most two of a template and kind, so that no template hides the others."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._all: list[_Bad] = []

    def add(self, made: Made, document: ParsedDocument, tally: Tally) -> None:
        """Look at a document."""
        lost = sum(1 - share for share in (tally.headings.f1, tally.furniture.f1, tally.cells.f1) if share is not None)
        badness = lost + 10 * (tally.cer or 0.0) + (1 - (tally.order or 0.0) if tally.elements else 0.0)
        self._all.append(_Bad(badness, made, document, tally))
        kept: list[_Bad] = []
        for bad in sorted(self._all, key=lambda bad: (-bad.badness, bad.made.truth.name)):
            kind = bad.made.truth.name.split("_", 1)[1].partition("_")[0], bad.made.truth.name.endswith("_scan")
            same = sum(
                (b.made.truth.name.split("_", 1)[1].partition("_")[0], b.made.truth.name.endswith("_scan")) == kind
                for b in kept
            )
            if same < OF_A_KIND and bad.badness > 0:
                kept.append(bad)
        self._all = kept

    def write(self) -> list[str]:
        """Lines for each document that is kept; its pages as pictures, where there is a folder for them."""
        lines = []
        for bad in self._all[:KEPT]:
            lines.append(f"  {bad.made.truth.name}: badness {bad.badness:.2f}")
            lines += [f"      {fault}" for fault, _ in bad.tally.faults.most_common(FAULTS)]
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            for bad in self._all[:KEPT]:
                for number in range(1, len(bad.made.truth.pages) + 1):
                    _picture(bad, number).save(self._folder / f"{bad.made.truth.name}_p{number}.png")
        return lines


def _picture(bad: _Bad, number: int) -> Image.Image:
    truth = bad.made.truth.pages[number - 1]
    left = overlay(bad.made.pdf, number, truth)
    right = overlay(bad.made.pdf, number, type(truth)(w=truth.w, h=truth.h, kind=truth.kind, columns=1, elements=[]))
    draw, scale = ImageDraw.Draw(right), DPI / 72
    for block in bad.document.blocks:
        for place in block.prov:
            if place.page_no == number and place.bbox is not None:
                box = [value * scale for value in place.bbox]
                colour = COLORS.get(block.label, OTHER)
                draw.rectangle(box, outline=colour, width=2)
                draw.text((box[0] + 1, box[1] - 10), _name(block), fill=colour)
    both = Image.new("RGB", (left.width + right.width + 6, left.height), "#000000")
    both.paste(left, (0, 0))
    both.paste(right, (left.width + 6, 0))
    return both


def _name(block: Block) -> str:
    level = "" if block.level is None else f" {block.level}"
    return f"{block.order} {block.label}{level}{'' if block.content_layer == 'body' else ' ' + block.content_layer}"
