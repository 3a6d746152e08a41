"""What is behind: the lag by the acknowledged commit, the age by what is not over."""

from __future__ import annotations

import pytest

from shared.streams.admission import Admission
from shared.streams.backlog import lag, oldest
from shared.streams.offsets import OffsetTracker
from shared.streams.work import Assignment, Item, Polled
from shared.telemetry import tracing

pytestmark = pytest.mark.unit


def assigned(admission: Admission, topic: str, partition: int, committed: int | None) -> Assignment:
    assignment = Assignment(topic, partition, 1, OffsetTracker(0, ""))
    assignment.claimed = True
    assignment.committed = None if committed is None else (committed, "")
    admission.assign(assignment)
    return assignment


def offered(admission: Admission, assignment: Assignment, offset: int, at_s: float) -> None:
    assignment.tracker.add(offset)
    polled = Polled(assignment.topic, assignment.partition, offset, None, b"", [], int(at_s * 1000))
    admission.offer(Item(polled, assignment, tracing.new()))


def test_lag_is_counted_from_the_commit_the_broker_acknowledged():
    admission = Admission(2, 2**30)
    for topic, partition, committed in (("docs.rec", 0, 7), ("docs.rec", 1, 9), ("docs.rec.bulk", 0, None)):
        assigned(admission, topic, partition, committed)
    ends = {("docs.rec", 0): 10, ("docs.rec", 1): 8, ("docs.rec.bulk", 0): 5, ("docs.rec", 9): 99}
    assert lag(admission.assignments(), ends) == {"docs.rec": 3}
    assert lag(admission.assignments(), {}) == {}


def test_the_oldest_record_counts_from_its_arrival_until_it_is_over():
    admission = Admission(1, 2**30)
    rec = assigned(admission, "docs.rec", 0, 0)
    bulk = assigned(admission, "docs.rec.bulk", 0, 0)
    assert oldest(admission.oldest(), 100.0) == {}
    offered(admission, rec, 0, 40.0)
    offered(admission, rec, 1, 60.0)
    offered(admission, bulk, 0, 90.0)
    assert oldest(admission.oldest(), 100.0) == {"docs.rec": 60.0, "docs.rec.bulk": 10.0}
    item = admission.next()
    assert item is not None
    assert oldest(admission.oldest(), 100.0) == {"docs.rec": 60.0, "docs.rec.bulk": 10.0}, "admitted, not over"
    admission.ended(item)
    assert oldest(admission.oldest(), 100.0) == {"docs.rec": 40.0, "docs.rec.bulk": 10.0}
