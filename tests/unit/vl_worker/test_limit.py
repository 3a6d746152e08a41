"""The limiter against servers whose throughput is known: no sleep, a clock that is advanced."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from services.vl_worker.limit import Limit
from tests.support.vl_timing import throughput

pytestmark = pytest.mark.unit


class Played:
    """An endpoint with work enough, played in steps of a tenth of a second. `rate` is tokens a second by requests in flight."""

    def __init__(
        self, rate: Callable[[float], float], *, start=32, floor=1, ceiling=512, room: int | None = None, noise=0.0
    ):
        self.now = 0.0
        self.rate = rate
        self.room = room
        self.noise = noise
        self.random = random.Random(7)
        self.limit = Limit(start, floor, ceiling, self.now)
        self.tokens = 0.0
        self.values: list[int] = []
        self._rest = 0.0
        self.refusals = 0

    def play(self, seconds: float, waiting: bool = True, in_flight: int | None = None) -> float:
        """Tokens a second in that time."""
        before = self.tokens
        for _ in range(round(seconds * 10)):
            self.now += 0.1
            running = self.limit.value if in_flight is None else in_flight
            if self.room is not None and running > self.room:
                generation = self.limit.generation
                self.refusals += running - self.room
                for _ in range(running - self.room):
                    self.limit.refused(generation, self.now)
                running = min(self.limit.value, self.room)
            self.limit.load(running, waiting, self.now)
            came = self.rate(running) * 0.1 * (1 + self.random.gauss(0, self.noise))
            self.tokens += came
            self._rest += came
            whole = int(self._rest)
            self._rest -= whole
            self.limit.streamed(whole, self.now)
            self.values.append(self.limit.value)
        return (self.tokens - before) / seconds


def test_the_calibrated_server_is_used_to_95_percent_within_a_minute():
    played = Played(throughput)
    played.play(60)
    assert played.play(300) >= 0.95 * 550.5
    assert max(played.values) <= 200, "no more than twice what the server has room for"


@pytest.mark.parametrize("noise", [0.02, 0.05])
def test_noise_of_the_throughput_does_not_drive_it_away(noise):
    played = Played(throughput, noise=noise)
    played.play(60)
    assert played.play(600) >= 0.93 * 550.5


def test_a_server_that_gains_nothing_from_company_ends_near_one():
    played = Played(lambda running: 50.0)
    played.play(900)
    assert played.limit.value <= 6


def test_a_server_that_scales_forever_meets_the_ceiling():
    played = Played(lambda running: 10.0 * running, ceiling=256)
    played.play(120)
    assert played.limit.value >= 200
    assert max(played.values) <= 256


def test_a_server_that_takes_eight_is_found_and_rarely_tried_above():
    played = Played(throughput, room=8)
    played.play(30)
    before = played.refusals
    assert played.play(300) >= 0.9 * throughput(8)
    assert played.refusals - before <= 2 * 12


def test_refusals_of_one_burst_count_once():
    limit = Limit(32, 1, 512, 0.0)
    for _ in range(24):
        limit.refused(0, 0.1)
    assert limit.value == 16


def test_it_never_falls_below_its_floor():
    limit = Limit(32, 4, 512, 0.0)
    for _ in range(20):
        limit.refused(limit.generation, 0.1)
    assert limit.value == 4


def test_an_idle_endpoint_teaches_nothing():
    played = Played(throughput)
    played.play(300, waiting=False, in_flight=5)
    assert played.limit.value == 32


def test_a_server_that_changes_is_followed():
    played = Played(throughput)
    played.play(120)
    assert played.limit.value >= 64
    played.rate = lambda running: min(100.0, 12.5 * running)
    played.play(900)
    assert 6 <= played.limit.value <= 30


def test_answers_that_come_whole_are_enough():
    rate = throughput
    now, limit = 0.0, Limit(32, 1, 512, 0.0)
    running: list[tuple[float, float, int]] = []  # done at, began at, tokens
    chance = random.Random(3)
    tokens, measured = 0, 0.0
    while now < 600:
        now += 0.1
        running.sort()
        while running and running[0][0] <= now:
            _, began, count = running.pop(0)
            limit.answered(count, now - began, now)
            if now > 300:
                tokens += count
        while len(running) < limit.value:
            count = chance.randrange(20, 100)
            per_token = max(1, limit.value) / rate(limit.value)
            running.append((now + count * per_token, now, count))
        limit.load(len(running), True, now)
        if now > 300:
            measured += 0.1
    assert tokens / measured >= 0.9 * 550.5
