"""The simulator of batching: its arithmetic on cases that can be worked out by hand."""

from __future__ import annotations

from itertools import pairwise

import pytest

from benchmarks.lib import npu
from benchmarks.lib.mixes import LINES, WIDTHS, Message, messages
from benchmarks.lib.simulation import Across, Arrivals, PerMessage, alone, quantile, run
from shared.engines.engine import BatchProfile

pytestmark = pytest.mark.unit

PROFILE = BatchProfile(width_step=100, batches=((1_000, 4),), max_items=4, max_cost=400, linger_ms=0.0)


def flat(lines: int, bucket: int) -> float:
    """A second a call, whatever is in it."""
    return 1.0


@pytest.mark.parametrize(("batch", "speed"), npu.LINES_PER_S.items())
def test_the_cost_model_gives_the_published_speed_back(batch: int, speed: float) -> None:
    assert batch / npu.seconds(batch, npu.WIDTH) == pytest.approx(speed)


def test_cost_depends_on_padded_pixels_alone_and_grows_with_them() -> None:
    assert npu.seconds(4, 640) == npu.seconds(8, 320)
    costs = [npu.seconds(1, width) for width in range(32, 64_000, 32)]
    assert all(0 < low < high for low, high in pairwise(costs))


def test_an_article_sized_batch_is_the_best_of_two_four_and_eight() -> None:
    speeds = {batch: batch / npu.seconds(batch, npu.WIDTH) for batch in (2, 4, 8)}
    assert max(speeds, key=lambda batch: speeds[batch]) == 8


def test_gears_fit_into_one_model() -> None:
    shapes = npu.gears(npu.GEARS)
    assert len(shapes) == len(set(shapes)) <= npu.MAX_GEARS
    assert all(lines * width <= npu.MAX_COST or lines == 1 for lines, width in shapes)


@pytest.mark.parametrize("mix", WIDTHS)
def test_mixes_are_the_same_for_the_same_seed_and_within_their_bounds(mix: str) -> None:
    these = messages(200, mix, "1-4")
    assert these == messages(200, mix, "1-4")
    fewest, most = LINES["1-4"]
    assert {len(message.widths) for message in these} == set(range(fewest, most + 1))
    low, high = WIDTHS[mix][0][1], WIDTHS[mix][-1][1]
    assert all(low <= width <= high for message in these for width in message.widths)


def test_alone_takes_a_call_a_line() -> None:
    outcome = run([Message(0, (50, 90)), Message(1, (100,))], Arrivals(in_flight=2, fetch_s=0), alone(PROFILE), flat)
    assert outcome.items == 1
    assert outcome.lines_per_s == 1
    assert outcome.fill == pytest.approx(240 / 300)
    assert outcome.busy == 1


def test_per_message_pads_to_the_widest_of_its_own_lines() -> None:
    outcome = run(
        [Message(0, (50, 150)), Message(1, (100,))], Arrivals(in_flight=2, fetch_s=0), PerMessage(PROFILE), flat
    )
    assert outcome.items == 1.5
    assert outcome.fill == pytest.approx(300 / (2 * 200 + 100))


def test_across_puts_lines_of_several_messages_together_each_in_its_bucket() -> None:
    these = [Message(number, (50, 150)) for number in range(4)]
    outcome = run(these, Arrivals(in_flight=4, fetch_s=0), Across(PROFILE, 0.0), flat)
    # four lines of 100 px in one call; of 200 px only two fit under 400
    assert outcome.items == pytest.approx(8 / 3)
    assert outcome.fill == pytest.approx(4 * 200 / (4 * 100 + 4 * 200))


def test_a_line_lingers_for_a_message_that_is_fetched_and_no_longer_than_the_linger() -> None:
    these = [Message(0, (50,)), Message(1, (50,))]
    comes = Arrivals(times=[0.0, 0.3], fetch_s=0.5)  # lines are there at 0.5 and 0.8 s
    impatient = run(these, comes, Across(PROFILE, 0.1), flat)
    assert impatient.items == 1.0
    assert impatient.added_p95 == pytest.approx(0.1)
    patient = run(these, comes, Across(PROFILE, 1.0), flat)
    assert patient.items == 2.0
    assert patient.added_p95 == pytest.approx(0.3)
    assert run(these, Arrivals(times=[0.0, 0.6], fetch_s=0.5), Across(PROFILE, 1.0), flat).added_p95 == 0.0


def test_nothing_is_lost_whatever_the_policy() -> None:
    these = messages(100, "forms", "1-8")
    lines = sum(len(message.widths) for message in these)
    for policy in (alone(PROFILE), PerMessage(PROFILE), Across(npu.GEARS, 0.01)):
        outcome = run(these, Arrivals(in_flight=16), policy, npu.seconds)
        assert outcome.lines_per_s / outcome.messages_per_s == pytest.approx(lines / 100)


def test_quantile() -> None:
    assert quantile([], 0.5) == 0
    assert quantile([3, 1, 2], 0.5) == 2
    assert quantile(range(100), 0.95) == 95
