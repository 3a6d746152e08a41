"""When an offset may be committed, and what the commit says about the records beyond it.

The rule: a commit names the first offset that is not completed (the contiguous prefix). What was completed beyond it, and what was in
flight, travels as the commit's metadata, so that whoever continues neither repeats the first nor trusts the second:

    position          head
       v               v
    ...|f c c . f c . c|      c completed  f in flight  . only polled

The metadata is a map of two bits an offset from the position on (waiting, completed, in flight, died alone once), so `WINDOW`
offsets take 633 characters at most and nothing is ever cut: a record further ahead than `WINDOW` is not admitted until the
prefix has moved. The order of the offsets *seen* counts, not arithmetic on them: compaction and transaction markers leave gaps.

An unclean death shows in the metadata: the mark `clean` is set only by a drain. The records it names as in flight, and the
first `probation` ones that were not completed (admissions since the last commit are not named), are suspects and run
alone; `alone` is the record that ran alone when the metadata was written, so that a death can be laid at its door.
"""

from __future__ import annotations

import base64
import zlib
from collections import deque
from collections.abc import Set

import msgspec

WINDOW = 2_000
"""Offsets ahead of the position beyond which nothing is admitted."""
MAX_METADATA = 3_000
"""Characters of metadata that a broker surely keeps (its default limit is 4,096)."""
PROBATION = 8
"""Records of a partition, beside those that its metadata names, that run alone after an unclean death, at most. While one runs alone the
process works on nothing else, so that a stage with hundreds in flight would read its backlog one by one. A guilty record that stands
further back kills again, and stands so much nearer to the front the next time."""
FATAL_DEATHS = 2
"""Deaths alone that convict a record."""

_VERSION = "df1:"
_WAITING, _COMPLETED, _IN_FLIGHT, _DIED = range(4)


class Progress(msgspec.Struct, frozen=True):
    """What commit metadata says about offsets from the committed one on."""

    completed: frozenset[int] = frozenset()
    in_flight: frozenset[int] = frozenset()
    died: frozenset[int] = frozenset()
    """Died alone once, and are not in flight now."""
    alone: int | None = None
    """The offset that is about to run alone."""
    alone_deaths: int = 0
    """How often `alone` had died alone before."""
    clean: bool = True
    """Written by a drain: no death followed."""


def encode(position: int, progress: Progress) -> str:
    """Metadata of a commit at `position`. All offsets must lie within `WINDOW` from it; raises `ValueError` otherwise."""
    states = bytearray((WINDOW + 3) // 4)
    for state, offsets in (
        (_COMPLETED, progress.completed),
        (_IN_FLIGHT, progress.in_flight),
        (_DIED, progress.died),
    ):
        for offset in offsets:
            at = offset - position
            if not 0 <= at < WINDOW:
                raise ValueError(f"offset {offset} is not within {WINDOW} of {position}")
            states[at // 4] |= state << (at % 4 * 2)
    alone = 0 if progress.alone is None else progress.alone - position + 1
    head = bytes([progress.clean, progress.alone_deaths]) + alone.to_bytes(2, "big")
    return _VERSION + base64.b85encode(head + _packed(bytes(states).rstrip(b"\0"))).decode()


def decode(position: int, metadata: str | None) -> Progress:
    """What metadata of a commit at `position` says. Metadata of another origin (none, a tool's) says nothing, and no death."""
    if not metadata or not metadata.startswith(_VERSION):
        return Progress()
    try:
        data = base64.b85decode(metadata[len(_VERSION) :])
        if len(data) <= 4:
            return Progress()
        states = _unpacked(data[4:])
    except (ValueError, zlib.error):
        return Progress()
    found: tuple[set[int], ...] = (set(), set(), set(), set())
    for index, byte in enumerate(states):
        for slot in range(4):
            found[byte >> (slot * 2) & 3].add(position + index * 4 + slot)
    alone = int.from_bytes(data[2:4], "big")
    return Progress(
        completed=frozenset(found[_COMPLETED]),
        in_flight=frozenset(found[_IN_FLIGHT]),
        died=frozenset(found[_DIED]),
        alone=position + alone - 1 if alone else None,
        alone_deaths=data[1],
        clean=bool(data[0]),
    )


def _packed(states: bytes) -> bytes:
    squeezed = zlib.compress(states, 6)
    return b"z" + squeezed if len(squeezed) < len(states) else b"r" + states


def _unpacked(data: bytes) -> bytes:
    if data[:1] == b"z":
        return zlib.decompressobj().decompress(data[1:], WINDOW)
    return data[1:]


class OffsetTracker:
    """The records of one partition during one assignment.

    Invariant: `position` is never beyond an offset that was seen and not completed, and what `state` says of an offset was
    true when it was called. Life of an offset: `add` (polled), `start` (in flight), then `complete`, or `abandon` (waiting again).
    """

    def __init__(self, position: int, metadata: str | None = None, probation: int = 0) -> None:
        """Continue at a committed offset. `probation`: how many records may have been in flight when a predecessor died."""
        before = decode(position, metadata)
        self._next = position
        self._seen: deque[int] = deque()
        self._completed: set[int] = set()
        self._restored = set(before.completed)
        self._in_flight: set[int] = set()
        self._deaths = dict.fromkeys(before.died, 1)
        if before.alone is not None and before.alone not in before.completed:
            self._deaths[before.alone] = before.alone_deaths + (not before.clean)
        self._suspects = set(before.in_flight) | set(self._deaths)
        self._probation = 0 if before.clean else probation
        self._alone: int | None = None

    @property
    def position(self) -> int:
        """The offset to commit."""
        return self._seen[0] if self._seen else self._next

    @property
    def in_flight(self) -> Set[int]:
        """Offsets being worked on."""
        return self._in_flight

    def add(self, offset: int) -> bool:
        """Note a polled record. False: it is done already (an earlier assignment completed it), or was polled before."""
        if offset < self._next:
            return False
        self._next = offset + 1
        if offset in self._restored:
            self._restored.discard(offset)
            # Before the first incomplete offset there is nothing to remember about it.
            if self._seen:
                self._seen.append(offset)
                self._completed.add(offset)
            return False
        self._seen.append(offset)
        if self._probation > 0:
            self._probation -= 1
            self._suspects.add(offset)
        return True

    def admissible(self, offset: int) -> bool:
        """Whether a polled record may be started: it is within the window that the metadata can describe."""
        return offset - self.position < WINDOW

    def start(self, offset: int) -> None:
        """The record is worked on from now on. The caller asked `admissible` before."""
        self._in_flight.add(offset)

    def abandon(self, offset: int) -> None:
        """The record is not worked on any more and not completed."""
        self._in_flight.discard(offset)
        self._ended_alone(offset)

    def complete(self, offset: int) -> None:
        """All that the record asks for is durable."""
        self._in_flight.discard(offset)
        self._suspects.discard(offset)
        self._deaths.pop(offset, None)
        self._ended_alone(offset)
        self._completed.add(offset)
        while self._seen and self._seen[0] in self._completed:
            self._completed.discard(self._seen.popleft())

    def suspect(self, offset: int) -> bool:
        """Whether the record has to run alone: it was, or may have been, in flight at a death."""
        return offset in self._suspects

    def accuse(self, offset: int) -> None:
        """The record was in flight at a death of its child."""
        self._suspects.add(offset)

    def deaths(self, offset: int) -> int:
        """How often the record died alone."""
        return self._deaths.get(offset, 0)

    def died_alone(self, offset: int) -> int:
        """The record's child died while it ran alone; returns how often that has happened now."""
        self._suspects.add(offset)
        self._deaths[offset] = self._deaths.get(offset, 0) + 1
        return self._deaths[offset]

    def run_alone(self, offset: int) -> None:
        """Name the record in the metadata as the one that runs alone, until it is completed or abandoned."""
        self._alone = offset

    def _ended_alone(self, offset: int) -> None:
        if self._alone == offset:
            self._alone = None

    def state(self, clean: bool = False) -> tuple[int, str]:
        """Offset and metadata of a commit now. `clean`: by a drain; then suspects that still wait are named as such."""
        position = self.position
        named = self._in_flight | (self._suspects if clean else set())
        completed = {offset for offset in self._completed | self._restored if offset >= position}
        died = {offset for offset, deaths in self._deaths.items() if deaths and offset != self._alone} - completed
        in_flight = named - completed - died
        progress = Progress(
            completed=frozenset(completed),
            in_flight=frozenset(offset for offset in in_flight if 0 <= offset - position < WINDOW),
            died=frozenset(offset for offset in died if 0 <= offset - position < WINDOW),
            alone=self._alone,
            alone_deaths=self._deaths.get(self._alone, 0) if self._alone is not None else 0,
            clean=clean,
        )
        return position, encode(position, progress)
