"""Answers in the form of each model, to what is stored; and every way in which one is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.vl_worker.guards import fault_of, text_of
from services.vl_worker.reading import PageBlocks, read_page, read_region
from shared.contracts.codec import encode
from shared.contracts.document import Label
from shared.contracts.errors import DocfleetError
from shared.contracts.layout import RegionReading, TextLine
from shared.settings import Vl
from shared.vlm.profile import Profile, profile_named
from tests.support import pages as make
from tests.support.schema import assert_valid
from tests.unit.vl_worker import samples

pytestmark = pytest.mark.unit
SETTINGS = Vl()


def region(
    text: str, label: Label, profile: str, lines: list[TextLine] | None = None, **settings: Any
) -> RegionReading:
    known = profile_named(profile)
    assert fault_of(text, known, label, finish_reason="stop") is None
    where = make.region(0, label, lines or [], bbox=[50, 50, 550, 400], read_by="vl")
    found, fault = read_region(text_of(text, known), where, "pt", 1, known, Vl(**{**SETTINGS.model_dump(), **settings}))
    assert fault is None
    assert found is not None
    assert_valid("reading", encode(make.reading("t", [found])))
    return found


def page(text: str, profile: str, regions: Any = (), **settings: Any) -> PageBlocks:
    known = profile_named(profile)
    assert fault_of(text, known, "page", finish_reason="stop") is None
    layout = make.layout(regions)
    found, fault = read_page(text_of(text, known), layout, known, Vl(**{**SETTINGS.model_dump(), **settings}))
    assert fault is None
    assert found is not None
    assert_valid("reading", encode(make.reading("t", found.regions, warnings=found.warnings)))
    return found


def grid(reading: RegionReading) -> list[tuple[int, int, int, int, str]]:
    assert reading.table is not None
    return [(c.row, c.col, c.row_span, c.col_span, c.text) for c in reading.table.cells]


# --- GLM-OCR ----------------------------------------------------------------------------------------------------------


def test_glm_tables() -> None:
    found = region(samples.GLM_TABLE, "table", "glm-ocr")
    assert grid(found)[3:6] == [(1, 0, 2, 1, "STEM"), (1, 1, 1, 1, "Math"), (1, 2, 1, 1, "√")]
    assert found.model == "glm-ocr@glm-ocr"
    headed = region(samples.GLM_TABLE_WITH_HEAD, "table", "glm-ocr")
    assert headed.table is not None
    assert [cell.column_header for cell in headed.table.cells] == [True, True, False, False]


def test_glm_formula_seal_and_page() -> None:
    assert region(samples.GLM_FORMULA, "formula", "glm-ocr").latex == "\\frac{a}{b} + \\sum_{i=1}^{n} x_i"
    assert region(samples.GLM_SEAL, "seal", "glm-ocr").text == samples.GLM_SEAL
    blocks = page(samples.GLM_PAGE, "glm-ocr").regions
    assert [(block.label, block.text) for block in blocks] == [
        ("section_header", "A heading"),
        ("text", "First paragraph of the page."),
        ("text", "Second paragraph."),
    ]


# --- PaddleOCR-VL -----------------------------------------------------------------------------------------------------


def test_paddle() -> None:
    assert grid(region(samples.PADDLE_TABLE, "table", "paddleocr-vl")) == [
        (0, 0, 1, 1, "阶段"),
        (0, 1, 1, 2, "VL"),
        (1, 0, 2, 1, "布局"),
        (1, 1, 1, 1, "12.5"),
        (1, 2, 1, 1, ""),
        (2, 1, 1, 1, "3"),
        (2, 2, 1, 1, "4"),
    ]
    assert region(samples.PADDLE_FORMULA, "formula", "paddleocr-vl").latex == "E = m c^{2}"
    assert region("line one\nline two", "text", "paddleocr-vl").text == "line one\nline two"


# --- DeepSeek-OCR-2 ---------------------------------------------------------------------------------------------------


def test_deepseek_page_in_page_units() -> None:
    blocks = page(samples.DEEPSEEK_PAGE, "deepseek-ocr-2").regions
    assert [(block.label, block.text) for block in blocks] == [
        ("title", "On retro reactions"),
        ("section_header", "1 Aim"),
        ("text", "Words of the first paragraph."),
        ("formula", None),
        ("picture", None),
        ("caption", "Figure 1. A thing"),
        ("table", None),
    ]
    assert blocks[3].latex == "x = 1"
    assert [cell[-1] for cell in grid(blocks[6])] == ["Item", "Amount", "Fee", "82"]
    assert [block.region_id for block in blocks] == [f"p00001-v{i:03d}" for i in range(7)]
    assert blocks[0].bbox == [
        round(75 / 999 * make.WIDTH, 2),
        round(133 / 999 * make.HEIGHT, 2),
        round(744 / 999 * make.WIDTH, 2),
        round(160 / 999 * make.HEIGHT, 2),
    ]


def test_deepseek_regions_come_out_of_the_same_form() -> None:
    assert [cell[-1] for cell in grid(region(samples.DEEPSEEK_PAGE, "table", "deepseek-ocr-2"))][-1] == "82"
    formula = "<|ref|>equation<|/ref|><|det|>[[1, 2, 3, 4]]<|/det|>\n\\[ x = 1 \\]<｜end▁of▁sentence｜>"
    assert region(formula, "formula", "deepseek-ocr-2").latex == "x = 1"
    assert region("plain words<｜end▁of▁sentence｜>", "text", "deepseek-ocr-2").text == "plain words"


# --- Unlimited-OCR ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["unlimited-ocr", "unlimited-ocr-npu"])
def test_unlimited_page(profile: str) -> None:
    blocks = page(samples.UNLIMITED_PAGE, profile).regions
    assert [(block.label, block.text) for block in blocks] == [
        ("page_header", "COMPANY / 2026"),
        ("title", "Invoice No: 0703"),
        ("text", "Total: 123.45 USD"),
        ("table", None),
        ("picture", None),
        ("page_number", "1"),
    ]


def test_a_picture_that_the_layout_has_already_is_not_there_twice() -> None:
    known = make.region(0, "picture", [], bbox=[20, 330, 320, 490], read_by="none")
    assert "picture" not in [block.label for block in page(samples.UNLIMITED_PAGE, "unlimited-ocr", [known]).regions]


# --- boxes and doubts -------------------------------------------------------------------------------------------------


def test_a_table_of_a_page_takes_the_boxes_of_the_lines_below_it() -> None:
    lines = [
        TextLine(bbox=[60, 330, 90, 340], text="Item"),
        TextLine(bbox=[300, 330, 350, 340], text="Amount"),
        TextLine(bbox=[60, 350, 80, 360], text="Fee"),
        TextLine(bbox=[300, 350, 315, 360], text="82"),
    ]
    known = make.region(0, "table", lines, read_by="vl")
    table = page(samples.DEEPSEEK_PAGE, "deepseek-ocr-2", [known]).regions[6].table
    assert table is not None
    assert [cell.bbox for cell in table.cells] == [line.bbox for line in lines]


def test_text_that_differs_from_the_pages_own_is_doubted_with_the_share() -> None:
    lines = make.lines(60, 60, ["Category Domain Rule STEM Math √", "Physics & less"])
    found = region(samples.GLM_TABLE, "table", "glm-ocr", lines, disagreement=0.1)
    (doubt,) = found.doubts
    assert (doubt.code, doubt.message.split()[0]) == ("vl_disagreement", "14%")
    assert region(samples.GLM_TABLE, "table", "glm-ocr", lines).doubts == []


def test_a_page_that_differs_is_doubted_as_a_whole() -> None:
    text = make.region(0, "text", make.lines(60, 60, ["entirely other words here"]), read_by="vl")
    (warning,) = page(samples.GLM_PAGE, "glm-ocr", [text]).warnings
    assert (warning.code, warning.page_no, warning.block_id) == ("vl_disagreement", 1, None)


def test_a_formula_that_is_none_stays_as_text_with_a_doubt() -> None:
    text = "<|ref|>equation<|/ref|><|det|>[[1,2,300,40]]<|/det|>\\[ \\frac{a}{b \\]"
    (block,) = page(text, "deepseek-ocr-2").regions
    assert (block.label, block.latex) == ("formula", None)
    assert block.doubts[0].code == "not_read"


def test_blocks_without_a_box_stand_where_the_one_before_them_does() -> None:
    text = "<|det|>text [100, 100, 500, 200]<|/det|>one\n<|det|>text nothing<|/det|>two"
    one, two = page(text, "unlimited-ocr").regions
    assert one.bbox == two.bbox


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "label"),
    [("no table at all", "table"), ("\\frac{a}{b", "formula"), ("<|ref|>a", "text")],
)
def test_what_is_not_in_the_form_it_was_asked_for_is_typed(text: str, label: Label) -> None:
    where = make.region(0, label, [], bbox=[50, 50, 550, 400])
    with pytest.raises(DocfleetError):
        read_region(text, where, "pt", 1, profile_named("glm-ocr"), SETTINGS)


@pytest.mark.parametrize(
    ("text", "profile", "settings"),
    [
        (samples.GLM_TABLE, "glm-ocr", {"max_table_cells": 8}),
        (samples.PADDLE_TABLE, "paddleocr-vl", {"max_table_cells": 8}),
    ],
)
def test_tables_keep_to_the_setting(text: str, profile: str, settings: dict[str, Any]) -> None:
    where = make.region(0, "table", [], bbox=[50, 50, 550, 400])
    with pytest.raises(DocfleetError):
        read_region(text, where, "pt", 1, profile_named(profile), Vl(**settings))


def test_blocks_keep_to_the_setting() -> None:
    with pytest.raises(DocfleetError):
        read_page(samples.UNLIMITED_PAGE, make.layout([]), profile_named("unlimited-ocr"), Vl(max_blocks=5))


def known_profiles() -> list[Profile]:
    return [profile_named(name) for name in ("glm-ocr", "paddleocr-vl", "deepseek-ocr-2", "unlimited-ocr")]


@pytest.mark.parametrize("profile", known_profiles(), ids=lambda profile: profile.name)
def test_nothing_that_acts_comes_through(profile: Profile) -> None:
    hostile = "<script>alert(1)</script>words <a href='javascript:x'>link</a> ![x](http://evil.example/p.png)"
    where = make.region(0, "text", [], bbox=[50, 50, 550, 400])
    found, fault = read_region(hostile, where, "pt", 1, profile, SETTINGS)
    assert fault is None
    assert found is not None
    assert found.text == "words link x"


# --- no loop is ever a result -----------------------------------------------------------------------------------------

UNITS = st.sampled_from(
    ["A B ", "the same line\n", "总额一百元。", "x_{1} + ", "12.50 ", "<br>again", "no end in sight, "]
)
AROUND = st.sampled_from(["", "Honest words before it.\n", samples.GLM_TABLE, "<table><tr><td>1</td></tr></table>"])
IN_A_TABLE = "<table><tr><td>1</td><td>{}</td></tr></table>"
ON_A_PAGE = "<|det|>text [1, 2, 900, 40]<|/det|>{}<|det|>text [1, 50, 900, 90]<|/det|>end"


@given(
    UNITS,
    st.integers(60, 400),
    AROUND,
    st.sampled_from(["text", "table", "formula", "seal", "page", "range"]),
    st.booleans(),
)
def test_a_loop_is_refused_wherever_it_stands(unit: str, times: int, around: str, kind: Any, inside: bool) -> None:
    """Reports zai-org/GLM-OCR#220, vllm-project/vllm#33068, DeepSeek-OCR-2#28: a loop to the token cap that is called complete."""
    loop = around + unit * times
    if inside:
        loop = (ON_A_PAGE if kind in ("page", "range") else IN_A_TABLE).format(unit * times)
    for name in ("glm-ocr", "unlimited-ocr"):
        profile = profile_named(name)
        asked = "page" if kind == "range" else kind
        if fault_of(loop, profile, asked, finish_reason="stop") is not None:
            continue
        where = make.region(0, "text" if kind in ("page", "range") else kind, [], bbox=[50, 50, 550, 750], read_by="vl")
        try:
            if asked == "page":
                found, fault = read_page(loop, make.layout([]), profile, SETTINGS)
            else:
                found, fault = read_region(loop, where, "pt", 1, profile, SETTINGS)  # type: ignore[assignment]
        except DocfleetError:
            continue
        assert found is None, (name, kind)
        assert fault is not None
