"""What runs in the engine child of the rec_worker: the networks, the batches, and one method, `read`.

Several calls run at once (the parent says how many), each in a thread of its own that cuts, waits and puts together; the
streams of the engine are threads of `Inference`. The reader is opened and warmed at the start; what few pages need is opened
when the first of them comes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

import cv2
import msgspec

from services.rec_worker.cache import CropCache
from services.rec_worker.call import PageRead, PageToRead
from services.rec_worker.cascade import Cascade
from services.rec_worker.crops import Pixels
from services.rec_worker.inference import Inference
from services.rec_worker.page import PageReading, Tools
from services.rec_worker.read import LineReader, Ticket
from shared.children.block import Block
from shared.engines.open import on_npu, open_engine
from shared.models.lines import LineDetector
from shared.models.reader import DRAFT, SQUEEZE, Reader
from shared.models.seal import SealDetector
from shared.models.table import TableStructure

if TYPE_CHECKING:
    from shared.settings import Settings

T = TypeVar("T")


class RecProgram:
    """Reads pages. Its public method is called by several threads."""

    def __init__(self, settings: Settings) -> None:
        cv2.setNumThreads(1)  # calls are threads already; OpenCV's own would fight with the streams for the cores
        engine = open_engine(settings.engines)
        reader = Reader(engine, settings)
        floor = settings.rec.draft_confidence
        cascade = Cascade(reader, Reader(engine, settings, DRAFT) if floor > 0 else None, floor)
        self._cascade = cascade
        cascade.warm()
        linger = settings.rec.linger_ms
        self._inference = Inference(
            cascade,
            engine.profile,
            streams=engine.streams,
            linger_s=None if linger is None else linger / 1000.0,
        )
        ref = cascade.ref
        self._tools = Tools(
            lines=LineReader(
                self._inference,
                CropCache(settings.rec.crop_cache),
                model=f"{ref.name}@{ref.version}#{ref.sha256}/{engine.name}/{engine.precision}",
                height=reader.height,
                squeeze=SQUEEZE,
                low_confidence=settings.rec.low_confidence,
            ),
            reader=ref,
            detector=_Once(lambda: LineDetector(engine, settings)),
            structure=_Once(lambda: TableStructure(engine, settings)),
            seals=_Once(lambda: SealDetector(engine, settings)),
            low_confidence=settings.rec.low_confidence,
        )
        if on_npu(settings.engines):
            for tool in (self._tools.detector, self._tools.structure, self._tools.seals):
                tool()

    def read(self, argument: PageToRead, blocks: list[Block]) -> tuple[PageRead, list[Block]]:
        """Read regions of a page. Block: the page's picture, uint8 RGB."""
        picture: Pixels | None = None
        if argument.picture is not None:
            width, height = argument.picture
            picture = blocks[0].array((height, width, 3))
        due = None if argument.due_in_s is None else time.monotonic() + argument.due_in_s
        ticket = Ticket(argument.document_id, argument.lane, due, argument.coming, argument.trace)
        answer = PageReading(argument, picture, self._tools, ticket).read()
        return msgspec.structs.replace(answer, facts=self._inference.facts(), looks=self._cascade.looks()), []


class _Once(Generic[T]):
    """Something that is made when it is first asked for, once, whoever asks."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: T | None = None

    def __call__(self) -> T:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made


def create(settings: Settings) -> RecProgram:
    """The factory the child process calls."""
    return RecProgram(settings)
