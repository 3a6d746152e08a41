"""The committed tables of the corpus benchmarks are those that the code makes: complete, consistent, and two files scored anew."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from benchmarks import scans, tables
from benchmarks.lib import corpus
from benchmarks.lib.machine import ROOT
from shared.models.install import install
from shared.settings import Settings

pytestmark = pytest.mark.integration

RESULTS = ROOT / "benchmarks" / "results"
NOISE_CER = 2.0
"""Per cent by which a text's error rate may differ between processors (bf16 and f32 find other lines) without the table being out of date."""
NOISE_TEDS = 0.1
LEAST_TEXT = 50
"""Characters of truth from which a file says something about reading."""


def result(name: str) -> list[list[str]]:
    """The rows of a committed result; skips without one, or without the corpus it is about."""
    if not (corpus.FOLDER / "manifest.json").exists():
        pytest.skip(f"there is no corpus in {corpus.FOLDER}")
    file = RESULTS / f"{name}.txt"
    if not file.exists():
        pytest.skip(f"{file.name} was not made yet: ./dev bench {name}")
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_scan_has_a_row_and_the_means_are_theirs() -> None:
    rows = result("scans")
    entries = corpus.entries(corpus.FOLDER, ("scans",))
    by_name = {row[0]: row for row in rows if len(row) == 8}
    assert {entry.name for entry in entries} <= set(by_name)
    for entry in entries:
        assert by_name[entry.name][1:3] == [scans.group_of(entry), scans.judged_by(entry.truth)]
    for group, cer, recall in (row for row in rows if len(row) == 3 and row[0] != "group"):
        these = [row for row in by_name.values() if row[1] == group]
        for shown, judged, column in ((cer, "cer", 4), (recall, "recall", 6)):
            values = [float(row[column]) for row in these if row[2] == judged]
            assert (
                shown == "-"
                if not values
                else float(shown.split()[0]) == pytest.approx(statistics.fmean(values), abs=0.02)
            )


def test_every_true_seal_has_a_row() -> None:
    rows = result("scans")
    entries = corpus.entries(corpus.FOLDER, ("seals",))
    wanted = [entry.name for entry in entries for _ in entry.truth.get("seals", [])]
    assert [row[0] for row in rows if len(row) == 4 and row[0] != "seal"] == wanted


def test_every_table_has_a_row_and_the_means_are_theirs() -> None:
    rows = result("tables")
    entries = corpus.entries(corpus.FOLDER, ("tables",))
    by_name = {row[0]: row for row in rows if len(row) == 6}
    assert {entry.name for entry in entries} <= set(by_name)
    (mean,) = (row for row in rows if row[0].startswith("all ("))
    for column, shown in ((3, mean[1]), (4, mean[2])):
        values = [float(by_name[entry.name][column]) for entry in entries]
        assert float(shown) == pytest.approx(statistics.fmean(values), abs=0.002)


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_two_files_are_scored_as_the_tables_say(tmp_path: Path) -> None:
    scan_rows = {row[0]: row for row in result("scans") if len(row) == 8}
    table_rows = {row[0]: row for row in result("tables") if len(row) == 6}
    install(Settings().engines.models)
    size = lambda entry: entry.path.stat().st_size
    scan = min((e for e in corpus.entries(corpus.FOLDER, ("scans",)) if len(e.read("text")) >= LEAST_TEXT), key=size)
    table = min(corpus.entries(corpus.FOLDER, ("tables",)), key=size)
    corpus.parse([scan.path, table.path], tmp_path)
    line = scans.lines_of(scan, corpus.parsed(tmp_path, scan))
    again = "the committed table is out of date: ./dev bench"
    assert line.score.cer == pytest.approx(float(scan_rows[scan.name][4]), abs=NOISE_CER), f"{again} scans"
    found = tables.line_of(table, corpus.parsed(tmp_path, table))
    assert found.score.structure == pytest.approx(float(table_rows[table.name][4]), abs=NOISE_TEDS), f"{again} tables"
