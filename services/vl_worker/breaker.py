"""Whether an endpoint is worth asking at all.

    closed --failures in a row--> open --pause--> half-open --probe answered--> closed
                                    ^________________| probe failed, pause doubles

While it is open nothing is sent; half-open lets exactly one probe through, which is a request of its own (a one-token one), so that no
region is wagered on a server that may still be down. (The breakers on PyPI count calls on one path: purgatory 3 lets every call
through when half-open, aiobreaker 1.2 rests since 2021; with hundreds in flight that would be a burst at a server that just returned.)

Pure: the clock is passed in.
"""

from __future__ import annotations

import random
from enum import IntEnum

FIRST_PAUSE_S = 0.5
"""Before the first probe. A server that restarts takes seconds at least; one that closed idle connections takes none."""


class State(IntEnum):
    """Also the value of the metric."""

    closed = 0
    half_open = 1
    open = 2


class Breaker:
    """`failures` failures in a row open it; pauses between probes double up to `longest_pause_s`, less up to a quarter of jitter."""

    def __init__(self, failures: int, longest_pause_s: float, seed: int | None = None) -> None:
        self._most = failures
        self._longest = longest_pause_s
        self._random = random.Random(seed)
        self._in_a_row = 0
        self._pause = FIRST_PAUSE_S
        self.state = State.closed
        self.why = ""
        """What failed last, while it is not closed."""

    @property
    def closed(self) -> bool:
        """Whether the endpoint may be asked."""
        return self.state is State.closed

    def succeeded(self) -> None:
        """A request was answered. One that was sent before it opened does not close it."""
        self._in_a_row = 0

    def failed(self, why: str) -> None:
        """A request met a server that is away or broken."""
        self._in_a_row += 1
        if self.state is State.closed and self._in_a_row >= self._most:
            self.trip(why)

    def trip(self, why: str) -> None:
        """Open at once: nothing that is sent there can succeed."""
        self.state = State.open
        self.why = why

    def pause(self) -> float:
        """Seconds until the next probe."""
        pause = self._pause
        self._pause = min(self._longest, 2 * self._pause)
        return pause * self._random.uniform(0.75, 1.0)

    def probing(self) -> None:
        """The pause is over, one probe goes out."""
        self.state = State.half_open

    def probed(self, why_not: str | None) -> None:
        """What the probe found; none is that the server answers."""
        if why_not is None:
            self.state = State.closed
            self.why = ""
            self._in_a_row = 0
            self._pause = FIRST_PAUSE_S
        else:
            self.trip(why_not)
