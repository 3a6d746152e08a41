"""The arithmetic of `bench reading`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.lib import bench, contest
from benchmarks.lib.bench import Score
from benchmarks.lib.machine import kind_of
from benchmarks.lib.processes import cpu_s, peak_bytes, tree

pytestmark = pytest.mark.unit


def reading(system: str, number: int, pages: int, wall: float, cpu: float, line: float = 0.1) -> contest.Reading:
    return contest.Reading(system, number, "one", pages, wall, cpu, 100 * number, 50, Score(1_000, line, line * 2))


def test_a_round_is_all_its_documents_and_a_row_the_median_of_its_rounds() -> None:
    readings = [
        reading("ours", 1, 3, 3.0, 6.0),
        contest.Reading("ours", 1, "two", 7, 2.0, 4.0, 900, 50, Score(3_000, 0.3, 0.6)),
        reading("ours", 2, 10, 1.0, 20.0),
        reading("ours", 3, 10, 4.0, 30.0),
    ]
    row = contest.row(readings, "ours")
    assert row is not None
    assert row.pages_per_s == 2.5  # 2, 10, 2.5
    assert row.cpu_s_per_page == 2.0  # 1, 2, 3
    assert row.resident == 900
    assert row.line == pytest.approx(0.25)  # the worst round: 0.1 of 1000 and 0.3 of 3000 characters
    assert row.rounds == 3
    assert contest.row(readings, "others") is None


def test_ratios_are_taken_within_rounds() -> None:
    readings = [
        reading("ours", 1, 10, 1.0, 10.0),
        reading("theirs", 1, 10, 4.0, 30.0),
        reading("ours", 2, 10, 10.0, 10.0),  # the machine was slow, for both
        reading("theirs", 2, 10, 40.0, 30.0),
        reading("ours", 3, 10, 1.0, 10.0),
    ]
    assert contest.ratio(readings, "ours", "theirs") == (4.0, 3.0)
    assert contest.ratio(readings, "ours", "nobody") is None


def test_every_system_begins_once() -> None:
    names = ["a", "b", "c"]
    assert [contest.turns(names, number)[0] for number in range(3)] == names
    assert all(sorted(contest.turns(names, number)) == names for number in range(5))


def test_documents_are_those_with_a_truth(tmp_path: Path) -> None:
    for name in ("a_scan", "b_scan", "c"):
        (tmp_path / f"{name}.pdf").write_bytes(b"")
    for name in ("a_scan", "c"):
        (tmp_path / f"{name}.json").write_text(json.dumps([{"els": []}, {"els": []}]))
    assert [(one.name, one.pages) for one in bench.documents(tmp_path)] == [("a_scan", 2)]


def test_missing_pages_count_as_empty() -> None:
    asked: list[list[str]] = []

    class Metrics:
        @staticmethod
        def score(path: str, texts: list[str]) -> dict[str, float]:
            asked.append(texts)
            return {"chars": 10, "cer_line": 1.0, "cer_bag": 2.0}

    document = bench.Document(Path("a.pdf"), Path("a.json"), 3)
    assert bench.score(Metrics, document, ["x"]) == Score(10, 1.0, 2.0)
    bench.score(Metrics, document, ["1", "2", "3", "4"])
    assert asked == [["x", "", ""], ["1", "2", "3"]]


def test_scores_together_are_weighted_by_characters() -> None:
    assert bench.together([Score(100, 1.0, 2.0), Score(300, 0.0, 0.0)]) == Score(400, 0.25, 0.5)
    assert bench.together([]) == Score(0, 0.0, 0.0)


def test_classes_of_processors() -> None:
    assert kind_of(["avx2", "avx512_bf16", "amx_bf16"]) == "amx"
    assert kind_of(["avx2", "avx512f", "avx512_bf16"]) == "avx512_bf16"
    assert kind_of(["avx2", "avx512f"]) == "avx2"


def test_a_process_is_in_its_own_tree() -> None:
    import os

    me = os.getpid()
    before = cpu_s(me)
    sum(range(3_000_000))
    assert cpu_s(me) > before
    assert me in tree(me)
    assert peak_bytes(me)[me] > 2**20
