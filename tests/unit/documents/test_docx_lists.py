"""List markers as Word counts them."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.documents.docx.numerals import numeral
from tests.support.docx import docx, gone, listed, p, part, read, texts

pytestmark = pytest.mark.unit


def lvl(at: int, form: str, text: str, start: int = 1, more: str = "") -> str:
    return f'<w:lvl w:ilvl="{at}"><w:start w:val="{start}"/><w:numFmt w:val="{form}"/>{more}<w:lvlText w:val="{text}"/></w:lvl>'


def numbering(*abstract: str, nums: str) -> str:
    definitions = "".join(
        f'<w:abstractNum w:abstractNumId="{i}">{one}</w:abstractNum>' for i, one in enumerate(abstract)
    )
    return part("w:numbering", definitions + nums)


def num(own: int, abstract: int, more: str = "") -> str:
    return f'<w:num w:numId="{own}"><w:abstractNumId w:val="{abstract}"/>{more}</w:num>'


LEGAL = lvl(0, "decimal", "%1.") + lvl(1, "decimal", "%1.%2") + lvl(2, "lowerLetter", "(%3)")


def items(body: str, definitions: str, folder: Path, styles: str = "") -> list[str]:
    parts = {"numbering.xml": definitions}
    if styles:
        parts["styles.xml"] = part("w:styles", styles)
    return texts(read(docx(body, parts=parts), folder).blocks)


def test_levels_count_and_begin_anew(tmp_path: Path) -> None:
    levels = [0, 1, 1, 2, 2, 1, 0, 1, 2]
    body = "".join(p("x", properties=listed(1, at)) for at in levels)
    shown = items(body, numbering(LEGAL, nums=num(1, 0)), tmp_path)
    assert [one.removesuffix(" x") for one in shown] == ["1.", "1.1", "1.2", "(a)", "(b)", "1.3", "2.", "2.1", "(a)"]


def test_lists_of_one_definition_count_on_unless_they_say_where_they_start(tmp_path: Path) -> None:
    again = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride>'
    body = "".join(p("x", properties=listed(own, 0)) for own in (1, 1, 2, 3, 3, 1))
    shown = items(body, numbering(LEGAL, nums=num(1, 0) + num(2, 0) + num(3, 0, again)), tmp_path)
    assert [one.removesuffix(" x") for one in shown] == ["1.", "2.", "3.", "5.", "6.", "7."]


def test_a_skipped_level_counts_as_begun(tmp_path: Path) -> None:
    definition = lvl(0, "decimal", "%1") + lvl(1, "decimal", "%1.%2") + lvl(2, "decimal", "%1.%2.%3")
    body = "".join(p("x", properties=listed(1, at)) for at in (0, 2, 1))
    assert items(body, numbering(definition, nums=num(1, 0)), tmp_path) == ["1 x", "1.1.1 x", "1.2 x"]


def test_bullets_of_symbol_fonts_and_nesting(tmp_path: Path) -> None:
    definition = lvl(0, "bullet", "\uf0b7") + lvl(1, "bullet", "o") + lvl(2, "bullet", "\uf0a7")
    body = "".join(p("x", properties=listed(1, at)) for at in (0, 1, 2))
    blocks = read(docx(body, parts={"numbering.xml": numbering(definition, nums=num(1, 0))}), tmp_path).blocks
    assert [(one.label, one.level, one.text) for one in blocks] == [
        ("list_item", 0, "• x"),
        ("list_item", 1, "◦ x"),
        ("list_item", 2, "▪ x"),
    ]


def test_headings_take_their_level_from_the_style_that_the_list_names(tmp_path: Path) -> None:
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="H{i}"><w:name w:val="heading {i}"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
        for i in (1, 2)
    )
    definition = lvl(0, "chineseCounting", "第%1章", more='<w:pStyle w:val="H1"/>') + lvl(
        1, "decimal", "%1.%2", more='<w:isLgl/><w:pStyle w:val="H2"/>'
    )
    body = (
        p("总则", style="H1")
        + p("范围", style="H2")
        + p("", style="H1")
        + p("附则", style="H1")
        + p("None", style="H2", properties=listed(0, 0))
    )
    assert items(body, numbering(definition, nums=num(1, 0)), tmp_path, styles) == [
        "第一章 总则",
        "1.1 范围",
        "第三章 附则",
        "None",
    ]


def test_a_deleted_item_is_not_counted(tmp_path: Path) -> None:
    mark = "<w:rPr><w:del w:id='1'/></w:rPr>"
    body = (
        p("x", properties=listed(1, 0)) + p(gone("y"), properties=listed(1, 0) + mark) + p("z", properties=listed(1, 0))
    )
    assert items(body, numbering(LEGAL, nums=num(1, 0)), tmp_path)[:2] == ["1. x", "2. z"]


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ("upperRoman", {4: "IV", 1999: "MCMXCIX"}),
        ("lowerLetter", {1: "a", 26: "z", 28: "bb"}),
        ("chineseCountingThousand", {10: "十", 12: "十二", 20: "二十", 105: "一百零五", 1010: "一千零一十"}),
        ("chineseLegalSimplified", {12: "壹拾贰"}),
        ("ideographTraditional", {3: "丙"}),
        ("decimalEnclosedCircle", {1: "①", 21: "㉑", 36: "㊱", 51: "51"}),
        ("decimalZero", {3: "03"}),
        ("ordinal", {1: "1st", 12: "12th", 23: "23rd"}),
        ("none", {7: ""}),
        ("somethingNew", {7: "7"}),
        ("upperRoman", {0: "0", 20_000: "20000"}),
    ],
)
def test_numerals(form: str, shown: dict[int, str]) -> None:
    assert {value: numeral(value, form) for value in shown} == shown
