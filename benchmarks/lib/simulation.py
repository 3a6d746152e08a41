"""Messages through a batching policy into an engine, in simulated time: nothing here sleeps, and the same input gives the same figures.

The policy is either the rec_worker's own `Batcher` (`Across`) or what is done without one: each line alone (`Alone`), or each message's
lines together (`PerMessage`). The engine is a number of streams and a cost per call.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from benchmarks.lib.mixes import Message
from services.rec_worker.batcher import Batcher, Item
from shared.engines.engine import BatchProfile


class Crop(NamedTuple):
    message: int
    width: int
    arrived: float
    idle_before: float
    """Seconds, so far, in which a stream of the engine was free."""


class Call(NamedTuple):
    """What goes through the engine together."""

    crops: tuple[Crop, ...]
    bucket: int
    room: int


class Policy(Protocol):
    def add(self, crops: Sequence[Crop], now: float) -> None: ...

    def take(self, now: float, upstream: bool) -> Call | None: ...

    def wait(self, now: float, upstream: bool) -> float | None:
        """Seconds until `take` gives something; none while nothing waits."""
        ...


class Across:
    """The rec_worker's batcher: crops of all messages meet, each padded to its own bucket."""

    def __init__(self, profile: BatchProfile, linger_s: float) -> None:
        self._batcher: Batcher[Crop] = Batcher(profile, linger_s=linger_s)

    def add(self, crops: Sequence[Crop], now: float) -> None:
        bucket = self._batcher.profile.bucket
        self._batcher.add([Item(bucket(crop.width), crop, str(crop.message)) for crop in crops], now)

    def take(self, now: float, upstream: bool) -> Call | None:
        batch = self._batcher.take(now, upstream=upstream)
        if batch is None:
            return None
        return Call(tuple(item.payload for item in batch.items), batch.bucket, batch.room)

    def wait(self, now: float, upstream: bool) -> float | None:
        return self._batcher.wait(now, upstream=upstream)


class PerMessage:
    """Each message by itself: its lines sorted by width, up to `max_items` in a call, all padded to the widest of them."""

    def __init__(self, profile: BatchProfile, max_items: int | None = None) -> None:
        self._profile = profile
        self._items = max_items or profile.max_items
        self._calls: deque[Call] = deque()

    def add(self, crops: Sequence[Crop], now: float) -> None:
        waiting = sorted(crops, key=lambda crop: crop.width)
        while waiting:
            taken = [waiting.pop(0)]
            while waiting and len(taken) < self._items:
                if self._profile.bucket(waiting[0].width) * (len(taken) + 1) > self._profile.max_cost:
                    break
                taken.append(waiting.pop(0))
            bucket = self._profile.bucket(taken[-1].width)
            room = max(1, min(self._items, self._profile.max_cost // bucket))
            self._calls.append(Call(tuple(taken), bucket, room))

    def take(self, now: float, upstream: bool) -> Call | None:
        return self._calls.popleft() if self._calls else None

    def wait(self, now: float, upstream: bool) -> float | None:
        return 0.0 if self._calls else None


def alone(profile: BatchProfile) -> PerMessage:
    """Each line by itself, in its own bucket."""
    return PerMessage(profile, max_items=1)


class Outcome(NamedTuple):
    """Figures of a run. Latencies are seconds from when the lines of a message are there to the end of the last of them."""

    messages_per_s: float
    lines_per_s: float
    fill: float
    """Picture's share of the padded pixels, 0..1."""
    items: float
    """Lines per call."""
    busy: float
    """Share of the time in which a stream worked, 0..1."""
    latency_p50: float
    latency_p95: float
    added_p95: float
    """Seconds a line waited for company while a stream was free."""


class Arrivals(NamedTuple):
    """How messages come: so many at once, the next when one is done (`in_flight`), or at these times whatever happens (`times`).

    Before its lines are there a message is fetched and cut for `fetch_s`; while any is, the batcher knows that more is on its way.
    """

    in_flight: int | None = None
    times: Sequence[float] = ()
    fetch_s: float = 0.02
    """19 ms to take and decode the embedded JPEG of a page (reference measurement)."""


def run(
    messages: Sequence[Message],
    arrivals: Arrivals,
    policy: Policy,
    cost: Callable[[int, int], float],
    streams: int = 1,
) -> Outcome:
    """All messages through. `cost(lines, bucket)` is the seconds of a call."""
    state = _Run(messages, arrivals, policy, cost, streams)
    return state.run()


class _Fetch(NamedTuple):
    """A message begins to be fetched."""

    message: Message


class _Run:
    def __init__(
        self,
        messages: Sequence[Message],
        arrivals: Arrivals,
        policy: Policy,
        cost: Callable[[int, int], float],
        streams: int,
    ) -> None:
        self._messages = list(messages)
        self._policy = policy
        self._cost = cost
        self._streams = streams
        self._free = streams
        self._now = 0.0
        self._idle = 0.0
        self._busy = 0.0
        self._events: list[tuple[float, int, _Fetch | Message | Call | None]] = []
        self._serial = 0
        self._closed = arrivals.in_flight is not None
        self._fetch_s = arrivals.fetch_s
        self._fetching = 0
        self._coming = deque(self._messages)
        self._arrived: dict[int, float] = {}
        self._open: dict[int, int] = {}
        self._latencies: list[float] = []
        self._added: list[float] = []
        self._calls: list[Call] = []
        if arrivals.in_flight is not None:
            for _ in range(min(arrivals.in_flight, len(self._messages))):
                self._push(0.0, _Fetch(self._coming.popleft()))
        else:
            for at, message in zip(arrivals.times, self._messages, strict=True):
                self._push(at, _Fetch(message))
            self._coming.clear()

    def run(self) -> Outcome:
        while self._events:
            at = self._events[0][0]
            if self._free:
                self._idle += at - self._now
            self._now = at
            while self._events and self._events[0][0] <= at:
                _, _, event = heapq.heappop(self._events)
                if isinstance(event, _Fetch):
                    self._fetching += 1
                    self._push(self._now + self._fetch_s, event.message)
                elif isinstance(event, Message):
                    self._arrive(event)
                elif isinstance(event, Call):
                    self._end(event)
            self._start()
        return self._outcome()

    def _push(self, at: float, event: _Fetch | Message | Call | None) -> None:
        self._serial += 1
        heapq.heappush(self._events, (at, self._serial, event))

    def _arrive(self, message: Message) -> None:
        self._fetching -= 1
        self._arrived[message.number] = self._now
        self._open[message.number] = len(message.widths)
        self._policy.add([Crop(message.number, w, self._now, self._idle) for w in message.widths], self._now)

    def _start(self) -> None:
        upstream = self._fetching > 0
        while self._free and (call := self._policy.take(self._now, upstream)) is not None:
            self._free -= 1
            seconds = self._cost(len(call.crops), call.bucket)
            self._busy += seconds
            self._calls.append(call)
            self._added += [self._idle - crop.idle_before for crop in call.crops]
            self._push(self._now + seconds, call)
        if self._free and (wait := self._policy.wait(self._now, upstream)) is not None:
            self._push(self._now + max(wait, 1e-9), None)

    def _end(self, call: Call) -> None:
        self._free += 1
        for crop in call.crops:
            self._open[crop.message] -= 1
            if not self._open[crop.message]:
                self._latencies.append(self._now - self._arrived[crop.message])
                if self._closed and self._coming:
                    self._push(self._now, _Fetch(self._coming.popleft()))

    def _outcome(self) -> Outcome:
        lines = sum(len(call.crops) for call in self._calls)
        padded = sum(call.bucket * len(call.crops) for call in self._calls)
        return Outcome(
            messages_per_s=len(self._messages) / self._now,
            lines_per_s=lines / self._now,
            fill=sum(crop.width for call in self._calls for crop in call.crops) / padded,
            items=lines / len(self._calls),
            busy=self._busy / self._now / self._streams,
            latency_p50=quantile(self._latencies, 0.5),
            latency_p95=quantile(self._latencies, 0.95),
            added_p95=quantile(self._added, 0.95),
        )


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of the values do not exceed; 0 for none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
