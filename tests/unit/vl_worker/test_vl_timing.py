"""The simulator's time model is the published curve."""

from __future__ import annotations

import pytest

from tests.support.vl_timing import CEILING, CURVE, throughput

pytestmark = pytest.mark.unit


def test_it_goes_through_the_published_points():
    assert {n: throughput(n) for n, _ in CURVE} == {1: 40.5, 4: 106.5, 8: 212.5, 32: 413.7, 64: 486.6, 100: 550.5}
    assert CEILING == throughput(400) == 550.5


def test_it_rises_between_them():
    rates = [throughput(n) for n in range(1, 101)]
    assert rates == sorted(rates)
