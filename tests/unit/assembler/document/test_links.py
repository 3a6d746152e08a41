"""Links land on their words, whatever became of the lines."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.assembler.document.joins import joined_over_columns
from services.assembler.document.links import joined, linked
from services.assembler.document.markdown import written
from shared.contracts.document import Block, Line, Link, Provenance
from shared.contracts.layout import LinkArea
from shared.contracts.tables import table_of
from tests.support.parsed import cell

pytestmark = pytest.mark.unit
URI = "https://example.org/"


def block(text: str, lines: list[tuple[list[float], str]], **more: Any) -> Block:
    boxes = [box for box, _ in lines]
    around = [min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes)]
    given_ = {"prov": [Provenance(page_no=1, bbox=around, char_span=[0, len(text)])], **more}
    return Block(
        id="b",
        order=0,
        label="text",
        raw_label="text",
        text=text,
        lines=[Line(bbox=box, text=line) for box, line in lines],
        **given_,
    )


def area(bbox: list[float], text: str = "", uri: str = URI) -> LinkArea:
    return LinkArea(bbox=bbox, text=text, uri=uri)


def words(made: Block) -> list[str]:
    return [made.text[link.start : link.end] for link in made.links]


def test_the_occurrence_that_is_nearest() -> None:
    one = block("see here and here and here", [([0, 0, 260, 10], "see here and here and here")])
    (made,) = linked([one], [area([130, 0, 170, 10], "here")], 1)
    assert [(link.start, link.uri) for link in made.links] == [(13, URI)]


def test_a_link_over_two_lines_with_a_healed_hyphen_is_one() -> None:
    lines = [([0.0, 0.0, 200.0, 10.0], "read all the instruc-"), ([0.0, 12.0, 200.0, 22.0], "tions before use")]
    one = block("read all the instructions before use", lines)
    (made,) = linked([one], [area([120, 0, 200, 10], "instruc-"), area([0, 12, 40, 22], "tions")], 1)
    assert words(made) == ["instructions"]


def test_one_area_over_two_lines() -> None:
    lines = [([0.0, 0.0, 100.0, 10.0], "all of"), ([0.0, 12.0, 100.0, 22.0], "this text")]
    (made,) = linked([block("all of this text", lines)], [area([0, 0, 100, 22], "all of this text")], 1)
    assert words(made) == ["all of this text"]


def test_where_nothing_is_known_of_the_words_their_share_decides() -> None:
    one = block("aaaa bbbb cccc", [([0, 0, 140, 10], "aaaa bbbb cccc")], method="det_rec")
    (made,) = linked([one], [area([48, 0, 95, 10])], 1)
    assert words(made) == ["bbbb"]


def test_other_lines_pages_and_blocks_are_not_touched() -> None:
    one = block("some words", [([0, 0, 100, 10], "some words")])
    assert linked([one], [area([0, 30, 100, 40], "some words")], 1) == [one]
    assert linked([one], [area([200, 0, 300, 10], "some words")], 1) == [one]
    two = block("some words", [([0, 0, 100, 10], "some words")], prov=[Provenance(page_no=2)])
    two = type(two)(
        **{
            **{f: getattr(two, f) for f in two.__struct_fields__},
            "lines": [Line(bbox=[0, 0, 100, 10], text="some words", page_no=2)],
        }
    )
    assert linked([two], [area([0, 0, 100, 10], "some words")], 1) == [two]


def test_vertical_lines() -> None:
    one = block("縦書きの文", [([80, 0, 100, 100], "縦書きの文")], writing_mode="vertical_rl")
    (made,) = linked([one], [area([80, 60, 100, 100], "の文")], 1)
    assert words(made) == ["の文"]


def test_words_of_a_table_that_are_there_once() -> None:
    table = table_of([cell(0, 0, "twice"), cell(0, 1, "once"), cell(1, 0, "twice")])
    one = block("twice\tonce\ntwice", [([0, 0, 100, 100], "x")], table=table)
    (made,) = linked([one], [area([10, 10, 20, 20], "once"), area([10, 10, 20, 20], "twice")], 1)
    assert words(made) == ["once"]


BOXES = st.lists(st.floats(-10, 120), min_size=4, max_size=4).map(
    lambda v: [min(v[0], v[2]), min(v[1], v[3]), max(v[0], v[2]), max(v[1], v[3])]
)


@given(st.lists(st.text(max_size=12), max_size=4), st.lists(st.tuples(BOXES, st.text(max_size=6)), max_size=6))
def test_links_are_inside_the_text_in_order_and_apart(lines: list[str], areas: list[tuple[list[float], str]]) -> None:
    placed = [([0.0, 12.0 * i, 100.0, 12.0 * i + 10], line) for i, line in enumerate(lines)] or [([0, 0, 1, 1], "")]
    one = block(" ".join(line.strip() for line in lines), placed)
    (made,) = linked([one], [area(box, text, f"{URI}{i}") for i, (box, text) in enumerate(areas)], 1)
    end = 0
    for link in made.links:
        assert end <= link.start < link.end <= len(made.text)
        end = link.end


def test_links_go_with_paragraphs_that_are_joined() -> None:
    first = Block(id="a", order=0, label="text", raw_label="text", text="word-", links=[Link(start=0, end=5, uri="x")])
    second = Block(
        id="b", order=1, label="text", raw_label="text", text="ing on", links=[Link(start=0, end=3, uri="y")]
    )
    assert joined(first, second, 4) == [Link(start=0, end=4, uri="x"), Link(start=4, end=7, uri="y")]


def test_a_joined_paragraph_keeps_its_links_in_markdown() -> None:
    def column(index: int, x: float, y: float, lines: list[str]) -> Block:
        boxes = [([x, y + 12 * i, x + 200.0, y + 12 * i + 10], line) for i, line in enumerate(lines)]
        made = block(" ".join(lines), boxes)
        return type(made)(
            **{**{f: getattr(made, f) for f in made.__struct_fields__}, "id": f"b{index}", "order": index}
        )

    left = column(0, 50, 700, ["a paragraph that goes on and", "on to the next column and the"])
    right = column(1, 300, 100, ["manual is there for everybody", "who wants to know."])
    made = linked(joined_over_columns([left, right]), [area([300, 100, 350, 110], "manual")], 1)
    text, _ = written(made)
    assert f"[manual]({URI})" in text
    assert sum(len(b.links) for b in made) == 1
