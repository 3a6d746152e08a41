"""Pages of all shapes for the rec_worker, and what its processes hold in memory while it reads them.

Each page has another size, and lines of other widths and heights, so that an engine meets every input shape it can meet; some regions come
without lines (line detection runs here), some are tables and seals. The text is drawn by OpenCV: what is read does not matter.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from services.rec_worker.service import RecWorker
from shared.contracts.codec import encode, sha256
from shared.contracts.document import Label
from shared.contracts.layout import PageLayout, Region, TextLine
from shared.contracts.records import RecTask
from shared.objects import keys
from shared.settings import Settings
from tests.support.deliveries import delivered

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,"
AT_ONCE = 16
"""Pages under way, as many as the stage admits."""


class Page(NamedTuple):
    layout: PageLayout
    jpeg: bytes


def page(number: int, *, lines: int = 5) -> Page:
    """Page `number` (the same at every call), about `lines` lines of text."""
    import cv2  # not by the process that is measured: a worker has neither
    import numpy as np

    rng = random.Random(number)
    width, height = rng.randint(400, 2_400), rng.randint(300, 2_400)
    picture = np.full((height, width, 3), 255, dtype=np.uint8)
    regions: list[Region] = []
    top = 10
    for index in range(lines):
        tall = rng.choice([14, 20, 28, 40])
        if top + 3 * tall > height:
            break
        label: Label = "text"
        if number % 10 == 3 and index == 0:
            label = "table"
        elif number % 20 == 7 and index == 0:
            label = "seal"
        text = "".join(rng.choice(_LETTERS) for _ in range(rng.randint(2, 120)))
        scale = tall / 30
        end = min(width - 5, 10 + cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, scale, 1)[0][0])
        cv2.putText(picture, text, (10, top + tall), cv2.FONT_HERSHEY_SIMPLEX, scale, (0, 0, 0), 1)
        box = [5.0, float(top), float(end), float(top + 1.4 * tall)]
        known = index > 0 or number % 5 != 0
        regions.append(
            Region(
                region_id=f"p{number + 1:05d}-r{index:03d}",
                label=label,
                raw_label=label,
                bbox=box,
                confidence=1.0,
                found_by="model",
                read_by="rec",
                lines=[TextLine(bbox=box)] if known else [],
            )
        )
        top += 2 * tall
    jpeg = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 85])[1].tobytes()
    layout = PageLayout(
        document_id=f"mixed-{number // 10}",
        generation=0,
        page_no=number + 1,
        width=width,
        height=height,
        unit="px",
        kind="scanned",
        picture_key=keys.picture(f"mixed-{number // 10}", 0, number + 1),
        regions=regions,
    )
    return Page(layout, jpeg)


class Memory(NamedTuple):
    """After so many pages: resident bytes of the worker's process and of each of its children."""

    pages: int
    worker: int
    children: tuple[int, ...]

    @property
    def total(self) -> int:
        return self.worker + sum(self.children)

    @property
    def engine(self) -> int:
        """Of the largest child, which is the engine's."""
        return max(self.children, default=0)


async def read(
    settings: Settings, pages: int, *, every: int, lines: int = 5, seen: Callable[[Memory], None] | None = None
) -> list[Memory]:
    """Read `pages` pages with a rec_worker and its children, and look at their memory after each `every` of them.

    The pages are drawn by a process of its own, which is not counted: what is measured is what a worker holds.
    """
    stage = RecWorker(settings)
    bucket = settings.objects.bucket
    places = asyncio.Semaphore(AT_ONCE)
    looks: list[Memory] = []

    async def one(number: int) -> None:
        async with places:
            made = await asyncio.get_running_loop().run_in_executor(drawing, partial(page, number, lines=lines))
            layout = encode(made.layout)
            document, page_no = made.layout.document_id, made.layout.page_no
            await stage._store.put_once(bucket, keys.layout(document, 0, page_no), layout)
            await stage._store.put_once(bucket, keys.picture(document, 0, page_no), made.jpeg, "image/jpeg")
            task = RecTask(
                document_id=document, generation=0, page_no=page_no, task_id="rec", layout_sha256=sha256(layout)
            )
            await stage.process(delivered(task))

    drawing = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
    await asyncio.get_running_loop().run_in_executor(drawing, os.getpid)
    others = set(_kids())
    await stage.start()
    try:
        for begin in range(0, pages, every):
            await asyncio.gather(*(one(number) for number in range(begin, min(pages, begin + every))))
            looks.append(_memory(min(pages, begin + every), others))
            if seen is not None:
                seen(looks[-1])
    finally:
        await stage.stop()
        drawing.shutdown()
    return looks


def _kids() -> list[int]:
    me = os.getpid()
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and _parent(int(name)) == me]


def _memory(pages: int, others: set[int]) -> Memory:
    children = sorted((_resident(pid) for pid in set(_kids()) - others), reverse=True)
    return Memory(pages, _resident(os.getpid()), tuple(children))


def _parent(pid: int) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return None


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
