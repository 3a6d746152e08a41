"""Which record may be worked on: bounds, order, and running alone."""

from __future__ import annotations

import pytest

from shared.streams.admission import Admission
from shared.streams.offsets import WINDOW, OffsetTracker, Progress, encode
from shared.streams.work import Assignment, Item, Polled
from shared.telemetry import tracing

pytestmark = pytest.mark.unit


def partition(
    admission: Admission, topic: str = "docs.rec", number: int = 0, tracker: OffsetTracker | None = None
) -> Assignment:
    assignment = Assignment(topic, number, 1, tracker or OffsetTracker(0))
    assignment.claimed = True
    admission.assign(assignment)
    return assignment


def offer(admission: Admission, assignment: Assignment, *offsets: int, cost: int = 0) -> None:
    for offset in offsets:
        assert assignment.tracker.add(offset)
        polled = Polled(assignment.topic, assignment.partition, offset, None, b"", [], 0)
        item = Item(polled, assignment, tracing.new())
        item.cost = cost
        admission.offer(item)


def admit(admission: Admission) -> list[Item]:
    items = []
    while (item := admission.next()) is not None:
        items.append(item)
    return items


def test_never_more_than_the_places() -> None:
    admission = Admission(3, 10**9)
    one = partition(admission)
    offer(admission, one, *range(5))
    first = admit(admission)
    assert [item.offset for item in first] == [0, 1, 2]
    admission.ended(first[1])
    assert [item.offset for item in admit(admission)] == [3]


def test_partitions_take_turns_and_each_keeps_its_order() -> None:
    admission = Admission(6, 10**9)
    parts = [partition(admission, number=n) for n in range(3)]
    for one in parts:
        offer(admission, one, 0, 1)
    found = [(item.polled.partition, item.offset) for item in admit(admission)]
    assert found == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]


def test_bytes_are_bounded_and_one_record_always_fits() -> None:
    admission = Admission(10, 100)
    one = partition(admission)
    offer(admission, one, 0, cost=500)
    offer(admission, one, 1, 2, 3, cost=50)
    (large,) = admit(admission)
    assert admit(admission) == []
    admission.ended(large)
    assert [item.offset for item in admit(admission)] == [1, 2]
    assert admission.bytes == 100


def test_a_suspect_waits_until_nothing_runs_and_keeps_others_out() -> None:
    admission = Admission(4, 10**9)
    calm = partition(admission, number=1)
    offer(admission, calm, 0, 1)
    running = admit(admission)
    died = OffsetTracker(0, encode(0, Progress(in_flight=frozenset({1}), clean=False)))
    haunted = partition(admission, number=0, tracker=died)
    offer(admission, haunted, 0, 1, 2)
    offer(admission, calm, 2)
    assert admit(admission) == []
    admission.ended(running[0])
    assert admit(admission) == []
    admission.ended(running[1])
    (suspect,) = admit(admission)
    assert (suspect.offset, suspect.alone, suspect.marked) == (1, True, True)
    admission.ended(suspect)
    assert len(admit(admission)) == 3


def test_the_window_of_the_metadata_stops_one_partition_only() -> None:
    admission = Admission(WINDOW + 10, 10**9)
    slow, other = partition(admission, number=0), partition(admission, number=1)
    offer(admission, slow, 0, WINDOW)
    offer(admission, other, 0, 1)
    found = {(item.polled.partition, item.offset) for item in admit(admission)}
    assert found == {(0, 0), (1, 0), (1, 1)}
    slow.tracker.complete(0)
    assert [item.offset for item in admit(admission)] == [WINDOW]


def test_withdrawn_partitions_are_forgotten_but_not_what_runs() -> None:
    admission = Admission(1, 10**9)
    gone, stays = partition(admission, number=0), partition(admission, number=1)
    offer(admission, gone, 0, 1)
    offer(admission, stays, 0)
    (running,) = admit(admission)
    assert running.assignment is gone
    assert admission.withdraw([gone.place]) == [gone]
    assert admit(admission) == []
    admission.ended(running)
    assert [item.assignment for item in admit(admission)] == [stays]
    assert admission.find(gone.place) is None


def test_bulk_leaves_a_place_and_the_first_lane_takes_it() -> None:
    admission = Admission(4, 10**9)
    bulk, first = partition(admission, "docs.rec.bulk"), partition(admission, "docs.rec")
    offer(admission, bulk, *range(10))
    assert len(admit(admission)) == 3
    offer(admission, first, 0)
    assert [item.assignment.lane for item in admit(admission)] == ["first"]


def test_nothing_is_admitted_before_the_broker_knows_whose_the_partition_is() -> None:
    admission = Admission(4, 10**9)
    haunted = partition(admission, tracker=OffsetTracker(0, encode(0, Progress(in_flight=frozenset({1}), clean=False))))
    haunted.claimed = False
    offer(admission, haunted, 0, 1)
    assert admit(admission) == []
    haunted.claimed = True
    assert [item.offset for item in admit(admission)] == [1]
