"""Footnotes at what carries their mark; nesting of list items."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from services.assembler.document.lists import nested
from services.assembler.document.ties import tied
from shared.contracts.document import Block, Label, Line, Provenance

pytestmark = pytest.mark.unit


def block(index: int, label: Label, text: str, x: float = 60.0, y: float | None = None, page_no: int = 1) -> Block:
    top = 60.0 + 20 * index if y is None else y
    box = [x, top, 500.0, top + 12]
    return Block(
        id=f"b{index}",
        order=index,
        label=label,
        raw_label=label,
        text=text,
        prov=[Provenance(page_no=page_no, bbox=box, char_span=[0, len(text)])],
        lines=[Line(bbox=box, text=text)],
    )


def owners(blocks: Sequence[Block]) -> dict[str, list[str]]:
    return {b.id: b.footnote_ids for b in tied(blocks) if b.footnote_ids}


@pytest.mark.parametrize(
    ("carrier", "note"),
    [
        ("The costs fell.1", "1 Report of 1999."),
        ("The costs1 fell.", "1 Report of 1999."),
        ("费用下降。12", "12 见报告。"),
        ("The costs fell* at once.", "* Report."),
        ("The costs fell[3] at once.", "[3] Report."),
        ("費用①は下がった。", "① 報告。"),
    ],
)
def test_a_note_is_tied_to_its_mark(carrier: str, note: str) -> None:
    blocks = [block(0, "text", "Nothing here, or 1 of 12."), block(1, "text", carrier), block(2, "footnote", note)]
    assert owners(blocks) == {"b1": ["b2"]}
    assert tied(blocks)[2].parent_id == "b1"


@pytest.mark.parametrize(
    "carrier", ["In 1999 the costs fell by 1 per cent.", "Version 2.1 is out.", "Grew by 11.", "第1章", "No mark"]
)
def test_numbers_of_the_text_are_no_marks(carrier: str) -> None:
    assert owners([block(0, "text", carrier), block(1, "footnote", "1 Report.")]) == {}


def test_two_that_might_be_meant_are_not_plain() -> None:
    blocks = [block(0, "text", "It fell.1"), block(1, "text", "It rose.1"), block(2, "footnote", "1 Report.")]
    assert owners(blocks) == {}


def test_a_note_belongs_to_its_page() -> None:
    blocks = [
        block(0, "text", "It fell.1"),
        block(1, "footnote", "1 One."),
        block(2, "text", "It rose.1", page_no=2),
        block(3, "footnote", "1 Two.", page_no=2),
    ]
    assert owners(blocks) == {"b0": ["b1"], "b2": ["b3"]}


def levels(*items: tuple[Label, float]) -> list[int | None]:
    return [b.level for b in nested([block(i, label, "• x", x) for i, (label, x) in enumerate(items)])]


def test_items_that_are_set_in_are_deeper() -> None:
    assert levels(
        ("list_item", 60), ("list_item", 76), ("list_item", 92), ("list_item", 76), ("list_item", 60)
    ) == [0, 1, 2, 1, 0]  # fmt: skip


def test_a_paragraph_of_an_item_does_not_end_the_list_and_one_at_the_margin_does() -> None:
    assert levels(("list_item", 60), ("text", 76), ("list_item", 76)) == [0, None, 1]
    assert levels(("list_item", 60), ("text", 60), ("list_item", 76)) == [0, None, 0]


def test_a_list_begins_again_in_the_next_column_and_goes_on_over_a_page() -> None:
    column = [block(0, "list_item", "• a", 60, 700), block(1, "list_item", "• b", 320, 60)]
    assert [b.level for b in nested(column)] == [0, 0]
    page = [block(0, "list_item", "• a", 60, 700), block(1, "list_item", "– b", 76, 60, page_no=2)]
    assert [b.level for b in nested(page)] == [0, 1]
