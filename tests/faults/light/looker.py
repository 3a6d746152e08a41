"""Synthetic layout: a page has a text of three lines in its upper half and, where its lower half is dark, a table."""

from __future__ import annotations

import time

from services.layout_worker.found import CompareRequest, Comparison, FoundBox, FoundLine, Lines, LinesRequest, Look
from services.layout_worker.found import LookRequest as Request
from shared.children.block import Block
from shared.contracts.document import ModelRef

MODEL = ModelRef(stage="layout", name="synthetic-layout", version="1")
SECONDS = 0.02
"""A call takes as long as this, without work: something has to be in flight when a process dies."""
TEXT = (0.1, 0.1, 0.9, 0.4)
TABLE = (0.1, 0.55, 0.9, 0.9)


class Looker:
    """Answers by the picture it is given."""

    def look(self, request: Request, blocks: list[Block]) -> tuple[Look, list[Block]]:
        time.sleep(SECONDS)
        boxes = [self._box("text", TEXT, request.width, request.height)]
        picture = blocks[0].array((request.height, request.width, 3))
        if int(picture[request.height * 3 // 4, request.width // 2].max()) < 128:
            boxes.append(self._box("table", TABLE, request.width, request.height))
        return Look(boxes=boxes, seals=[], ink=0.1, models=[MODEL]), []

    def lines(self, request: LinesRequest, blocks: list[Block]) -> tuple[Lines, list[Block]]:
        time.sleep(SECONDS)
        if request.parts:
            return Lines(lines=[], models=[MODEL]), []
        x0, y0, x1, y1 = self._scaled(TEXT, request.width, request.height)
        third = (y1 - y0) / 3
        found = []
        for number in range(3):
            top, below = y0 + number * third, y0 + (number + 0.7) * third
            found.append(FoundLine(quad=[x0, top, x1, top, x1, below, x0, below], score=0.9))
        return Lines(lines=found, models=[MODEL]), []

    def compare(self, request: CompareRequest, blocks: list[Block]) -> tuple[Comparison, list[Block]]:
        return Comparison(similarities=[1.0] * len(request.samples), model=MODEL), []

    def _box(self, label: str, share: tuple[float, ...], width: int, height: int) -> FoundBox:
        return FoundBox(label=label, raw_label=label, bbox=self._scaled(share, width, height), score=0.95)  # type: ignore[arg-type]

    def _scaled(self, share: tuple[float, ...], width: int, height: int) -> list[float]:
        return [share[0] * width, share[1] * height, share[2] * width, share[3] * height]


def create(settings: object) -> Looker:
    """The factory that `shared.children` calls."""
    return Looker()
