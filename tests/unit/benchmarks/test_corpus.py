"""Scores of `bench scans` and `bench tables`, on cases that can be worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import scans, tables
from benchmarks.lib import corpus, teds
from benchmarks.lib.corpus_text import best_part, compare, judged_by, normal, score
from shared.contracts.document import Block, Page, Provenance

pytestmark = pytest.mark.unit


def test_text_is_compared_without_blanks_and_kinds_of_dashes() -> None:
    assert normal("A – b\n“c”\t• ｄ") == 'A-b"c"-d'
    assert normal("fuͤr daſs") == normal("für dass")
    assert compare("ab cd", "abcd").cer == 0


def test_error_rate_and_recalls() -> None:
    found = compare("abcdefghij", "jabcdefgh")
    assert found.characters == 10
    assert found.cer == 30  # j inserted before, ij missing behind
    assert found.recall == 80
    assert found.bag == 90


def test_an_unreadable_character_of_the_truth_costs_nothing() -> None:
    assert compare("ab~c~", "abc").cer == 0


def test_an_empty_result_has_missed_everything_and_an_empty_truth_nothing() -> None:
    assert compare("abc", "") == (3, 100.0, 0.0, 0.0)
    assert compare("", "") == (0, 0.0, 100.0, 100.0)
    assert compare("", "x").cer == 100


def test_pages_that_all_say_the_same_are_judged_by_the_worst() -> None:
    hints = {"per_page_same": True}
    assert score("abcd", ["abcd", "abxd"], hints).cer == 25
    assert score("abcd", [], hints).cer == 100
    assert score("ab\fcd", ["ab", "cd"], {}).cer == 0


@pytest.mark.parametrize(
    ("hints", "judged"), [({}, "cer"), ({"partial": True}, "recall"), ({"order": "loose"}, "recall")]
)
def test_hints_say_what_a_file_is_judged_by(hints: dict[str, Any], judged: str) -> None:
    assert judged_by(hints) == judged


def test_part_of_a_text() -> None:
    assert best_part("发票专用章", "一二三发票专用章四") == 100
    assert best_part("abcd", "xxabdxx") == 75
    assert best_part("abcd", "") == 0
    assert best_part("", "whatever") == 100


# --- tables -----------------------------------------------------------------------------------------------------------

SIMPLE = "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>"


def one(text: str) -> str:
    (table,) = teds.tables_in(text)
    return table


def test_heads_and_marks_of_letters_do_not_count() -> None:
    marked = "<table><thead><tr><th><b>a</b></th><th> b </th></tr></thead><tbody><tr><td>c</td><td>d</td></tr></tbody></table>"
    assert one(marked) == one(SIMPLE)
    assert teds.compare(one(marked), one(SIMPLE)) == (1, 1)


def test_text_counts_for_teds_and_not_for_structure() -> None:
    found = teds.compare(one(SIMPLE.replace(">d<", ">x<")), one(SIMPLE))
    assert found.structure == 1
    assert found.teds == pytest.approx(1 - 1 / 7)  # one of seven nodes: table, two rows, four cells


def test_spans_count() -> None:
    merged = "<table><tr><td colspan='2'>a</td></tr><tr><td>c</td><td>d</td></tr></table>"
    assert teds.compare(one(merged), one(SIMPLE)).structure == pytest.approx(1 - 2 / 7)


def test_text_that_looks_like_markup_stays_text() -> None:
    table = one("<table><tr><td>a &lt; b &amp; c</td></tr></table>")
    assert teds.compare(table, table) == (1, 1)
    assert teds.compare(table, one("<table><tr><td>a</td></tr></table>")).structure == 1


def test_missing_and_extra_tables_count_nothing() -> None:
    other = "<table><tr><td>z</td></tr></table>"
    two = [one(other), one(SIMPLE)]
    assert teds.score(two, two) == (1, 1)
    assert teds.score([one(SIMPLE)], two) == (0.5, 0.5)
    assert teds.score(two, [one(SIMPLE)]) == (0.5, 0.5)
    assert teds.score([], [one(SIMPLE)]) == (0, 0)
    assert teds.score([], []) == (1, 1)


# --- corpora and seals ------------------------------------------------------------------------------------------------


def block(number: int, text: str, top: float, label: str = "text", layer: str = "body") -> Block:
    place = Provenance(page_no=1, bbox=[10.0, top, 90.0, top + 10])
    return Block(
        id=f"b{number}",
        order=number,
        label=label,  # type: ignore[arg-type]
        raw_label=label,
        content_layer=layer,  # type: ignore[arg-type]
        text=text,
        prov=[place],
    )


def test_a_page_is_its_head_its_blocks_in_order_and_its_foot() -> None:
    blocks = [
        block(3, "second", 30),
        block(1, "foot", 90, "page_footer", "furniture"),
        block(2, "first", 50),
        block(4, "head", 5, "page_header", "furniture"),
        block(5, "seen in a picture", 60, "picture"),
    ]

    page = Page(page_no=1, width=100, height=100, unit="px", status="ok", kind="scanned")
    document: Any = SimpleNamespace(pages=[page], blocks=blocks)
    assert corpus.pages(document) == ["head\nfirst\nsecond\nfoot"]


def entry(
    tmp_path: Path, name: str, truth: dict[str, Any], folder: str = "seals", language: str = "zh-Hans"
) -> corpus.Entry:
    return corpus.Entry(tmp_path / folder / f"{name}.png", name, folder, language, truth)


def test_seals_are_found_by_their_place_and_read_by_their_text(tmp_path: Path) -> None:
    truth = {
        "seals": [
            {"shape": "round", "box": [10, 0, 90, 10], "text": ["发票专用章", "12"]},
            {"shape": "oval", "box": [0, 200, 9, 209], "text": ["x"]},
        ]
    }

    document: Any = SimpleNamespace(blocks=[block(1, "发票专用章", 0, "seal"), block(2, "?", 50, "seal")])
    found, wrong = scans.seals_of(entry(tmp_path, "s", truth), document)
    assert [(seal.found, seal.good) for seal in found] == [(True, True), (False, False)]
    assert found[0].texts == [("发票专用章", 100.0), ("12", 0.0)]
    assert wrong == 1
    assert scans.seals_of(entry(tmp_path, "s", truth), None)[0][0].found is False


def test_groups(tmp_path: Path) -> None:
    group = lambda name, language, **truth: scans.group_of(entry(tmp_path, name, truth, "scans", language))
    assert group("zh_ras_dm12", "zh-Hans+en") == "Chinese pages"
    assert group("zh_product", "zh-Hans") == "Chinese photos and lines"
    assert group("de_clauren_0031", "de (Fraktur)") == "out of reach"
    assert group("ja_vertical", "ja", vertical=True) == "other scripts and vertical"
    assert group("en_receipt", "en") == "Latin"


def test_a_manifest_is_read(tmp_path: Path) -> None:
    (tmp_path / "truth").mkdir()
    (tmp_path / "truth" / "a.txt").write_text("said")
    listed = [{"file": "scans/a.png", "language": "en", "truth": {"text": "truth/a.txt"}}, {"file": "hostile/b.pdf"}]
    (tmp_path / "manifest.json").write_text(json.dumps({"files": listed}))
    (found,) = corpus.entries(tmp_path, ("scans", "tables"))
    assert (found.name, found.path, found.read("text")) == ("a", tmp_path / "scans" / "a.png", "said")
    assert corpus.entries(tmp_path / "nowhere", ("scans",)) == []
    assert corpus.parsed(tmp_path, found) is None
    line = scans.lines_of(found, None)
    assert (line.score.cer, line.note) == (100, "no result")


def test_means_are_over_files() -> None:
    lines = [
        tables.Line("tab_PMC1", 1, 1, teds.TableScore(0.5, 1.0), ""),
        tables.Line("tab_other", 1, 0, teds.TableScore(0.0, 0.0), ""),
    ]
    assert tables.means(lines)[0] == "| all (2) | 0.250 | 0.500 |"
    assert tables.means(lines)[1] == "| PubTabNet (1) | 0.500 | 1.000 |"
