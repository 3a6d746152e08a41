"""The tracker of one partition: a state machine against a model of the broker, and the limits of the metadata."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from shared.streams.offsets import MAX_METADATA, WINDOW, OffsetTracker, Progress, decode, encode

pytestmark = pytest.mark.unit


class PartitionLife(RuleBasedStateMachine):
    """A partition's log with gaps, a broker that holds the last commit, and processes that come, die and are drained."""

    @initialize(gaps=st.lists(st.integers(1, 4), min_size=5, max_size=60))
    def begin(self, gaps: list[int]) -> None:
        self.log: list[int] = []
        offset = 0
        for gap in gaps:
            offset += gap
            self.log.append(offset)
        self.committed: tuple[int, str] = (0, "")
        self.durable: set[int] = set()
        """Offsets whose outputs are out: what happened in the world, whatever any process believes."""
        self.start(0)

    def start(self, probation: int) -> None:
        self.tracker = OffsetTracker(*self.committed, probation=probation)
        self.next = self.committed[0]
        """Where the consumer fetches from."""
        self.waiting: list[int] = []
        self.running: list[int] = []
        self.epoch_completed: set[int] = set()

    @rule()
    def poll(self) -> None:
        behind = [offset for offset in self.log if offset >= self.next]
        if not behind:
            return
        offset = behind[0]
        self.next = offset + 1
        if self.tracker.add(offset):
            self.waiting.append(offset)
        else:
            assert offset in self.durable, "skipped, but never done"

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def admit(self, data: st.DataObject) -> None:
        offset = self.waiting.pop(data.draw(st.integers(0, len(self.waiting) - 1)))
        assert self.tracker.admissible(offset)
        self.tracker.start(offset)
        self.running.append(offset)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def complete(self, data: st.DataObject) -> None:
        offset = self.running.pop(data.draw(st.integers(0, len(self.running) - 1)))
        self.durable.add(offset)
        self.tracker.complete(offset)

    @precondition(lambda self: self.running)
    @rule()
    def abandon(self) -> None:
        offset = self.running.pop()
        self.tracker.abandon(offset)
        self.waiting.append(offset)

    @precondition(lambda self: self.running)
    @rule()
    def finish_without_telling(self) -> None:
        """Outputs are out, the process dies before it notes so: the record will be repeated, which is allowed."""
        self.durable.add(self.running[-1])
        self.die()

    @rule()
    def commit(self) -> None:
        self.committed = self.tracker.state()

    @rule()
    def die(self) -> None:
        self.start(probation=3)

    @rule()
    def drain(self) -> None:
        for offset in self.running:
            self.tracker.abandon(offset)
        self.committed = self.tracker.state(clean=True)
        self.start(probation=3)
        assert not any(self.tracker.deaths(offset) for offset in self.log)

    @rule()
    def lose(self) -> None:
        """Lost to another member and back: nothing is committed."""
        self.start(probation=3)

    @invariant()
    def never_past_an_incomplete_offset(self) -> None:
        for position in (self.committed[0], self.tracker.position):
            assert all(offset in self.durable for offset in self.log if offset < position)

    @invariant()
    def metadata_tells_the_truth_and_fits(self) -> None:
        position, metadata = self.tracker.state()
        progress = decode(position, metadata)
        assert progress.completed <= self.durable
        assert progress.in_flight == set(self.running)
        assert not progress.clean
        assert len(metadata) <= MAX_METADATA

    def teardown(self) -> None:
        """Whatever happened, a last process that just works brings every record to its end."""
        if not hasattr(self, "log"):
            return
        self.start(probation=0)
        for offset in self.log:
            if offset >= self.next and self.tracker.add(offset):
                self.tracker.start(offset)
                self.durable.add(offset)
                self.tracker.complete(offset)
        assert self.durable >= set(self.log)
        assert self.tracker.position >= self.log[-1] + 1 or not self.tracker.in_flight


TestPartitionLife = PartitionLife.TestCase
TestPartitionLife.settings = settings(max_examples=150, stateful_step_count=60)


@given(
    position=st.integers(0, 2**40),
    states=st.dictionaries(st.integers(0, WINDOW - 1), st.sampled_from("cfd"), max_size=300),
    alone=st.none() | st.integers(0, WINDOW - 1),
    deaths=st.integers(0, 2),
    clean=st.booleans(),
)
def test_metadata_survives_the_way_through_the_broker(
    position: int, states: dict[int, str], alone: int | None, deaths: int, clean: bool
) -> None:
    def of(state: str) -> frozenset[int]:
        return frozenset(position + at for at, found in states.items() if found == state)

    progress = Progress(of("c"), of("f"), of("d"), None if alone is None else position + alone, deaths, clean)
    assert decode(position, encode(position, progress)) == progress


def test_no_pattern_exceeds_the_limit() -> None:
    # zlib can't shrink noise; the map itself is the bound.
    noise = random.Random(7)
    for _ in range(50):
        offsets = [offset for offset in range(WINDOW) if noise.random() < 0.75]
        parts: list[list[int]] = [[], [], []]
        for offset in offsets:
            noise.choice(parts).append(offset)
        metadata = encode(0, Progress(*map(frozenset, parts), alone=WINDOW - 1, alone_deaths=1))
        assert len(metadata) <= 640 <= MAX_METADATA


@pytest.mark.parametrize("metadata", ["", None, "somebody's note", "df1:", "df1:!!!", "df9:0000"])
def test_foreign_metadata_says_nothing_and_accuses_nobody(metadata: str | None) -> None:
    tracker = OffsetTracker(5, metadata, probation=10)
    assert tracker.add(5)
    assert not tracker.suspect(5)
    assert tracker.position == 5


def test_a_straggler_stops_admission_at_the_window_and_nothing_is_cut() -> None:
    tracker = OffsetTracker(0)
    for offset in range(WINDOW + 1):
        tracker.add(offset)
    tracker.start(0)
    for offset in range(1, WINDOW):
        assert tracker.admissible(offset)
        tracker.start(offset)
        tracker.complete(offset)
    assert not tracker.admissible(WINDOW)
    position, metadata = tracker.state()
    assert decode(position, metadata).completed == set(range(1, WINDOW))
    tracker.complete(0)
    assert tracker.admissible(WINDOW)
    assert tracker.position == WINDOW


def test_gaps_in_the_log_are_no_holes() -> None:
    tracker = OffsetTracker(0)
    for offset in (3, 10, 5000):
        tracker.add(offset)
        tracker.start(offset)
    assert tracker.position == 3
    tracker.complete(10)
    assert tracker.position == 3
    tracker.complete(3)
    assert tracker.position == 5000
    tracker.complete(5000)
    assert tracker.position == 5001


def test_a_record_polled_twice_counts_once() -> None:
    tracker = OffsetTracker(0)
    assert tracker.add(0)
    assert not tracker.add(0)
    tracker.start(0)
    tracker.complete(0)
    assert tracker.position == 1


# --- deaths ---------------------------------------------------------------------------------------------------------------


def _dead(in_flight: list[int], alone: int | None = None) -> tuple[int, str]:
    tracker = OffsetTracker(0)
    for offset in range(10):
        tracker.add(offset)
    for offset in in_flight:
        tracker.start(offset)
    if alone is not None:
        tracker.run_alone(alone)
    return tracker.state()


def test_after_an_unclean_death_the_named_and_the_first_are_suspects() -> None:
    tracker = OffsetTracker(*_dead([7]), probation=2)
    for offset in range(10):
        tracker.add(offset)
    assert [offset for offset in range(10) if tracker.suspect(offset)] == [0, 1, 7]
    assert not any(tracker.deaths(offset) for offset in range(10))


def test_after_a_drain_nobody_is_suspect() -> None:
    tracker = OffsetTracker(0)
    for offset in range(5):
        tracker.add(offset)
    after = OffsetTracker(*tracker.state(clean=True), probation=5)
    for offset in range(5):
        after.add(offset)
    assert not any(after.suspect(offset) for offset in range(5))


def test_suspects_that_still_waited_at_a_drain_are_suspects_afterwards() -> None:
    first = OffsetTracker(*_dead([2, 3]), probation=0)
    for offset in range(10):
        first.add(offset)
    second = OffsetTracker(*first.state(clean=True), probation=8)
    for offset in range(10):
        second.add(offset)
    assert [offset for offset in range(10) if second.suspect(offset)] == [2, 3]


def test_a_death_alone_is_counted_over_processes() -> None:
    tracker = OffsetTracker(*_dead([4], alone=4), probation=0)
    assert tracker.deaths(4) == 1
    for offset in range(10):
        tracker.add(offset)
    # It waits for its second turn while another suspect runs; a death then is not its own.
    again = OffsetTracker(*tracker.state(), probation=0)
    assert again.deaths(4) == 1
    for offset in range(10):
        again.add(offset)
    again.start(4)
    again.run_alone(4)
    assert OffsetTracker(*again.state(), probation=0).deaths(4) == 2


def test_a_drain_while_it_ran_alone_is_no_death() -> None:
    tracker = OffsetTracker(*_dead([4], alone=4), probation=0)
    for offset in range(10):
        tracker.add(offset)
    tracker.start(4)
    tracker.run_alone(4)
    tracker.abandon(4)
    assert OffsetTracker(*tracker.state(clean=True), probation=0).deaths(4) == 1
