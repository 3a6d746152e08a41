"""The picture of the autoscaling experiment: well-formed, and of the numbers that were sampled."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.cluster.picture import HEIGHT, draw, main

pytestmark = pytest.mark.unit

ROWS = [
    {"at": str(second), "lag": str(lag), "wanted": "1", "ready": "1", "pages": str(second * 2), "documents": "0"}
    for second, lag in enumerate([0, 100, 50, 0])
]


def _lines(svg: str) -> list[list[tuple[float, float]]]:
    root = ElementTree.fromstring(svg)  # our own file
    found = root.iter("{http://www.w3.org/2000/svg}polyline")
    return [[tuple(map(float, point.split(","))) for point in line.attrib["points"].split()] for line in found]


def test_four_lines_over_the_same_time():
    lines = _lines(draw(ROWS, "title"))
    assert [len(line) for line in lines] == [4, 4, 4, 4]
    lag = [y for _, y in lines[0]]
    assert lag[0] == lag[3]
    assert lag[0] - lag[1] == HEIGHT, "the largest value is the height of its panel"
    assert lag[0] - lag[2] == HEIGHT / 2


def test_pages_a_second():
    steady = _lines(draw(ROWS, "title"))[3]
    assert len({y for _, y in steady[1:]}) == 1, "two pages every second is a level line"


def test_the_command_writes_a_file(tmp_path):
    samples, picture = tmp_path / "s.csv", tmp_path / "p.svg"
    samples.write_text(",".join(ROWS[0]) + "\n" + "".join(",".join(row.values()) + "\n" for row in ROWS))
    assert main(samples, picture) == 0
    assert "by an HPA: 6 pages" in picture.read_text("utf-8")


def test_samples_far_apart_are_no_standstill():
    """On a busy machine a look takes longer than the mean is taken over: what came in between still counts."""
    rows = [{**ROWS[0], "at": str(20 * index), "pages": str(40 * index)} for index in range(5)]
    rate = _lines(draw(rows, "title"))[3]
    assert len({y for _, y in rate[1:]}) == 1
    assert rate[0][1] - rate[1][1] == HEIGHT, "two pages a second is the largest value"
