"""The engine's side of reading: crops of all calls that wait meet here, and the streams of the engine take them in batches.

A call hands in its crops and waits for the futures; it knows nothing of batches. Each stream is one thread that asks the
batcher for the batch that should go now. A batch on which the engine fails comes again crop by crop, so that only the crop
to blame fails; a crop that fails alone fails its future, and the call that owns it gives it a name.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from services.rec_worker.batcher import Batch, Batcher, Item
from services.rec_worker.call import BatchFact
from services.rec_worker.crops import Pixels
from shared.children import progress
from shared.contracts.options import Lane
from shared.engines.engine import BatchProfile

MAX_FACTS = 10_000
"""Facts kept until a call takes them along; a call takes all there are, so this bounds a child nobody asks."""


class Text(NamedTuple):
    """What a crop says; confidence 0..1, 0 where there is no text."""

    text: str
    confidence: float


class BatchReader(Protocol):
    """What reads: the part of `shared.models.reader.Reader` that is needed here."""

    def read(self, crops: Sequence[Pixels], bucket: int) -> Sequence[tuple[str, float]]:
        """Texts and confidences of crops at the model's height, each padded to `bucket`. Blocks; called by several threads."""
        ...


class _Crop(NamedTuple):
    pixels: Pixels
    future: Future[Text]
    trace: str | None = None


class Inference:
    """Reads crops in batches on `streams` threads. Thread safe.

    Invariant: every future handed out is fulfilled, by a text, by the engine's error, or at `close`.
    """

    def __init__(
        self,
        reader: BatchReader,
        profile: BatchProfile,
        *,
        streams: int,
        linger_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader = reader
        self._clock = clock
        self._batcher: Batcher[_Crop] = Batcher(profile, linger_s=linger_s)
        self._changed = threading.Condition()
        self._cutting = 0
        self._coming = 0
        self._closing = False
        self._facts: deque[BatchFact] = deque(maxlen=MAX_FACTS)
        self._threads = [
            threading.Thread(target=self._stream, name=f"stream-{number}", daemon=True) for number in range(streams)
        ]
        for thread in self._threads:
            thread.start()

    def bucket(self, width: int) -> int:
        """The padded width of a crop."""
        return self._batcher.profile.bucket(width)

    @contextmanager
    def cutting(self, coming: int = 0) -> Iterator[None]:
        """While it lasts, this call may hand in more crops; `coming` is how many other pages are on their way to this process.

        A batch that is not full lingers only for such reasons. `coming` is out of date at once; lingering bounds what that costs.
        """
        with self._changed:
            self._cutting += 1
            self._coming = coming
        try:
            yield
        finally:
            with self._changed:
                self._cutting -= 1
                self._changed.notify_all()

    def submit(
        self,
        pixels: Pixels,
        *,
        document: str,
        lane: Lane = "first",
        due: float | None = None,
        trace: str | None = None,
    ) -> Future[Text]:
        """Hand in a crop at the model's height. `due` is a time of the clock from which it must not linger; `trace` is told in the
        facts of its batch."""
        future: Future[Text] = Future()
        item = Item(self.bucket(pixels.shape[1]), _Crop(pixels, future, trace), document, lane, due)
        with self._changed:
            if self._closing:
                future.set_exception(RuntimeError("the reader is closed"))
                return future
            self._batcher.add([item], self._clock())
            self._changed.notify()
        return future

    def facts(self) -> list[BatchFact]:
        """The batches since the last time somebody asked; each is given once."""
        with self._changed:
            facts = list(self._facts)
            self._facts.clear()
        return facts

    def close(self) -> None:
        """Read what waits, then end the threads."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _stream(self) -> None:
        while (batch := self._next()) is not None:
            self._run(batch)

    def _next(self) -> Batch[_Crop] | None:
        with self._changed:
            while True:
                upstream = self._cutting > 0 or self._coming > 0
                now = self._clock()
                batch = self._batcher.take(now, upstream=upstream, drain=self._closing)
                if batch is not None or self._closing:
                    return batch
                self._changed.wait(self._batcher.wait(now, upstream=upstream))

    def _run(self, batch: Batch[_Crop]) -> None:
        crops = [item.payload for item in batch.items]
        started = time.perf_counter()
        failure: Exception | None = None
        texts: Sequence[tuple[str, float]] = ()
        try:
            texts = self._reader.read([crop.pixels for crop in crops], batch.bucket)
            if len(texts) != len(crops):
                raise RuntimeError(f"the reader gave {len(texts)} texts for {len(crops)} crops")
        except Exception as error:
            failure = error
        fact = BatchFact(
            bucket=batch.bucket,
            items=len(crops),
            room=batch.room,
            documents=batch.documents,
            width=sum(crop.pixels.shape[1] for crop in crops),
            flush=batch.reason,
            seconds=time.perf_counter() - started,
            failed=failure is not None,
            ended_at=time.time(),
            traces=list(dict.fromkeys(crop.trace for crop in crops if crop.trace is not None)),
        )
        progress.report()
        with self._changed:
            self._facts.append(fact)
            if failure is not None and len(crops) > 1:
                self._batcher.retry(batch)
                self._changed.notify_all()
                return
        for number, crop in enumerate(crops):
            if failure is not None:
                crop.future.set_exception(failure)
            else:
                crop.future.set_result(Text(*texts[number]))
