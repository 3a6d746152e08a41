"""The simulated fleet of `benchmarks/ascend_model`: where its times can be known without it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import ascend_model
from benchmarks.lib import article
from benchmarks.lib.fleet_model import Fleet, Page, run

pytestmark = pytest.mark.unit

FLEET = Fleet(call_s=lambda widths: 0.1 * len(widths), cores=1, batch=1)


def test_one_page_takes_the_sum_of_its_parts() -> None:
    found = run([Page(1.0, 2.0, (100, 100), 1, 0.5)], replace(FLEET, vl_call_s=4.0))
    assert found.seconds == pytest.approx(1 + 2 + 4 + 0.5)  # its lines are read while the VL model answers
    assert found.small_end_s == pytest.approx(3.2)
    assert found.vl_end_s == pytest.approx(7.0)


def test_a_page_without_lines_is_composed() -> None:
    assert run([Page(1.0, 2.0, (), 0, 0.5)], FLEET).seconds == pytest.approx(3.5)


def test_every_line_is_read_once_whatever_the_batch() -> None:
    pages = [Page(0.0, 0.01, tuple(range(30, 30 + 7 * number, 7)), 0) for number in range(1, 20)]
    lines = sum(len(page.widths) for page in pages)
    read: list[int] = []
    for batch in (1, 3, 8):
        read.clear()
        found = run(
            pages, replace(FLEET, batch=batch, call_s=lambda widths: read.append(len(widths)) or 0.001 * len(widths))
        )  # type: ignore[func-returns-value]
        assert sum(read) == lines
        assert max(read) <= batch
        assert found.calls == len(read)


def test_a_call_stays_below_its_width_but_a_wide_line_goes_alone() -> None:
    calls: list[list[int]] = []
    fleet = replace(FLEET, batch=8, batch_width=1000, call_s=lambda widths: calls.append(list(widths)) or 0.1)  # type: ignore[func-returns-value]
    run([Page(0.0, 0.1, (300, 400, 500, 4000), 0)], fleet)
    assert all(sum(call) <= 1000 or len(call) == 1 for call in calls)
    assert [4000] in calls


def test_two_cards_halve_the_time_of_what_is_bound_by_one() -> None:
    pages = [Page(0.0, 1.0, (), 0)] * 100
    one, two = (run(pages, replace(FLEET, cards=cards, layout_workers=cards, cores=8)).seconds for cards in (1, 2))
    assert one == pytest.approx(100)
    assert two == pytest.approx(50)


def test_a_machine_without_cards_works_on_its_cores() -> None:
    fleet = replace(FLEET, same=True, cores=2, cards=2, layout_workers=2, rec_workers=2)
    found = run([Page(0.5, 0.5, (10,), 0)] * 40, fleet)
    assert found.core_busy == pytest.approx(1.0, abs=0.02)
    assert found.seconds == pytest.approx(40 * 1.1 / 2, rel=0.02)


def test_the_vl_server_gains_as_its_curve_says() -> None:
    pages = [Page(0.0, 0.0, (), 1)] * 320
    fleet = replace(FLEET, vl_call_s=1.0, vl_gain=article.vl_gain, window=1000, layout_workers=100, cores=100)
    alone, many = (run(pages, replace(fleet, vl_in_flight=in_flight)).seconds for in_flight in (1, 32))
    assert alone == pytest.approx(320, rel=0.01)
    assert many == pytest.approx(320 / article.vl_gain(32), rel=0.05)


def test_the_gain_meets_the_published_points_and_is_flat_beyond() -> None:
    for in_flight, speed in article.VL_TOKENS_PER_S.items():
        assert article.vl_gain(in_flight) == pytest.approx(speed / article.VL_TOKENS_PER_S[1])
    assert article.vl_gain(1000) == article.vl_gain(100)


def test_the_fit_gives_back_the_one_run_it_was_made_of() -> None:
    pages = ascend_model.lines(article.PAGES)
    fitted = ascend_model.fit(pages)
    detection = article.PAGES * (ascend_model.PAGE.regions + ascend_model.PAGE.vl) * fitted.detection_s
    total = detection + ascend_model.alone_s(pages) + article.PAGES * fitted.other_s
    assert total == pytest.approx(article.SMALL_NPU_S)
    assert fitted.detection_s > 0
    assert ascend_model.batched_s(pages) < ascend_model.alone_s(pages)


def test_documents_weigh_by_their_pages_up_to_thirty_and_short_ones_are_left_out(tmp_path: Path) -> None:
    for name, pages, labels in (
        ("long", 60, ["text"] * 60),
        ("short", 10, ["table", "seal"] * 5),
        ("page", 1, ["table"]),
    ):
        blocks = [{"label": label} for label in labels] + [{"label": "table", "content_layer": "furniture"}]
        (tmp_path / f"{name}.json").write_text(json.dumps({"pages": [{}] * pages, "blocks": blocks}))
    (tmp_path / "other.json").write_text("{}")
    found = ascend_model.documents(tmp_path)
    assert [(one.name, one.pages, one.regions, one.vl) for one in found] == [
        ("long", 60, 1.0, 0.0),
        ("short", 10, 0.0, 1.0),
    ]
    mean = ascend_model.statistics(found)
    assert (mean.regions, mean.vl) == (0.8, 0.25)
