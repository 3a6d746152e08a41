"""How many requests one endpoint is given at once: found by trying, because nobody can know it before.

A batching server answers every request more slowly the more it has, and is still faster in all: seed 002 measured 25 ms per token
alone and 182 ms among 100, at 13.6 times the tokens a second. So latency alone would keep the limit near 1. What is compared
is latency per token against the endpoint's own best, for the share of it that more requests explain: a step from `L0` to
`L1` requests in flight *pays* when throughput (in flight / latency per token) follows it by at least `PAYS`,

    log(X1 / X0) / log(L1 / L0) >= PAYS

and the larger of the two limits is kept, else the smaller. Both directions are tried, so noise does not drive the limit anywhere. Steps
are wide until one does not pay (twice), then narrow and rarer. A refusal (429, 503, 504) of a request that was sent
under the present limit takes back the step that met it, or halves the limit; a limit is never learned from an idle endpoint.

Pure: the clock is passed in, nothing waits. `Limit` is what the endpoints ask; `Meter` is how throughput is measured.
"""

from __future__ import annotations

import math

PAYS = 0.1
"""Elasticity of throughput to requests in flight from which more are worth having. The last step of seed 002 that brought anything
(64 to 100) has 0.28, a full server has 0; the rest is room for noise on either side."""
WIDE = 1.5
"""Factor of steps until one does not pay, twice: from 32 to beyond 100 in three."""
MISSES = 2
"""Wide steps that must have failed in a row. The first measurement is of requests that all began at once and is too good."""
NARROW = 1.2
"""Factor of later steps: a limit found this way is at most 20 % off, which costs less throughput than the next step would show."""
MEASURE_S = 2.0
"""Least length of a measurement, and how much has to arrive in it."""
MEASURE_TOKENS = 300
MEASURE_LONGEST_S = 20.0
"""A measurement that has too little after this time counts anyway: the server is that slow."""
SETTLE_S = 0.5
"""After a change, before measuring: new requests have to reach the server's batch, surplus ones have to end."""
HOLD_S = 2.0
HOLD_LONGEST_S = 60.0
"""After a step that was taken back; doubles each time in a row, so a steady server is left alone for most of the time."""
BUSY = 0.8
"""Share of a measurement in which the limit must have been used up, else it says nothing about the limit."""


class Meter:
    """Tokens a second of an endpoint over one measurement.

    Streamed tokens are counted as they arrive. Answers that come whole arrive in lumps, so for these throughput is (in flight) times
    (tokens / seconds of the answers that began and ended in the measurement), which lumps do not disturb.
    """

    def __init__(self, now: float) -> None:
        self.began = now
        self.tokens = 0
        self._whole_tokens = 0
        self._whole_seconds = 0.0
        self._in_flight_s = 0.0
        self._busy_s = 0.0
        self._at = now

    def passed(self, now: float, in_flight: int, busy: bool) -> None:
        """Since the last call `in_flight` requests were under way, and the limit was used up or not."""
        seconds = now - self._at
        self._at = now
        self._in_flight_s += seconds * in_flight
        self._busy_s += seconds * busy

    def streamed(self, tokens: int) -> None:
        """Tokens of a running answer arrived."""
        self.tokens += tokens

    def answered(self, tokens: int, seconds: float, now: float) -> None:
        """A whole answer arrived; those sent before the measurement began are not of it."""
        if now - seconds >= self.began:
            self._whole_tokens += tokens
            self._whole_seconds += seconds

    def enough(self, now: float, limit: int) -> bool:
        """Whether `rate` means something yet."""
        length = now - self.began
        if length >= MEASURE_LONGEST_S:
            return True
        arrived = self.tokens if self.tokens else self._whole_tokens
        turned = self.tokens > 0 or self._whole_seconds >= limit * length / 2
        return length >= MEASURE_S and arrived >= MEASURE_TOKENS and turned

    def rate(self, now: float) -> float | None:
        """Tokens a second; none when the endpoint was not busy or nothing came."""
        length = now - self.began
        if length <= 0 or self._busy_s < BUSY * length:
            return None
        if self.tokens:
            return self.tokens / length
        if self._whole_tokens and self._whole_seconds:
            return self._in_flight_s / length * self._whole_tokens / self._whole_seconds
        return None


class Limit:
    """The limit of one endpoint. Invariant: `floor <= value <= ceiling`."""

    def __init__(self, start: int, floor: int, ceiling: int, now: float) -> None:
        self._floor = floor
        self._ceiling = ceiling
        self.value = min(max(start, floor), ceiling)
        self.generation = 0
        """Counts the refusals that were heeded. A request remembers the one it was sent under."""
        self._upward = True
        self._factor = WIDE
        self._misses = 0
        self._hold_s = HOLD_S
        self._base: tuple[int, float] | None = None
        """Limit and throughput that a running step is compared with."""
        self._held_until = 0.0
        self._settled: float | None = now
        """When to measure from; none until surplus requests have ended."""
        self._measuring = False
        self._meter = Meter(now)
        self._in_flight = 0
        self._busy = False

    # --- what the endpoint reports ------------------------------------------------------------------------------------

    def load(self, in_flight: int, waiting: bool, now: float) -> None:
        """So many requests are under way from now on, and whether one more would be sent if it might."""
        self._meter.passed(now, self._in_flight, self._busy)
        self._in_flight = in_flight
        self._busy = in_flight >= self.value or waiting
        self._step(now)

    def streamed(self, tokens: int, now: float) -> None:
        """Tokens of a running answer arrived."""
        self._meter.streamed(tokens)
        self._step(now)

    def answered(self, tokens: int, seconds: float, now: float) -> None:
        """A whole answer arrived, `seconds` after it was asked for."""
        self._meter.answered(tokens, seconds, now)
        self._step(now)

    def refused(self, generation: int, now: float) -> None:
        """The server had no room for a request sent under `generation`; older ones are the same news again."""
        if generation != self.generation:
            return
        self.generation += 1
        self._factor = NARROW
        if self._base is not None and self._base[0] < self.value:
            self._hold(self._base[0], now)
        else:
            self._hold(max(self._floor, self.value // 2), now)
        self._upward = True

    def interrupted(self, now: float) -> None:
        """The endpoint went away and is back: what was learned stands, what was being measured does not."""
        self._base = None
        self._measure_from(now)

    # --- steps --------------------------------------------------------------------------------------------------------

    def _step(self, now: float) -> None:
        if self._settled is None:
            if self._in_flight > self.value:
                return  # surplus of a step down, still ending
            self._measure_from(now)
        if now < max(self._settled or 0.0, self._held_until):
            return
        if not self._measuring:
            self._meter = Meter(now)
            self._measuring = True
        self._meter.passed(now, self._in_flight, self._busy)
        if not self._meter.enough(now, self.value):
            return
        rate = self._meter.rate(now)
        self._meter = Meter(now)
        if rate is None:
            self._base = None
        elif self._base is None or self._base[0] == self.value:
            self._try((self.value, rate), now)
        else:
            self._judge(self._base, (self.value, rate), now)

    def _judge(self, before: tuple[int, float], after: tuple[int, float], now: float) -> None:
        elasticity = math.log(after[1] / before[1]) / math.log(after[0] / before[0])
        grown = after[0] > before[0]
        if (elasticity >= PAYS) == grown:
            self._hold_s = HOLD_S
            self._misses = 0
            self._try(after, now)
        elif self._factor == WIDE and self._misses + 1 < MISSES:
            self._misses += 1
            self._hold(before[0], now)
        else:
            self._upward = not grown
            self._factor = NARROW
            self._hold(before[0], now)

    def _try(self, base: tuple[int, float], now: float) -> None:
        wanted = self._next()
        if wanted == self.value:
            self._upward = not self._upward
            wanted = self._next()
        self._base = base if wanted != self.value else None
        self._change(wanted, now)

    def _next(self) -> int:
        if self._upward:
            return min(self._ceiling, max(self.value + 1, round(self.value * self._factor)))
        return max(self._floor, min(self.value - 1, round(self.value / self._factor)))

    def _hold(self, value: int, now: float) -> None:
        self._base = None
        self._held_until = now + self._hold_s
        self._hold_s = min(HOLD_LONGEST_S, 2 * self._hold_s)
        self._change(value, now)

    def _change(self, value: int, now: float) -> None:
        self.value = min(max(value, self._floor), self._ceiling)
        self._busy = self._in_flight >= self.value
        self._settled = None
        self._step(now)

    def _measure_from(self, now: float) -> None:
        self._settled = now + SETTLE_S
        self._measuring = False
