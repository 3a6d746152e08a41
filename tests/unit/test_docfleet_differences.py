"""A diff says what changed for a person, no more, and ends as `diff` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from typer.testing import CliRunner

from docfleet.cli.main import app
from docfleet.differences import cell_changes, differences, paired, words
from shared.contracts.codec import decode, encode
from shared.contracts.document import Block, ParsedDocument, Provenance, Warning
from shared.contracts.records import Timings
from shared.contracts.tables import table_of
from tests.support.parsed import TEXTS, block, blocks, cell, document, documents, everything, page

pytestmark = pytest.mark.unit
EXAMPLES = settings(max_examples=60)


def changes(before: list[Block], after: list[Block]) -> list[tuple[Any, ...]]:
    found = differences(document(before)[0], document(after)[0])
    return [(b.kind, b.before, b.after) for one in found.pages for b in one.blocks]


@EXAMPLES
@given(documents())
def test_a_document_does_not_differ_from_itself(made: tuple[ParsedDocument, str]) -> None:
    assert not differences(made[0], made[0]).any


@EXAMPLES
@given(blocks(), blocks())
def test_every_block_is_told_once_at_most(old: list[Block], new: list[Block]) -> None:
    pairs = paired(old, new)
    assert len({id(a) for a, _ in pairs}) == len({id(b) for _, b in pairs}) == len(pairs)
    found = differences(document(old)[0], document(new)[0])
    assert found.count("removed") <= len(old)
    assert len(old) - found.count("removed") == len(new) - found.count("added")


@given(TEXTS, TEXTS)
def test_words_lead_from_one_text_to_the_other(before: str, after: str) -> None:
    edits = words(before, after)
    assert "".join(text for kind, text in edits if kind in "=-") == before
    assert "".join(text for kind, text in edits if kind in "=+") == after


def test_words_are_words_and_cjk_characters() -> None:
    assert words("the red fish", "the blue fish") == [("=", "the "), ("-", "red"), ("+", "blue"), ("=", " fish")]
    assert words("河豚有毒", "河豚无毒") == [("=", "河豚"), ("-", "有"), ("+", "无"), ("=", "毒")]


def test_what_only_names_a_run_is_no_difference() -> None:
    parsed, _ = everything()
    other = replace(
        parsed,
        document_id="other",
        generation=3,
        timings=Timings(total_s=9.0),
        source=replace(parsed.source, key="elsewhere.pdf", etag="x"),
        blocks=[replace(b, confidence=0.1, id=f"x{b.order}", caption_ids=[], footnote_ids=[]) for b in parsed.blocks],
    )
    assert not differences(parsed, other).any


def test_one_more_block_is_one_difference_although_all_ids_shift() -> None:
    old = [block(i, "text", f"paragraph {i}") for i in range(6)]
    new = [block(i, "text", text) for i, text in enumerate(["new", *(f"paragraph {i}" for i in range(6))])]
    new = [replace(b, prov=old[max(0, b.order - 1)].prov) for b in new]
    assert changes(old, new) == [("added", None, "p00001-b000")]
    assert changes(new, old) == [("removed", "p00001-b000", None)]


def test_a_block_is_known_by_its_place_or_its_words() -> None:
    assert changes([block(0, "text", "abc")], [block(0, "title", "xyz")]) == [("changed", "p00001-b000", "p00001-b000")]
    far = block(9, "text", "many words that are the same here")
    assert changes([block(0, "text", "many words that are the same")], [far])[0][0] == "changed"
    assert [c[0] for c in changes([block(0, "text", "abc")], [block(9, "text", "xyz")])] == ["removed", "added"]


def test_fields_of_a_block() -> None:
    old = block(0, "text", "words", method="native")
    moved = [Provenance(page_no=1, bbox=[60.0, 20.0, 550.0, 56.0])]
    (change,) = (
        differences(
            document([old])[0], document([replace(old, label="title", level=0, method="det_rec", prov=moved)])[0]
        )
        .pages[0]
        .blocks
    )
    assert [c.field for c in change.fields] == ["label", "level", "method", "place"]
    a_little = [Provenance(page_no=1, bbox=[50.4, 20.0, 550.0, 56.0])]
    assert not differences(document([old])[0], document([replace(old, prov=a_little)])[0]).any


def test_rows_and_cells_of_tables() -> None:
    def table(rows: list[list[str]]) -> Any:
        return table_of([cell(r, c, text) for r, row in enumerate(rows) for c, text in enumerate(row)])

    found = cell_changes(
        table([["a", "b"], ["1", "2"], ["3", "4"]]), table([["a", "b"], ["1", "9"], ["3", "4"], ["5", "6"]])
    )
    assert [(c.kind, c.row, c.col, c.before, c.after) for c in found] == [
        ("changed", 1, 1, "2", "9"),
        ("added", 3, None, None, "5 | 6"),
    ]
    wide = table_of([cell(0, 0, "a", col_span=2)])
    (one, other) = cell_changes(table([["a", "b"]]), wide)
    assert (one.before, one.after, other.kind) == ("a", "a (1 × 2)", "removed")


def test_pages_errors_and_status() -> None:
    parsed, _ = everything()
    warning = Warning(code="low_confidence", message="read with confidence 0.20", page_no=1)
    other = replace(
        parsed, pages=[replace(parsed.pages[0], status="failed")], status="partial_success", warnings=[warning]
    )
    found = differences(parsed, other)
    assert [c.field for c in found.fields] == ["status"]
    assert found.errors_added == ["page 1: low_confidence: read with confidence 0.20"]
    assert [(one.page_no, one.only, [c.field for c in one.fields]) for one in found.pages] == [
        (1, None, ["status"]),
        (2, "before", []),
    ]


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["diff", *map(str, arguments)])


def saved(folder: Path, name: str, parsed: ParsedDocument) -> Path:
    path = folder / name
    path.write_bytes(encode(parsed))
    return path


def test_the_command_ends_as_diff_does(tmp_path: Path) -> None:
    parsed, _ = everything()
    changed = replace(parsed, blocks=[replace(b, text=b.text.replace("swim", "live")) for b in parsed.blocks])
    a, b = saved(tmp_path, "a.json", parsed), saved(tmp_path, "b.json", changed)
    same = run(a, a)
    assert (same.exit_code, same.output) == (0, "")
    differ = run(a, b)
    assert differ.exit_code == 1
    assert differ.output == (
        "blocks: 1 changed; pages with differences: 1\n"
        "page 1\n"
        "  ~ p00001-b003 text: Fish [-swim-]{+live+} in the sea. Chips do not; “they” sink.\n"
    )
    broken = tmp_path / "broken.json"
    broken.write_text("{}")
    assert run(a, broken).exit_code == 2


def test_the_command_gives_json(tmp_path: Path) -> None:
    from docfleet.differences import Differences

    a = saved(tmp_path, "a.json", document([block(0, "text", "one")], [page(1)])[0])
    b = saved(tmp_path, "b.json", document([block(0, "text", "two")], [page(1)])[0])
    done = run(a, b, "--json")
    assert done.exit_code == 1
    found = decode(done.output.encode(), Differences)
    assert found.pages[0].blocks[0].text == [("-", "one"), ("+", "two")]
