"""Which region is read by which way, with networks whose answers are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from services.rec_worker.cache import CropCache
from services.rec_worker.call import PageRead, PageToRead
from services.rec_worker.inference import Inference
from services.rec_worker.page import PageReading, Tools
from services.rec_worker.read import LineReader, Ticket
from shared.contracts.document import ModelRef
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.layout import Region, TextLine
from shared.engines.engine import BatchProfile
from shared.models.lines import DetectedLine
from shared.models.seal import SealLine
from shared.models.table import TableCell, TableGrid

pytestmark = pytest.mark.unit

PROFILE = BatchProfile(width_step=64, batches=((640, 4),), max_items=8, max_cost=3200, linger_ms=1.0)
SCALE = 2
"""Pixels per unit of the page."""


def ref(name: str) -> ModelRef:
    return ModelRef(stage=name, name=name, version="1")


class ByColour:
    """Reads the red of a crop, a quarter from its left, as its text; which ones it is unsure of, or fails on, is said by that too."""

    def __init__(self) -> None:
        self.unsure: set[int] = set()
        self.failing: set[int] = set()
        self.read_at: list[tuple[int, int]] = []

    def read(self, crops: Sequence[npt.NDArray[np.uint8]], bucket: int) -> list[tuple[str, float]]:
        values = [int(crop[24, crop.shape[1] // 4, 0]) for crop in crops]
        self.read_at += [(value, crop.shape[1]) for value, crop in zip(values, crops, strict=True)]
        if self.failing & set(values):
            raise RuntimeError("the engine does not like it")
        return [("" if value == 255 else f"<{value}>", 0.3 if value in self.unsure else 0.95) for value in values]


class Fixed:
    """A network that always answers the same and notes what it was shown."""

    def __init__(self, name: str, answer: Any) -> None:
        self.ref = ref(name)
        self.answer = answer
        self.shown: list[tuple[int, ...]] = []

    def detect(self, picture: npt.NDArray[np.uint8]) -> Any:
        self.shown.append(picture.shape)
        return self.answer

    read = detect
    lines = detect


class Room:
    """A page of 200 x 100 units with grey bars on it, and the networks to read it with."""

    def __init__(self) -> None:
        self.picture = np.full((100 * SCALE, 200 * SCALE, 3), 255, dtype=np.uint8)
        self.recogniser = ByColour()
        self.inference = Inference(self.recogniser, PROFILE, streams=1)
        self.detector = Fixed("lines", [])
        self.structure = Fixed("table", TableGrid(num_rows=0, num_cols=0, cells=[], score=0.0, complete=True))
        self.seals = Fixed("seal", [])

    def bar(self, value: int, bbox: Sequence[float]) -> TextLine:
        x0, y0, x1, y1 = (int(v * SCALE) for v in bbox)
        self.picture[y0:y1, x0:x1] = value
        self.picture[y1 - 3 : y1, x0:x1] = 255 - value  # a crop of one colour would be blank
        return TextLine(bbox=list(bbox), quad=[float(v) for v in (x0, y0, x1, y0, x1, y1, x0, y1)], confidence=0.9)

    def read(self, *regions: Region, picture: bool = True, **more: Any) -> PageRead:
        page = PageToRead(document_id="d", page_no=1, width=200, height=100, regions=list(regions), **more)
        tools = Tools(
            lines=LineReader(self.inference, CropCache(100), model="m", height=48, squeeze=0.8, low_confidence=0.8),
            reader=ref("reader"),
            detector=lambda: self.detector,
            structure=lambda: self.structure,
            seals=lambda: self.seals,
            low_confidence=0.8,
        )
        shown = self.picture if picture else None
        if shown is not None and page.picture_box is not None:
            left, top, right, bottom = page.picture_box
            shown = shown[top:bottom, left:right]
        return PageReading(page, shown, tools, Ticket("d")).read()


@pytest.fixture
def room() -> Iterator[Room]:
    room = Room()
    yield room
    room.inference.close()


def region(number: int, bbox: Sequence[float], lines: Sequence[TextLine] = (), **more: Any) -> Region:
    kind = {"label": "text", "raw_label": "text", "confidence": 1.0, "found_by": "model", "read_by": "rec"} | more
    return Region(region_id=f"p00001-r{number:03d}", bbox=list(bbox), lines=list(lines), **kind)


def warned(answer: PageRead) -> list[tuple[str, str]]:
    return [(warning.code, warning.message) for warning in answer.warnings]


def test_lines_are_read_in_place_and_order(room: Room) -> None:
    boxes = ([10, 10, 60, 20], [10, 30, 90, 40], [120, 10, 180, 20])
    lines = [room.bar(value, bbox) for value, bbox in zip((1, 2, 3), boxes, strict=True)]
    answer = room.read(region(0, [10, 10, 90, 40], lines[:2]), region(1, boxes[2], lines[2:]))
    assert [[line.text for line in read.lines] for read in answer.regions] == [["<1>", "<2>"], ["<3>"]]
    assert [line.bbox for line in answer.regions[0].lines] == [list(box) for box in boxes[:2]]
    assert answer.regions[0].method == "det_rec"
    assert answer.regions[0].model == "reader@1"
    assert [model.name for model in answer.models] == ["reader"]
    assert (answer.crops, answer.cache_hits, answer.warnings) == (3, 0, [])


def test_an_unsure_line_is_read_again_at_full_width(room: Room) -> None:
    room.recogniser.unsure = {2}
    lines = [room.bar(1, [10, 10, 110, 20]), room.bar(2, [10, 30, 110, 40])]
    room.read(region(0, [10, 10, 110, 40], lines))
    first, again = room.recogniser.read_at[:2], room.recogniser.read_at[2:]
    assert first == [(1, 384), (2, 384)]
    assert sorted(again) == [(2, 480), (2, 480)], "upright, and on its head"


def test_a_line_on_its_head_is_read_where_that_is_sure(room: Room) -> None:
    """Read the right way up it says one thing, upside down another: the recogniser sees a value a quarter from the left."""
    line = room.bar(5, [10, 10, 110, 20])
    room.picture[20:37, 120:220] = 6
    room.recogniser.unsure = {5}
    answer = room.read(region(0, [10, 10, 110, 20], [line]))
    assert [line.text for line in answer.regions[0].lines] == ["<6>"]
    room.recogniser.unsure = {5, 6}
    answer = room.read(region(0, [10, 10, 110, 20], [line]))
    assert [line.text for line in answer.regions[0].lines] == ["<5>"]


def test_text_the_page_gives_is_taken_as_it_is(room: Room) -> None:
    line = TextLine(bbox=[10, 10, 60, 20], text="native", font_size=10)
    answer = room.read(region(0, [10, 10, 60, 20], [line]), picture=False)
    assert answer.regions[0].lines[0].text == "native"
    assert (answer.regions[0].method, answer.regions[0].model, answer.models) == ("native", None, [])
    assert room.recogniser.read_at == []


def test_a_direct_region_is_read_without_detection(room: Room) -> None:
    room.bar(7, [10, 10, 60, 20])
    answer = room.read(region(0, [10, 10, 60, 20], direct=True))
    assert [(line.text, line.bbox) for line in answer.regions[0].lines] == [("<7>", [10.0, 10.0, 60.0, 20.0])]
    assert answer.regions[0].method == "direct_rec"
    assert room.detector.shown == []
    assert (answer.direct, answer.direct_fallbacks) == (1, 0)


def test_an_unsure_direct_region_is_looked_at_with_detection(room: Room) -> None:
    room.recogniser.unsure = {7}
    room.bar(7, [10, 10, 60, 30])
    room.bar(8, [10, 12, 30, 18])
    # in pixels of the region with its margin: 10 units * 2 - 6 px
    quad = np.array([[6, 10], [46, 10], [46, 22], [6, 22]], dtype=np.float32)
    room.detector.answer = [DetectedLine(quad, 0.9)]
    answer = room.read(region(0, [10, 10, 60, 30], direct=True))
    assert [(line.text, line.bbox) for line in answer.regions[0].lines] == [("<8>", [10.0, 12.0, 30.0, 18.0])]
    assert answer.regions[0].method == "det_rec"
    assert (answer.direct, answer.direct_fallbacks) == (1, 1)
    assert [model.name for model in answer.models] == ["reader", "lines"]


def test_a_direct_region_keeps_its_text_where_detection_gives_nothing_surer(room: Room) -> None:
    room.recogniser.unsure = {7}
    room.bar(7, [10, 10, 60, 20])
    answer = room.read(region(0, [10, 10, 60, 20], direct=True))
    assert answer.regions[0].lines[0].text == "<7>"
    assert len(room.detector.shown) == 1


def test_a_region_the_vl_model_could_not_read_is_looked_at_for_lines(room: Room) -> None:
    room.bar(7, [10, 10, 60, 20])
    quad = np.array([[3, 3], [103, 3], [103, 23], [3, 23]], dtype=np.float32)
    room.detector.answer = [DetectedLine(quad, 0.9)]
    answer = room.read(region(0, [10, 10, 60, 20], read_by="vl"), fallback_from="glm-ocr")
    assert answer.regions[0].lines[0].text == "<7>"
    assert answer.regions[0].fallback_from == "glm-ocr"
    assert warned(answer) == []  # the service says why, in the region


def test_a_failing_line_is_named_and_the_others_are_read(room: Room) -> None:
    room.recogniser.failing = {13}
    lines = [room.bar(value, [10, 10 * value % 90, 60, 10 * value % 90 + 8]) for value in (1, 13, 2)]
    answer = room.read(region(0, [10, 10, 60, 90], lines))
    assert [line.text for line in answer.regions[0].lines] == ["<1>", "<2>"]
    (error,) = answer.errors
    assert (error.code, error.page_no, error.region_id, error.phase) == (ErrorCode.internal, 1, "p00001-r000", "rec")
    assert "line 2 of p00001-r000" in error.message


def test_a_page_of_which_no_line_can_be_read_fails(room: Room) -> None:
    room.recogniser.failing = {1, 2}
    lines = [room.bar(value, [10, 10 * value, 60, 10 * value + 8]) for value in (1, 2)]
    with pytest.raises(DocfleetError) as raised:
        room.read(region(0, [10, 10, 60, 30], lines))
    assert raised.value.code is ErrorCode.internal


def test_lines_to_read_without_a_picture_are_a_conflict(room: Room) -> None:
    with pytest.raises(DocfleetError) as raised:
        room.read(region(0, [10, 10, 60, 20], [TextLine(bbox=[10, 10, 60, 20])]), picture=False)
    assert raised.value.code is ErrorCode.conflict


def test_formulas_and_silent_regions_are_warned_of(room: Room) -> None:
    lines = [room.bar(7, [10, 10, 60, 20])]
    answer = room.read(region(0, [10, 10, 60, 20], lines, label="formula"), region(1, [10, 50, 60, 60], direct=True))
    assert answer.regions[0].lines[0].text == "<7>"
    assert answer.regions[1].lines == []
    assert answer.regions[1].confidence is None
    assert warned(answer) == [
        ("not_read", "p00001-r000: a formula, read as plain text"),
        ("not_read", "no text was found in 1 regions (p00001-r001)"),
    ]


def test_a_table_has_its_cells_in_units_of_the_page(room: Room) -> None:
    lines = [
        room.bar(r * 2 + c + 1, [15 + c * 50, 15 + r * 20, 45 + c * 50, 25 + r * 20]) for r in (0, 1) for c in (0, 1)
    ]
    room.structure.answer = TableGrid(
        num_rows=2,
        num_cols=2,
        cells=[
            TableCell(row=r, col=c, header=r == 0, bbox=[c * 100 + 4, r * 40 + 4, c * 100 + 90, r * 40 + 36])
            for r in (0, 1)
            for c in (0, 1)
        ],
        score=0.9,
        complete=True,
    )
    answer = room.read(region(0, [10, 10, 110, 50], lines, label="table"))
    table = answer.regions[0].table
    assert table is not None
    assert room.structure.shown == [(100, 200, 3)], "the lines with a line's height around them"
    assert (
        table.html
        == "<table><tr><th>&lt;1&gt;</th><th>&lt;2&gt;</th></tr><tr><td>&lt;3&gt;</td><td>&lt;4&gt;</td></tr></table>"
    )
    assert table.cells[3].bbox == [57.0, 27.0, 100.0, 43.0]
    assert len(answer.regions[0].lines) == 4
    assert answer.warnings == []


def test_a_table_without_a_structure_keeps_its_lines_and_says_so(room: Room) -> None:
    lines = [room.bar(1, [15, 15, 45, 25])]
    answer = room.read(region(0, [10, 10, 110, 50], lines, label="table"))
    assert answer.regions[0].table is None
    assert answer.regions[0].lines[0].text == "<1>"
    assert warned(answer) == [
        ("table_structure", "p00001-r000: kept as lines, its structure was not found (no cells were found)")
    ]


def test_a_seal_is_unrolled_and_read_the_other_way_up_where_that_is_surer(room: Room) -> None:
    strip = np.full((64, 300, 3), 5, dtype=np.uint8)
    strip[:, 150:] = 6
    strip[:10] = strip[-10:] = 255
    polygon = np.array([[10, 10], [50, 12], [40, 60]], dtype=np.float32)
    room.seals.answer = [SealLine(polygon, strip, 0.9, True)]
    room.recogniser.unsure = {5}
    answer = room.read(region(0, [50, 20, 100, 70], label="seal"))
    assert room.recogniser.read_at[0] == (5, round(300 * 48 / 64)), "at full width"
    assert answer.regions[0].lines[0].text == "<6>"
    assert answer.regions[0].lines[0].bbox == [47.5, 17.5, 67.5, 42.5]


def test_a_seal_that_is_not_read_surely_is_looked_at_as_plain_text_too(room: Room) -> None:
    """A stamp with straight lines and no ring of text, in speckled black and white."""
    strip = np.full((64, 300, 3), 5, dtype=np.uint8)
    strip[:10] = 255
    room.seals.answer = [SealLine(np.array([[10, 10], [50, 12], [40, 60]], dtype=np.float32), strip, 0.9, True)]
    room.recogniser.unsure = {5, 40}
    room.bar(80, [60, 30, 90, 40])
    room.bar(120, [60, 50, 90, 60])
    begin = [100 - 15, 40 - 15]  # of the region in pixels, with its margin
    room.detector.answer = [
        DetectedLine(np.array([[x0, y0], [x0 + 60, y0], [x0 + 60, y0 + 20], [x0, y0 + 20]], np.float32), 0.9)
        for x0, y0 in ((120 - begin[0], 60 - begin[1]), (120 - begin[0], 100 - begin[1]))
    ]
    answer = room.read(region(0, [50, 20, 100, 70], label="seal"))
    assert [line.text for line in answer.regions[0].lines] == ["<80>", "<120>"]
    assert [line.bbox for line in answer.regions[0].lines] == [[60.0, 30.0, 90.0, 40.0], [60.0, 50.0, 90.0, 60.0]]
    assert answer.regions[0].method == "det_rec"

    room.recogniser.unsure = {5, 80, 120}  # no surer: what the seal's own detector saw stays
    answer = room.read(region(0, [50, 20, 100, 70], label="seal"))
    assert [line.text for line in answer.regions[0].lines] == ["<5>"]


def test_a_seal_with_text_of_its_own_is_not_looked_at(room: Room) -> None:
    line = TextLine(bbox=[10, 10, 60, 20], text="stamped", font_size=10)
    answer = room.read(region(0, [10, 10, 60, 20], [line], label="seal"))
    assert [read.text for read in answer.regions[0].lines] == ["stamped"]
    assert room.seals.shown == []


def test_a_line_without_ink_is_not_read(room: Room) -> None:
    empty = TextLine(bbox=[120, 10, 180, 20], confidence=0.9)
    answer = room.read(region(0, [10, 10, 180, 20], [room.bar(1, [10, 10, 60, 20]), empty]))
    assert [line.text for line in answer.regions[0].lines] == ["<1>"]
    assert (answer.crops, answer.blank, len(room.recogniser.read_at)) == (1, 1, 1), "and not looked at again"


def test_repeated_crops_are_read_once(room: Room) -> None:
    lines = [room.bar(4, [10, 10 * n, 60, 10 * n + 8]) for n in range(1, 6)]
    answer = room.read(region(0, [10, 10, 60, 60], lines))
    assert [line.text for line in answer.regions[0].lines] == ["<4>"] * 5
    assert (answer.crops, answer.cache_hits) == (5, 4)
    assert len(room.recogniser.read_at) == 1


def test_from_a_part_of_the_page_the_same_is_read_at_the_same_places(room: Room) -> None:
    lines = [room.bar(40, [110, 50, 150, 58]), room.bar(60, [110, 62, 150, 70])]
    room.detector.answer = [DetectedLine(np.array([[4, 3], [44, 3], [44, 13], [4, 13]], np.float32), 0.9)]
    room.seals.answer = [
        SealLine(
            polygon=np.array([[0, 0], [40, 0], [40, 20], [0, 20]], np.float32),
            picture=np.full((48, 160, 3), 90, np.uint8),
            score=0.9,
            curved=False,
        )
    ]
    regions = [
        region(0, [108, 48, 152, 72], lines),
        region(1, [110, 50, 150, 58], direct=True),
        region(2, [110, 50, 150, 70], label="seal"),
        region(3, [120, 50, 150, 70]),
    ]
    whole = room.read(*regions)
    box = [104 * SCALE, 40 * SCALE, 176 * SCALE, 88 * SCALE]
    part = room.read(*regions, picture_box=box, picture_whole=(200 * SCALE, 100 * SCALE))
    assert part.regions == whole.regions
    assert sum(len(one.lines) for one in whole.regions) >= 4
