"""Ruling lines as an eye sees them: joined, clipped, not white, in the displayed frame; filled boxes with their colour."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from shared.documents.child import DocumentChild
from shared.documents.limits import bounds_of
from shared.documents.page import OpenedPage, PageCall
from shared.settings import Limits
from tests.support.pdfs import one_page, text_at

pytestmark = pytest.mark.unit


def opened(folder: Path, content: str, keys: str = "/MediaBox [0 0 612 792]", **limits: int) -> OpenedPage:
    path = folder / "page.pdf"
    path.write_bytes(one_page(content, keys))
    call = PageCall(path=str(path), mime_type="application/pdf", page_no=1, dpi=72, picture="none")
    return DocumentChild(bounds_of(Limits(**limits))).open_page(call, [])[0].page


def rules(page: OpenedPage) -> list[tuple[str, list[int]]]:
    return [("h" if rule.horizontal else "v", [round(v) for v in rule.bbox]) for rule in page.rules]


def test_cells_drawn_one_by_one_give_the_lines_of_the_grid(tmp_path: Path) -> None:
    cells = "".join(f"{100 + 80 * c} {600 + 20 * r} 80 20 re S\n" for r in range(3) for c in range(4))
    page = opened(tmp_path, "0.5 w " + cells)
    across = [rule for rule in page.rules if rule.horizontal]
    down = [rule for rule in page.rules if not rule.horizontal]
    assert [[round(v) for v in rule.bbox] for rule in across] == [[100, y, 420, y] for y in (132, 152, 172, 192)]
    assert [[round(v) for v in rule.bbox] for rule in down] == [[x, 132, x, 192] for x in (100, 180, 260, 340, 420)]


@pytest.mark.parametrize(
    "drawn",
    [
        "1 w 100 700 m 300 700 l S",
        "100 699.5 200 1 re f",
        "100 699.5 m 300 699.5 l 300 700.5 l 100 700.5 l h f",
        "[2 2] 0 d 1 w 100 700 m 300 700 l S",
        "0.2 w 100 699.6 200 0.8 re S",
        " ".join(f"{x} 699.5 1 1 re f" for x in range(100, 301, 2)),
        "1 w 100 700 m 220 700 l S 221 700 m 300 700 l S 100 700 m 300 700 l S",
    ],
    ids=["stroke", "thin box", "thin path", "dashes", "outline", "dots", "in parts and twice"],
)
def test_one_line_is_one_rule_however_it_is_drawn(tmp_path: Path, drawn: str) -> None:
    ((kind, box),) = rules(opened(tmp_path, drawn))
    assert kind == "h"
    assert box == pytest.approx([100, 92, 300, 92], abs=1)


def test_a_double_line_is_two_and_a_hatching_stays_lines(tmp_path: Path) -> None:
    double = opened(tmp_path, "0.5 w 100 700 m 300 700 l S 100 697.5 m 300 697.5 l S")
    assert len(double.rules) == 2
    hatched = opened(tmp_path, "0.5 w " + "".join(f"100 {600 + i} m 300 {600 + i} l S " for i in range(60)))
    assert all(rule.bbox[3] - rule.bbox[1] < 6 for rule in hatched.rules)


def test_what_is_not_seen_is_no_rule(tmp_path: Path) -> None:
    page = opened(
        tmp_path,
        "1 1 1 RG 100 700 m 300 700 l S 0 0 0 RG 100 650 m 104 650 l S 100 600 m 300 500 l S"
        " q 0 0 200 400 re W n 100 300 m 300 300 l S 300 200 m 400 200 l S Q 500 100 m 700 100 l S",
    )
    assert [rule[1][0::2] for rule in rules(page)] == [[100, 200], [500, 612]], "clipped by its path and by the page"


def test_filled_boxes(tmp_path: Path) -> None:
    page = opened(
        tmp_path,
        "0.8 0.6 1 rg 100 600 200 50 re f 1 1 1 rg 100 500 200 50 re f 0 g 100 400 200 2 re f 0 0 1 rg 100 300 m 200 300 l 150 350 l f"
        + text_at(100, 200, "text"),
    )
    assert [([round(v) for v in one.bbox], one.color) for one in page.filled_boxes] == [
        ([100, 142, 300, 192], "#cc99ff")
    ]


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_rules_turn_with_the_page(tmp_path: Path, rotation: int) -> None:
    page = opened(tmp_path, "1 w 100 700 m 300 700 l S", f"/MediaBox [0 0 612 792] /Rotate {rotation} /UserUnit 2")
    ((kind, box),) = rules(page)
    assert (kind == "v") == (rotation in (90, 270))
    assert max(box[2] - box[0], box[3] - box[1]) == pytest.approx(400, abs=4)


def test_a_page_with_too_many_drawings_is_looked_at_as_a_picture(tmp_path: Path) -> None:
    content = "".join(f"100 {100 + 4 * i} m 300 {100 + 4 * i} l S\n" for i in range(100))
    assert len(opened(tmp_path, content, max_page_drawings=100).rules) == 100
    page = opened(tmp_path, content, max_page_drawings=99)
    assert (page.rules, page.drawn_coverage) == ([], 1.0)
    one_path = "".join(f"100 {100 + 4 * i} m 300 {100 + 4 * i} l\n" for i in range(100)) + "S"
    assert len(opened(tmp_path, one_path, max_page_drawings=60).rules) == 60


def test_clips_of_a_page_with_a_transparency_group_end_where_they_end(tmp_path: Path) -> None:
    # Word's way: every cell is clipped by itself, and all of the page is a group.
    group = "/MediaBox [0 0 612 792] /Group << /S /Transparency /CS /DeviceRGB /I true >>"
    cells = "".join(f"q {100 + 80 * c} 600 80 20 re W n Q\n{100 + 80 * c} 599.5 80 0.5 re f\n" for c in range(4))
    assert rules(opened(tmp_path, cells, group)) == [("h", [100, 192, 420, 192])]


def test_a_page_can_be_shown_at_another_rotation_and_keeps_its_own(tmp_path: Path) -> None:
    path = tmp_path / "page.pdf"
    path.write_bytes(one_page("0.5 w 100 600 m 300 600 l S", "/MediaBox [0 0 612 792]"))
    child = DocumentChild(bounds_of(Limits()))
    call = PageCall(path=str(path), mime_type="application/pdf", page_no=1, dpi=72, picture="none")
    turned = child.open_page(msgspec.structs.replace(call, rotation=90), [])[0].page
    assert (turned.width, turned.height, turned.rotation) == (792, 612, 90)
    assert rules(turned) == [("v", [600, 100, 600, 300])]
    again = child.open_page(call, [])[0].page
    assert (again.width, again.height, again.rotation) == (612, 792, 0)
