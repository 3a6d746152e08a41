"""Synthetic readings: the text of a line is a hash of the picture it stands in and of its place."""

from __future__ import annotations

import hashlib
import time

from services.rec_worker.call import PageRead, PageToRead
from shared.children.block import Block
from shared.contracts.document import ModelRef
from shared.contracts.layout import ReadLine, Region, RegionReading

MODEL = ModelRef(stage="rec", name="synthetic-reader", version="1")
SECONDS = 0.03
"""A call takes as long as this, without work: something has to be in flight when a process dies."""


class Reader:
    """Answers by the picture it is given."""

    def read(self, argument: PageToRead, blocks: list[Block]) -> tuple[PageRead, list[Block]]:
        time.sleep(SECONDS)
        pixels = hashlib.sha256(blocks[0].tobytes() if blocks else b"").digest()
        regions = [self._read(region, pixels) for region in argument.regions]
        return PageRead(regions=regions, models=[MODEL]), []

    def _read(self, region: Region, pixels: bytes) -> RegionReading:
        boxes = [line.bbox for line in region.lines] or [region.bbox]
        lines = [
            ReadLine(bbox=list(box), text=_words(pixels, region.region_id, number), confidence=0.99)
            for number, box in enumerate(boxes)
        ]
        return RegionReading(
            region_id=region.region_id, method="det_rec", model="synthetic-reader@1", confidence=0.99, lines=lines
        )


def _words(pixels: bytes, region: str, number: int) -> str:
    text = hashlib.sha256(pixels + f"{region}/{number}".encode()).hexdigest()
    return f"Synthetic {text[:6]} {text[6:12]}"


def create(settings: object) -> Reader:
    """The factory that `shared.children` calls."""
    return Reader()
