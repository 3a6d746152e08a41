"""What `benchmarks/ascend_double` reads from the double's log of calls: gears that were warm, shapes without one, memory that moved."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.lib.npu_calls import flat, gears, grown, sessions
from shared.models.manifest import manifest
from shared.models.reader import NAME

pytestmark = pytest.mark.unit
KNOWN = {"small": {"1,3,8,16", "2,3,8,16"}}


def call(shape: str, *, pid: int = 1, zeros: bool = False, held: int = 100) -> dict[str, Any]:
    return {"pid": pid, "model": "small", "shape": shape, "zeros": zeros, "held": held}


WARM = [call("1,3,8,16", zeros=True), call("2,3,8,16", zeros=True)]


def test_a_session_that_was_warm_and_kept_to_its_gears() -> None:
    (found,) = sessions([*WARM, call("2,3,8,16"), call("2,3,8,16")], KNOWN)
    assert (found.warm, found.gears, found.work, found.shapes, found.outside) == (2, 2, 2, 1, 0)
    assert flat([found])


def test_a_gear_that_ran_only_after_the_first_work_was_not_warm() -> None:
    (found,) = sessions([WARM[0], call("1,3,8,16"), WARM[1]], KNOWN)
    assert found.warm == 1


def test_a_shape_without_a_gear_is_counted_in_warm_up_and_work() -> None:
    (found,) = sessions([*WARM, call("3,3,8,16", zeros=True), call("1,3,8,17")], KNOWN)
    assert (found.warm, found.outside) == (2, 2)


@pytest.mark.parametrize("later", [(100, 101), (101, 100)], ids=["at the end", "for a while"])
def test_memory_that_moved_is_not_flat(later: tuple[int, int]) -> None:
    found = sessions([*WARM, call("1,3,8,16"), *(call("1,3,8,16", held=held) for held in later)], KNOWN)
    assert not flat(found)
    assert (found[0].first, found[0].last, found[0].most) == (100, later[1], 101)


def test_how_much_each_network_that_takes_several_shapes_has_grown() -> None:
    """By network the session that grew least; one that did not work, and a network of one shape, say nothing."""
    known = {**KNOWN, "fixed": {"1,3,8,8"}}
    calls = [call("1,3,8,16"), call("1,3,8,17", held=300), call("1,3,8,16", pid=2), call("1,3,8,18", pid=2, held=150)]
    calls += [call("1,3,8,16", pid=3, zeros=True), {**call("1,3,8,8", pid=4), "model": "fixed"}]
    assert grown(sessions(calls, known)) == {"small": 1.5}
    assert grown(sessions(calls[-1:], known)) == {}


def test_each_process_is_a_session() -> None:
    found = sessions([call("1,3,8,16", held=100), call("1,3,8,16", pid=2, held=200)], KNOWN)
    assert [session.first for session in found] == [100, 200]
    assert flat(found)


def test_gears_are_written_as_the_log_of_calls_has_them() -> None:
    entry = manifest(NAME)
    assert entry.ascend is not None
    assert gears()[entry.folder()] == {",".join(map(str, gear)) for gear in entry.ascend.gears()}
