"""One page from regions and readings."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.codec import encode
from shared.contracts.document import Cell
from shared.contracts.errors import DocfleetError, ErrorCode, ErrorInfo, Phase
from shared.contracts.layout import Doubt, ReadLine, RegionReading, TextLine
from shared.contracts.tables import table_of
from tests.support import pages as make
from tests.support.schema import assert_valid

pytestmark = pytest.mark.unit


def failure(code: ErrorCode = ErrorCode.timeout, phase: Phase = Phase.rec) -> ErrorInfo:
    return DocfleetError(code, "made").info(phase, 1)


def test_native_text_read_text_and_a_table_in_order() -> None:
    heading = make.region(2, "section_header", make.lines(60, 60, ["1 Heading"], size=16))
    words = make.region(0, "text", make.lines(60, 100, ["?"]), read_by="rec")
    grid = [
        line
        for row in range(3)
        for col in range(3)
        for line in make.lines(60 + 150 * col, 150 + 20 * row, [f"r{row}c{col}"])
    ]
    table = make.region(1, "table", grid)
    reading = make.reading("rec", [make.read_region(words, ["Read words."], 0.91)])
    page = make.page(make.layout([words, table, heading]), readings=[reading])
    assert_valid("composed_page", encode(page))
    assert [block.id for block in page.blocks] == ["p00001-b000", "p00001-b001", "p00001-b002"]
    assert [block.label for block in page.blocks] == ["section_header", "text", "table"]
    assert [block.text for block in page.blocks][:2] == ["1 Heading", "Read words."]
    assert (page.blocks[1].method, page.blocks[1].model, page.blocks[1].confidence) == ("det_rec", "reader@1", 0.91)
    found = page.blocks[2].table
    assert found is not None
    assert (found.num_rows, found.num_cols) == (3, 3)
    assert found.html.startswith("<table><tr><th>r0c0</th>")
    assert page.blocks[2].text.splitlines()[2] == "r2c0\tr2c1\tr2c2"
    assert page.page.status == "ok"
    assert page.page.confidence.text == 0.91
    assert page.page.confidence.grade == "good"
    assert page.ocr_regions == 1


def test_numbers_at_the_right_edge_stand_below_their_heading_at_the_left_one() -> None:
    lines = [line for x, text in ((60, "Goods"), (200, "Price"), (300, "Sum")) for line in make.lines(x, 100, [text])]
    for row, (price, total) in enumerate((("5.00", "50.00"), ("120.00", "1200.00")), 1):
        y = 100 + 20 * row
        lines += make.lines(60, y, [f"thing {row}"])
        lines += make.lines(290 - 5 * len(price), y, [price]) + make.lines(390 - 5 * len(total), y, [total])
    table = make.page(make.layout([make.region(0, "table", lines)])).blocks[0].table
    assert table is not None
    assert [[c.text for c in table.cells if c.row == row] for row in range(3)] == [
        ["Goods", "Price", "Sum"],
        ["thing 1", "5.00", "50.00"],
        ["thing 2", "120.00", "1200.00"],
    ]


def test_a_cell_over_two_columns_spans_them() -> None:
    lines = make.lines(60, 100, ["Name"]) + make.lines(200, 100, ["a heading over two columns"], width=220)
    for row in range(1, 4):
        for x in (60, 200, 340):
            lines += make.lines(x, 100 + 20 * row, [f"v{row}{x}"])
    table = make.page(make.layout([make.region(0, "table", lines)])).blocks[0].table
    assert table is not None
    spans = [(c.row, c.col, c.col_span) for c in table.cells if c.col_span > 1]
    assert spans == [(0, 1, 2)]


def test_a_table_of_a_reading_is_taken_as_it_is() -> None:
    region = make.region(0, "table", [], bbox=[60, 100, 300, 200], read_by="vl")
    table = table_of([Cell(row=0, col=0, text="a"), Cell(row=0, col=1, text="<b>")])
    reading = make.reading("vl", [RegionReading(region_id=region.region_id, method="vl", model="m", table=table)])
    page = make.page(make.layout([region]), readings=[reading])
    assert page.blocks[0].table is not None
    assert page.blocks[0].table.html == "<table><tr><td>a</td><td>&lt;b&gt;</td></tr></table>"
    assert page.blocks[0].method == "vl"
    assert page.vl_regions == 1


def test_a_reading_by_the_vl_model_beats_a_fallback() -> None:
    region = make.region(0, "text", make.lines(60, 100, ["?"]), read_by="vl")
    by_rec = make.reading("a", [make.read_region(region, ["by rec"])])
    by_vl = make.reading("b", [RegionReading(region_id=region.region_id, method="vl", text="by vl")])
    for readings in ([by_rec, by_vl], [by_vl, by_rec]):
        assert [block.text for block in make.page(make.layout([region]), readings=readings).blocks] == ["by vl"]


def test_a_doubt_of_the_reader_names_the_block_and_the_reason_of_the_route_stands_in_it() -> None:
    region = make.region(1, "table", [], bbox=[60, 100, 300, 200], read_by="vl")
    region = msgspec.structs.replace(region, reason="dense", route="model")
    above = make.region(0, "text", make.lines(60, 60, ["above"]))
    doubt = Doubt(code="vl_truncated", message="cut")
    reading = RegionReading(region_id=region.region_id, method="det_rec", doubts=[doubt], fallback_from="glm-ocr")
    page = make.page(make.layout([above, region]), readings=[make.reading("vl", [reading])])
    assert [(block.label, block.reason, block.route, block.fallback_from) for block in page.blocks] == [
        ("text", None, None, None),
        ("table", "dense", "model", "glm-ocr"),
    ]
    (warning,) = [warning for warning in page.warnings if warning.code == "vl_truncated"]
    assert warning.block_id == page.blocks[1].id


def test_blocks_that_the_model_found_on_a_whole_page_stand_in_place_of_the_regions() -> None:
    text = make.region(0, "text", make.lines(60, 100, ["own"]), read_by="vl")
    table = make.region(1, "table", [], bbox=[60, 200, 300, 300], read_by="vl")
    picture = make.region(2, "picture", [], bbox=[60, 400, 300, 500], read_by="none")
    found = [
        RegionReading(region_id="p00001-v000", method="vl", label="title", text="Found", bbox=[60, 90, 300, 120]),
        RegionReading(region_id="p00001-v001", method="vl", label="text", text="more", bbox=[60, 190, 300, 320]),
    ]
    page = make.page(make.layout([text, table, picture]), readings=[make.reading("vl", found)])
    assert [(block.label, block.text) for block in page.blocks] == [
        ("title", "Found"),
        ("text", "more"),
        ("picture", ""),
    ]
    assert page.warnings == []


def test_text_drawn_twice_is_there_once_and_repeats_elsewhere_stay() -> None:
    once = make.lines(60, 100, ["Faux bold"])
    again = [msgspec.structs.replace(once[0], bbox=[60.3, 100, 105.3, 112])]
    page = make.page(make.layout([make.region(0, "text", [*once, *again, *make.lines(60, 300, ["Faux bold"])])]))
    assert [block.text for block in page.blocks] == ["Faux bold", "Faux bold"]


def test_invisible_text_is_kept_apart_and_decides_nothing() -> None:
    hidden = TextLine(bbox=[60, 500, 200, 512], text="the official total is 1")
    page = make.page(make.layout([make.region(0, "text", make.lines(60, 100, ["seen"]))], invisible=[hidden]))
    assert [(block.content_layer, block.text) for block in page.blocks] == [
        ("body", "seen"),
        ("invisible", "the official total is 1"),
    ]
    only = make.page(make.layout([], invisible=[hidden], kind="blank"))
    assert only.page.status == "blank"


def test_text_off_the_page_and_notes_have_layers_of_their_own() -> None:
    covered = TextLine(bbox=[60, 500, 200, 512], text="under a box", hidden="covered")
    beside = TextLine(bbox=[600, 400, 600, 412], text="beside the page", hidden="outside")
    note = TextLine(bbox=[60, 300, 80, 320], text="please check")
    page = make.page(make.layout([], invisible=[covered, beside], notes=[note]))
    assert [(block.content_layer, block.text, block.reason) for block in page.blocks] == [
        ("notes", "please check", None),
        ("background", "beside the page", "outside"),
        ("invisible", "under a box", "covered"),
    ]


def test_headers_come_first_and_footers_last() -> None:
    page = make.page(
        make.layout(
            [
                make.region(0, "page_footer", make.lines(60, 780, ["foot"])),
                make.region(1, "text", make.lines(60, 100, ["body"])),
                make.region(2, "page_number", make.lines(300, 780, ["7"])),
                make.region(3, "page_header", make.lines(60, 20, ["head"])),
            ]
        )
    )
    assert [block.text for block in page.blocks] == ["head", "body", "foot", "7"]
    assert [block.content_layer for block in page.blocks] == ["furniture", "body", "furniture", "furniture"]


def test_status_of_a_page() -> None:
    text = make.region(0, "text", make.lines(60, 100, ["words"]))
    lost = make.region(1, "text", make.lines(60, 200, ["?"]), read_by="rec")
    assert make.page(make.layout([text])).page.status == "ok"
    assert make.page(make.layout([])).page.status == "blank"
    partly = make.page(make.layout([text, lost]), errors=[failure()])
    assert (partly.page.status, len(partly.errors)) == ("ok", 1)
    assert [warning.code for warning in partly.warnings] == ["not_read"]
    assert make.page(make.layout([lost]), errors=[failure()]).page.status == "failed"
    assert make.page(None, errors=[failure(phase=Phase.layout)]).page.status == "failed"
    picture = make.region(0, "picture", [], bbox=[60, 60, 300, 300], read_by="none")
    assert make.page(make.layout([picture])).page.status == "ok"


def test_a_caption_is_tied_to_its_table_and_a_plain_line_like_one_too() -> None:
    grid = [
        line for row in range(2) for col in range(2) for line in make.lines(60 + 150 * col, 150 + 20 * row, ["cell"])
    ]
    table = make.region(0, "table", grid)
    for label in ("caption", "text"):
        caption = make.region(1, label, make.lines(60, 130, ["Table 1 Some cells"]))  # type: ignore[arg-type]
        first, second = make.page(make.layout([table, caption])).blocks
        assert (first.label, first.parent_id) == ("caption", second.id)
        assert second.caption_ids == [first.id]


def test_list_items_are_labelled_by_their_neighbours() -> None:
    texts = ["1、第一项", "2、第二项", "plain words", "• alone", "7. lonely number"]
    regions = [make.region(i, "text", make.lines(60, 100 + 40 * i, [text])) for i, text in enumerate(texts)]
    labels = [block.label for block in make.page(make.layout(regions)).blocks]
    assert labels == ["list_item", "list_item", "text", "list_item", "text"]


def test_a_paragraph_goes_on_in_the_next_column() -> None:
    left = make.region(
        0,
        "text",
        make.lines(60, 600, ["the sentence of this paragraph is", "cut by the end of the column and"], width=220),
    )
    right = make.region(
        1, "text", make.lines(320, 60, ["goes on at the top of the next one", "to its end."], width=220)
    )
    above = make.region(2, "text", make.lines(60, 60, ["A paragraph above it."] * 3, width=220))
    _, block = make.page(make.layout([left, right, above])).blocks
    assert block.text == (
        "the sentence of this paragraph is cut by the end of the column and goes on at the top of the next one to its end."
    )
    first, second = block.prov
    assert first.char_span
    assert second.char_span
    assert block.text[slice(*second.char_span)].startswith("goes on")
    assert block.text[slice(*first.char_span)].endswith("column and")


def test_a_numbered_line_in_larger_type_is_a_heading_whatever_the_layout_says() -> None:
    plain = make.region(1, "text", make.lines(60, 100, ["Plain text of the usual size.", "And a second line of it."]))
    large = make.region(0, "text", make.lines(60, 60, ["2.1 A heading"], size=12))
    contents = make.region(2, "text", make.lines(60, 200, ["2.1 A heading ... 12"], size=12))
    labels = [block.label for block in make.page(make.layout([plain, large, contents])).blocks]
    assert labels == ["section_header", "text", "text"]
    one = make.region(0, "text", make.lines(60, 60, ["1. Groups"], size=12))
    assert make.page(make.layout([plain, one])).blocks[0].label == "section_header"


def test_a_heading_on_top_of_its_text_in_one_region_is_cut_off() -> None:
    lines = [
        *make.lines(60, 60, ["2.1 A heading that is as long as"], size=12),
        *make.lines(60, 76, ["the text below it in the same box", "goes."]),
    ]
    first, _ = make.page(make.layout([make.region(0, "text", lines)])).blocks
    assert first.text == "2.1 A heading that is as long as"


def test_a_heading_below_a_text_in_one_region_is_cut_off() -> None:
    lines = [
        *make.lines(60, 60, ["每份文档都以一条记录结束记录会说明是哪一页", "以及原因。"]),
        *make.lines(60, 90, ["二、结果"], size=13),
    ]
    assert make.page(make.layout([make.region(0, "text", lines)])).blocks[-1].text == "二、结果"
    assert make.page(make.layout([make.region(0, "text", lines)])).blocks[-1].label == "section_header"


def test_fields_of_a_form_are_no_heading() -> None:
    fields = make.region(
        0, "section_header", make.lines(60, 60, ["合同编号：HT-1", "甲方：某某公司", "乙方：另一公司"])
    )
    blocks = make.page(make.layout([fields])).blocks
    assert [(block.label, block.text) for block in blocks] == [
        ("text", "合同编号：HT-1"),
        ("text", "甲方：某某公司"),
        ("text", "乙方：另一公司"),
    ]


def test_prose_that_was_taken_for_a_table_stays_prose() -> None:
    pieces = []
    for row in range(3):
        for col in range(4):
            pieces += make.lines(60 + 100 * col, 60 + 14 * row, ["piece of a line"], width=97)
    [block] = make.page(make.layout([make.region(0, "table", pieces)])).blocks
    assert (block.label, block.table) == ("text", None)


def test_a_grid_over_lines_of_prose_is_not_believed() -> None:
    lines = make.lines(60, 60, ["a line of prose in the whole width"] * 2 + ["and the rest."], width=400)
    lines[-1] = make.lines(60, 88, ["and the rest."])[0]
    region = make.region(0, "table", lines, read_by="rec")
    torn = table_of([Cell(row=r, col=c, text="a line") for r in range(3) for c in range(3)])
    read = msgspec.structs.replace(make.read_region(region, [line.text or "" for line in lines]), table=torn)
    blocks = make.page(make.layout([region]), readings=[make.reading("rec", [read])]).blocks
    assert [(block.label, block.table) for block in blocks] == [("text", None)]
    assert blocks[0].text.endswith("and the rest.")


def test_lines_that_make_a_complete_grid_beat_a_grid_that_was_imagined() -> None:
    grid = [
        line
        for row in range(3)
        for col in range(3)
        for line in make.lines(60 + 150 * col, 150 + 20 * row, [f"r{row}c{col}"])
    ]
    region = make.region(0, "table", grid, read_by="rec")
    read = make.read_region(region, [line.text or "" for line in grid])
    wrong = table_of([Cell(row=0, col=0, text="r0c0 r0c1"), Cell(row=0, col=1, text="r0c2")])
    reading = make.reading("rec", [msgspec.structs.replace(read, table=wrong)])
    table = make.page(make.layout([region]), readings=[reading]).blocks[0].table
    assert table is not None
    assert (table.num_rows, table.num_cols) == (3, 3)


def test_the_slope_of_a_scan_does_not_make_long_lines_larger() -> None:
    slope, lines = 0.02, []
    for index, width in enumerate((400, 100)):
        y = 100 + 40 * index
        quad = [60, y, 60 + width, y + slope * width, 60 + width, y + slope * width + 12, 60, y + 12]
        lines.append(TextLine(bbox=[60, y, 60 + width, y + slope * width + 12], quad=[float(v) for v in quad]))
    regions = [make.region(i, "text", [line], read_by="rec") for i, line in enumerate(lines)]
    texts = ["words" * 8, "words" * 2]
    reading = make.reading("rec", [make.read_region(r, [t]) for r, t in zip(regions, texts, strict=True)])
    first, second = make.page(make.layout(regions), readings=[reading]).blocks
    assert first.font_size == pytest.approx(second.font_size, rel=0.03)


def test_vertical_text_goes_from_right_to_left_in_a_region_and_over_regions() -> None:
    columns = ["この日本語の文章は", "複数の列に", "分かれています"]
    lines = [
        TextLine(bbox=[500 - 30 * i, 80, 520 - 30 * i, 80 + 20 * len(text)], text=text, vertical=True)
        for i, text in enumerate(columns)
    ]
    [block] = make.page(make.layout([make.region(0, "text", lines[::-1])])).blocks
    assert (block.text, block.writing_mode) == ("".join(columns), "vertical_rl")
    apart = [make.region(i, "text", [line]) for i, line in enumerate(reversed(lines))]
    assert [block.text for block in make.page(make.layout(apart)).blocks] == columns


def test_low_confidence_is_said() -> None:
    region = make.region(0, "text", make.lines(60, 100, ["?"]), read_by="rec")
    page = make.page(make.layout([region]), readings=[make.reading("r", [make.read_region(region, ["dim"], 0.3)])])
    assert [(w.code, w.block_id) for w in page.warnings] == [("low_confidence", "p00001-b000")]
    assert page.page.confidence.grade == "poor"


coordinates = st.floats(-50, 900, allow_nan=False)
words = st.text(st.sampled_from("ab cd 中文、1.•-:：§"), min_size=1, max_size=12)


@st.composite
def regions(draw: st.DrawFn) -> tuple[list[object], list[object]]:
    found, read = [], []
    for index in range(draw(st.integers(0, 7))):
        label = draw(
            st.sampled_from(["text", "table", "section_header", "page_header", "picture", "seal", "code", "caption"])
        )
        lines = []
        for _ in range(draw(st.integers(0, 6))):
            x, y = draw(coordinates), draw(coordinates)
            lines.append(
                TextLine(bbox=[x, y, x + draw(st.floats(0, 300)), y + draw(st.floats(0, 40))], text=draw(words))
            )
        by = draw(st.sampled_from(["native", "rec"]))
        region = make.region(index, label, lines, read_by=by, bbox=[10, 10, 200, 700])
        found.append(region)
        if by == "rec":
            read.append(
                RegionReading(
                    region_id=region.region_id,
                    method="det_rec",
                    model="m",
                    lines=[ReadLine(bbox=line.bbox, text=line.text or "", confidence=0.9) for line in lines],
                )
            )
    return found, read


@given(regions(), st.randoms(use_true_random=False))
def test_any_regions_give_a_valid_page_and_the_same_bytes_in_any_order(
    made: tuple[list[object], list[object]], shuffle: random.Random
) -> None:
    found, read = made
    first = encode(make.page(make.layout(found), readings=[make.reading("r", read)]))  # type: ignore[arg-type]
    assert_valid("composed_page", first)
    shuffle.shuffle(found)
    mixed = []
    for region in found:
        lines = list(region.lines)  # type: ignore[attr-defined]
        shuffle.shuffle(lines)
        mixed.append(msgspec.structs.replace(region, lines=lines))  # type: ignore[type-var]
    read_mixed = []
    for region in read:
        lines = list(region.lines)  # type: ignore[attr-defined]
        shuffle.shuffle(lines)
        read_mixed.append(msgspec.structs.replace(region, lines=lines))  # type: ignore[type-var]
    shuffle.shuffle(read_mixed)
    half = len(read_mixed) // 2
    parts = [make.reading("r2", read_mixed[half:]), make.reading("r1", read_mixed[:half])]
    page = make.page(make.layout(mixed), readings=parts)  # type: ignore[arg-type]
    assert encode(page) == first
    make.document([page])


def test_the_value_of_an_interactive_field_is_the_forms_own_and_printed_fields_are_native() -> None:
    values = ["A. Miller", "Port Ellan"]
    fields = [
        msgspec.structs.replace(make.region(i, "form_field", make.lines(60, 60 + 40 * i, [text])), raw_label=kind)
        for i, (text, kind) in enumerate(zip(values, ("widget", "frame"), strict=True))
    ]
    page = make.page(make.layout(fields))
    assert [(block.text, block.method) for block in page.blocks] == [("A. Miller", "form"), ("Port Ellan", "native")]


def test_an_interactive_field_that_nobody_filled_in_is_an_empty_block_at_its_place_and_nothing_in_the_markdown() -> (
    None
):
    box = [120.0, 88.0, 300.0, 106.0]
    name = make.region(0, "text", make.lines(60, 90, ["Name"]))
    field = msgspec.structs.replace(make.region(1, "form_field", [], bbox=box), raw_label="widget")
    page = make.page(make.layout([name, field]))
    assert [(b.label, b.text, b.method, b.prov[0].bbox) for b in page.blocks[1:]] == [("form_field", "", "form", box)]
    _, markdown = make.document([page])
    assert markdown == "Name\n"


@pytest.mark.parametrize("texts", [[], ["示例档案", "专用章"], ["示例档案", "", "专用章"]])
def test_a_stamp_is_one_block_as_large_as_its_ring_however_its_writing_was_read(texts: list[str]) -> None:
    ring = [300.0, 500.0, 420.0, 620.0]
    stamp = make.region(0, "seal", [], bbox=ring, read_by="rec", found_by="colour")
    stamp = msgspec.structs.replace(stamp, bbox=ring)
    words = [
        ReadLine(bbox=[320.0, 510.0 + 40 * i, 400.0, 524.0 + 40 * i], text=text, confidence=0.9)
        for i, text in enumerate(texts)
    ]
    reading = RegionReading(region_id=stamp.region_id, method="det_rec", lines=words, model="reader@1", confidence=0.9)
    page = make.page(make.layout([stamp]), readings=[make.reading("rec", [reading])])
    (block,) = page.blocks
    assert (block.label, block.prov[0].bbox, block.text) == ("seal", ring, "示例档案专用章" if texts else "")
