"""Events are handled in order, each once, whatever is delivered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.assembler.join.positions import SEEKS, Positions

pytestmark = pytest.mark.unit

PLACE = "docs.results", 3


@given(st.lists(st.integers(0, 12), max_size=200), st.integers(0, 4))
def test_nothing_is_jumped_over_and_nothing_is_done_twice(delivered: list[int], committed: int) -> None:
    """Any delivery, stale or doubled; after a seek the consumer goes on from where it was sent."""
    positions = Positions()
    assert positions.judge(PLACE, 0) == "skip", "its partition has not begun"
    positions.begin(PLACE, committed)
    handled = []
    for stale in delivered:
        queue = [stale]
        while queue:
            offset = queue.pop(0)
            verdict = positions.judge(PLACE, offset)
            if verdict == "handle":
                handled.append(offset)
                positions.handled(PLACE, offset)
            elif verdict == "seek":
                back = positions.next(PLACE)
                assert back is not None
                queue = list(range(back, 13))
    assert handled == list(range(committed, committed + len(handled)))
    assert positions.next(PLACE) == committed + len(handled)


def test_a_hole_of_the_log_is_passed_after_some_seeks() -> None:
    positions = Positions()
    positions.begin(PLACE, 5)
    assert [positions.judge(PLACE, 9) for _ in range(SEEKS + 1)] == ["seek"] * SEEKS + ["handle"]
    positions.handled(PLACE, 9)
    assert positions.judge(PLACE, 10) == "handle"


def test_a_partition_that_goes_is_forgotten() -> None:
    positions = Positions()
    positions.begin(PLACE, 5)
    positions.drop(PLACE)
    assert positions.next(PLACE) is None
    assert positions.judge(PLACE, 5) == "skip"
    assert positions.places() == set()


def test_a_partition_is_still_when_it_has_events_and_does_not_move() -> None:
    positions = Positions()
    positions.begin(PLACE, 5)
    assert positions.still({PLACE: 9}) == {}, "the first look"
    assert positions.still({PLACE: 5}) == {}, "it has no events"
    assert positions.still({PLACE: 9}) == {PLACE: 5}
    positions.handled(PLACE, 5)
    assert positions.still({PLACE: 9}) == {}
