"""The batcher's promises, for any order of arrivals and any profile."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.rec_worker.batcher import Batch, Batcher, Flush, Item
from shared.engines.engine import BatchProfile

pytestmark = pytest.mark.unit

CPU = BatchProfile(width_step=64, batches=((192, 4), (640, 2)), max_items=8, max_cost=3200, linger_ms=10.0)
NPU = BatchProfile(width_step=32, batches=((100_000, 8),), max_items=8, max_cost=3200, linger_ms=10.0)

profiles = st.builds(
    BatchProfile,
    width_step=st.sampled_from([16, 32, 64]),
    batches=st.lists(st.tuples(st.integers(1, 60).map(lambda n: n * 64), st.integers(1, 16)), max_size=4).map(
        lambda classes: tuple(sorted(classes))
    ),
    max_items=st.integers(1, 16),
    max_cost=st.integers(100, 6400),
    linger_ms=st.sampled_from([0.0, 5.0, 50.0]),
)
crops = st.lists(
    st.tuples(
        st.integers(1, 5000),  # width
        st.integers(0, 5),  # owner
        st.sampled_from(["first", "bulk"]),
        st.floats(0, 0.1),  # seconds since the previous
        st.booleans(),  # taken after it?
        st.booleans(),  # upstream?
        st.one_of(st.none(), st.floats(0, 1)),  # due
    ),
    max_size=80,
)


def drained(batcher: Batcher[int], now: float) -> list[Batch[int]]:
    batches = []
    while (batch := batcher.take(now, upstream=False)) is not None:
        batches.append(batch)
    return batches


def item(batcher: Batcher[int], number: int, width: int, **more: object) -> Item[int]:
    return Item(batcher.profile.bucket(width), number, **more)  # type: ignore[arg-type]


@given(profiles, crops)
def test_nothing_is_lost_nothing_goes_twice_and_no_batch_is_over_its_bounds(profile: BatchProfile, given: list) -> None:
    batcher: Batcher[int] = Batcher(profile)
    now, batches, widths = 0.0, [], {}
    for number, (width, owner, lane, pause, taken, upstream, due) in enumerate(given):
        now += pause
        widths[number] = width
        batcher.add([item(batcher, number, width, document=str(owner), lane=lane, due=due)], now)
        if taken and (batch := batcher.take(now, upstream=upstream)) is not None:
            batches.append(batch)
    batches += drained(batcher, now)

    assert Counter(entry.payload for batch in batches for entry in batch.items) == Counter(range(len(given)))
    assert len(batcher) == 0
    assert batcher.wait(now, upstream=False) is None
    for batch in batches:
        size = len(batch.items)
        assert 1 <= size <= batch.room <= profile.max_items
        assert size == batch.room or size & (size - 1) == 0, "sizes between would be new shapes"
        assert size == 1 or size * batch.bucket <= profile.max_cost
        for entry in batch.items:
            assert entry.bucket == batch.bucket, "padded to its own bucket, not to a neighbour's"
            assert batch.bucket - profile.width_step < widths[entry.payload] <= batch.bucket
            assert batch.bucket % profile.width_step == 0


@given(crops, st.randoms(use_true_random=False))
def test_the_order_of_owners_does_not_change_how_crops_are_packed(given: list, random: object) -> None:
    def packed(order: list[int]) -> Counter[tuple[int, int]]:
        batcher: Batcher[int] = Batcher(CPU)
        batcher.add([item(batcher, number, given[number][0], document=str(given[number][1])) for number in order], 0.0)
        return Counter((batch.bucket, len(batch.items)) for batch in drained(batcher, 0.0))

    shuffled = list(range(len(given)))
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert packed(shuffled) == packed(list(range(len(given))))


@given(profiles, crops)
def test_wait_is_the_time_after_which_a_batch_may_go(profile: BatchProfile, given: list) -> None:
    batcher: Batcher[int] = Batcher(profile)
    now = 0.0
    for number, (width, _, lane, pause, _, _, due) in enumerate(given):
        now += pause
        batcher.add([item(batcher, number, width, lane=lane, due=due)], now)
    while (wait := batcher.wait(now, upstream=True)) is not None:
        assert 0.0 <= wait <= profile.linger_ms / 1000.0 + 1e-9
        if wait > 1e-6:
            assert batcher.take(now + wait / 2, upstream=True) is None
        now += wait + 1e-9
        assert batcher.take(now, upstream=True) is not None


@given(crops, st.integers(0, 79))
def test_every_crop_of_a_failed_batch_comes_again_alone(given: list, which: int) -> None:
    batcher: Batcher[int] = Batcher(NPU)
    batcher.add([item(batcher, number, crop[0]) for number, crop in enumerate(given)], 0.0)
    done: list[int] = []
    for turn in range(1000):
        if (batch := batcher.take(0.0, upstream=False)) is None:
            break
        if turn == which and batch.reason is not Flush.retry:
            before = [entry.payload for entry in batch.items]
            batcher.retry(batch)
            for expected in before:
                again = batcher.take(0.0, upstream=False)
                assert again is not None
                assert again.reason is Flush.retry
                assert [entry.payload for entry in again.items] == [expected]
                done.append(expected)
        else:
            done += [entry.payload for entry in batch.items]
    assert sorted(done) == list(range(len(given)))


def test_bulk_never_starves() -> None:
    """Crops of the first lane keep coming; a bulk crop still goes soon after its patience is over."""
    batcher: Batcher[int] = Batcher(CPU, patience_s=1.0)
    batcher.add([item(batcher, -1, 1000, lane="bulk")], 0.0)
    now, number = 0.0, 0
    while now < 1.5:
        batcher.add([item(batcher, number, 1000)], now)
        number += 1
        batch = batcher.take(now, upstream=True)
        assert batch is not None
        if batch.items[0].payload == -1:
            assert now >= 1.0
            return
        now += 0.1
    raise AssertionError("the bulk crop did not go")


def test_crops_of_three_documents_share_a_batch() -> None:
    batcher: Batcher[int] = Batcher(CPU)
    for number, document in enumerate(["a", "b", "c", "a"]):
        batcher.add([item(batcher, number, 100 + number, document=document)], 0.0)
    batch = batcher.take(0.0, upstream=True)
    assert batch is not None
    assert (batch.documents, len(batch.items), batch.reason) == (3, 4, Flush.full)


def test_a_partial_batch_lingers_only_while_more_may_come() -> None:
    batcher: Batcher[int] = Batcher(CPU)
    batcher.add([item(batcher, 0, 100)], 5.0)
    batcher.add([item(batcher, 1, 100)], 5.004)
    assert batcher.take(5.009, upstream=True) is None
    assert batcher.wait(5.009, upstream=True) == pytest.approx(0.001)
    batch = batcher.take(5.0101, upstream=True)
    assert batch is not None
    assert (len(batch.items), batch.reason) == (2, Flush.linger)

    batcher.add([item(batcher, 2, 100)], 6.0)
    batch = batcher.take(6.0, upstream=False)
    assert batch is not None
    assert batch.reason is Flush.idle


def test_a_due_crop_does_not_linger_and_goes_first() -> None:
    batcher: Batcher[int] = Batcher(CPU)
    batcher.add([item(batcher, 0, 1000)], 0.0)
    batcher.add([item(batcher, 1, 100, due=0.001)], 0.0)
    batch = batcher.take(0.001, upstream=True)
    assert batch is not None
    assert (batch.items[0].payload, batch.reason) == (1, Flush.due)


def test_the_first_lane_goes_before_bulk_and_fills_up_with_it() -> None:
    batcher: Batcher[int] = Batcher(CPU)
    batcher.add([item(batcher, number, 300, lane="bulk") for number in range(3)], 0.0)
    batcher.add([item(batcher, 9, 300)], 0.001)
    batch = batcher.take(0.002, upstream=True)
    assert batch is not None
    assert [entry.payload for entry in batch.items] == [9, 0]


def test_of_equally_old_crops_the_widest_go_first() -> None:
    batcher: Batcher[int] = Batcher(CPU)
    batcher.add([item(batcher, width, width) for width in (100, 1500, 300)], 0.0)
    assert [batch.items[0].payload for batch in drained(batcher, 0.0)] == [1500, 300, 100]


def test_a_crop_wider_than_the_cost_goes_alone() -> None:
    batcher: Batcher[int] = Batcher(NPU)
    batcher.add([item(batcher, 0, 5000), item(batcher, 1, 5000)], 0.0)
    batches = [batcher.take(0.0, upstream=True), batcher.take(0.0, upstream=True)]
    assert [batch and (len(batch.items), batch.reason) for batch in batches] == [(1, Flush.cost)] * 2


def test_a_batch_as_wide_as_may_be_does_not_wait_for_more() -> None:
    batcher: Batcher[int] = Batcher(NPU)
    batcher.add([item(batcher, number, 800) for number in range(4)], 0.0)
    batch = batcher.take(0.0, upstream=True)
    assert batch is not None
    assert (len(batch.items), batch.reason) == (4, Flush.cost)


@given(profiles, crops)
def test_no_crop_waits_beyond_its_deadline_or_its_lingering_while_the_engine_is_free(
    profile: BatchProfile, given: list
) -> None:
    """A free stream asks when something comes and when `wait` says so, and finds every crop in time."""
    batcher: Batcher[int] = Batcher(profile)
    latest: dict[int, float] = {}
    now = 0.0

    def take_all() -> None:
        while (batch := batcher.take(now, upstream=True)) is not None:
            for entry in batch.items:
                assert now <= latest.pop(entry.payload) + 1e-6

    for number, (width, owner, lane, pause, _, _, due) in enumerate(given):
        arrival = now + pause
        while (wait := batcher.wait(now, upstream=True)) is not None and now + wait <= arrival:
            now += wait + 1e-9
            take_all()
        now = arrival
        latest[number] = max(now, min(now + profile.linger_ms / 1000.0, now + 10.0 if due is None else due))
        batcher.add([item(batcher, number, width, document=str(owner), lane=lane, due=due)], now)
        take_all()
    while (wait := batcher.wait(now, upstream=True)) is not None:
        now += wait + 1e-9
        take_all()
    assert latest == {}
