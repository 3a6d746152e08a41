"""Proves that a task is lost. Waiting never counts: a task in a queue, however long, is not lost.

A document of which nothing was heard for `join.stall_s` is suspected: `StallSuspected` goes through `docs.results` behind everything that
was sent before it, so that a join that is itself behind suspects nothing it has not read yet. What the document still waits for
when it is handled is watched. A watch follows the way an answer can take: it notes the ends of a topic's partitions, waits until the stage's
commits have passed them (a stage commits only what it has answered, durably), and goes on to the next topic of the way. At the end of
the way every answer lies in `docs.results`, so `StallProven`, sent there now, is handled after it; a task that is still awaited at that
moment is lost.

Pure: time, ends and commits are passed in. Nothing here outlives the process: a proof that is interrupted begins anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import msgspec

from services.assembler.join.lost import Awaited
from shared.contracts.records import StallProven, StallSuspected
from shared.streams.stage import Emit

Partition: TypeAlias = tuple[str, int]
"""Topic (of either lane) and partition."""

LOOK_S = 2.0
"""Seconds between two looks at the stages' offsets while something is suspected."""

WAYS: Mapping[str, tuple[str, ...]] = {
    "layout": ("docs.pages",),
    # The task itself is sent while its page is laid out, and again should that be done twice.
    "rec": ("docs.pages", "docs.rec"),
    # What a vision-language model cannot read becomes a task of the recogniser.
    "vl": ("docs.pages", "docs.vl", "docs.rec"),
    "compose": ("docs.compose",),
}
"""Topics that an answer may have to pass, in order, by the stage that the task is for."""


class Offsets(msgspec.Struct, frozen=True):
    """What the broker says of a topic, both lanes: the offset after the last record, and what its stage has committed (nothing is 0)."""

    ends: dict[Partition, int]
    committed: dict[Partition, int]


class _Watch(msgspec.Struct):
    """Tasks of one document with one way. `noted` is none until ends were taken that are younger than the arrival at this step."""

    document_id: str
    generation: int
    tasks: dict[str, Awaited]
    way: tuple[str, ...]
    appended: int
    step: int = 0
    noted: dict[Partition, int] | None = None
    asked: int | None = None


class Proofs:
    """Invariant: a watch has noted only ends that were asked for after it came to the topic, and after our own appends of its tasks."""

    def __init__(self, stall_s: float) -> None:
        self._stall_s = stall_s
        self._heard: dict[str, tuple[float, int]] = {}
        self._suspected: set[str] = set()
        self._watches: dict[str, list[_Watch]] = {}
        self._asked = 0

    def __len__(self) -> int:
        """Documents under watch."""
        return len(self._watches)

    def heard(self, document_id: str, generation: int, now: float) -> None:
        """An open document had an event, at `now` seconds (of any clock that only `due` shares)."""
        self._heard[document_id] = now, generation

    def forget(self, document_id: str) -> None:
        """The document has ended."""
        self._heard.pop(document_id, None)
        self._suspected.discard(document_id)
        self._watches.pop(document_id, None)

    def clear(self) -> None:
        """Partitions moved: what is ours still or anew is heard of again."""
        self._heard.clear()
        self._suspected.clear()
        self._watches.clear()

    def due(self, now: float) -> list[Emit]:
        """Suspicions that are to be sent."""
        emits = []
        for name, (at, generation) in self._heard.items():
            if now - at < self._stall_s or name in self._suspected or name in self._watches:
                continue
            self._suspected.add(name)
            emits.append(Emit("docs.results", name, StallSuspected(document_id=name, generation=generation)))
        return emits

    def watch(self, document_id: str, generation: int, tasks: Iterable[Awaited], appended: int) -> None:
        """The suspicion came back. `appended` is the position of our own appends: they must be acknowledged before ends count."""
        self._suspected.discard(document_id)
        by_way: dict[tuple[str, ...], dict[str, Awaited]] = {}
        for task in tasks:
            by_way.setdefault(WAYS[task.stage], {})[task.task_id] = task
        watches = [_Watch(document_id, generation, found, way, appended) for way, found in by_way.items()]
        if watches:
            self._watches[document_id] = watches

    def answered(self, document_id: str, task_id: str) -> None:
        """A task had its answer: nothing is to be proven of it. What waited in a queue leaves its watch this way."""
        for watch in self._watches.get(document_id, ()):
            watch.tasks.pop(task_id, None)

    def ask(self, settled: int) -> set[str]:
        """Topics whose offsets are to be looked up now, for `take`. `settled`: appends that are acknowledged."""
        self._asked += 1
        topics = set()
        for watches in self._watches.values():
            for watch in watches:
                if watch.appended <= settled:
                    watch.asked = self._asked
                    topics.add(watch.way[watch.step])
        return topics

    def take(self, found: Mapping[str, Offsets]) -> list[Emit]:
        """Offsets that were looked up since the last `ask`; proofs that are complete with them."""
        emits: list[Emit] = []
        for name, watches in list(self._watches.items()):
            for watch in list(watches):
                if watch.asked == self._asked and (offsets := found.get(watch.way[watch.step])) is not None:
                    _move(watch, offsets)
                if watch.step == len(watch.way) or not watch.tasks:
                    watches.remove(watch)
                    emits += _proven(watch)
            if not watches:
                del self._watches[name]
        return emits


def _move(watch: _Watch, offsets: Offsets) -> None:
    if watch.noted is None:
        watch.noted = offsets.ends
    if all(offsets.committed.get(place, 0) >= end for place, end in watch.noted.items()):
        # The next topic's ends are asked for later: what these commits stand for was appended before.
        watch.step, watch.noted, watch.asked = watch.step + 1, None, None


def _proven(watch: _Watch) -> list[Emit]:
    return [
        Emit(
            "docs.results",
            watch.document_id,
            StallProven(
                document_id=watch.document_id,
                generation=watch.generation,
                task_id=task.task_id,
                attempt=task.attempt,
                pages=list(task.pages),
            ),
        )
        for task in watch.tasks.values()
    ]
