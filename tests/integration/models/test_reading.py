"""Detection, reading, layout, table, seal and orientation, on scanned sheets whose text is known."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pymupdf
import pytest

from services.rec_worker.crops import cut, pieces, quad_of_box
from shared.engines.engine import Engine
from shared.models.layout import LayoutModel
from shared.models.lines import DetectedLine, LineDetector
from shared.models.orientation import OrientationModel
from shared.models.reader import SQUEEZE, Reader
from shared.models.seal import SealDetector
from shared.models.table import TableStructure
from shared.settings import Settings
from tests.integration.models.sheets import SEAL_TEXT, Sheet, error_rate, plain

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

LIMIT = 0.006
"""Character errors allowed on the scans."""


@pytest.fixture(scope="session")
def detector(openvino: Engine, settings: Settings) -> LineDetector:
    return LineDetector(openvino, settings)


@pytest.fixture(scope="session")
def reader(openvino: Engine, settings: Settings) -> Reader:
    return Reader(openvino, settings)


def read(reader: Reader, crops: list[npt.NDArray[np.uint8]], squeeze: float = SQUEEZE) -> list[str]:
    """Texts of crops, those of a bucket together."""
    texts = [""] * len(crops)
    buckets: dict[int, list[int]] = {}
    for index, crop in enumerate(crops):
        buckets.setdefault(reader.width_of(crop.shape[1], crop.shape[0], squeeze), []).append(index)
    for bucket, indices in buckets.items():
        prepared = [reader.prepare(crops[index], bucket, squeeze) for index in indices]
        for index, line in zip(indices, reader.read(prepared, bucket), strict=True):
            texts[index] = line.text
    return texts


def owner(sheet: Sheet, line: DetectedLine) -> int | None:
    """Which printed line a detected one belongs to, by its centre."""
    x, y = line.quad.mean(axis=0)
    near = [
        (abs((box[1] + box[3]) / 2 - y), index)
        for index, (_, box) in enumerate(sheet.lines)
        if box[0] - 10 <= x <= box[2] + 10 and box[1] - 10 <= y <= box[3] + 10
    ]
    return min(near)[1] if near else None


def compare(sheet: Sheet, found: list[DetectedLine], texts: list[str]) -> tuple[str, str]:
    """All printed text and all read text, in the order of the printed lines."""
    parts: list[list[tuple[float, str]]] = [[] for _ in sheet.lines]
    for line, text in zip(found, texts, strict=True):
        index = owner(sheet, line)
        if index is not None:
            parts[index].append((float(line.quad[:, 0].min()), text))
    read_text = "".join(text for entries in parts for _, text in sorted(entries))
    return "".join(text for text, _ in sheet.lines), read_text


@pytest.mark.parametrize("name", ["english", "chinese"])
def test_a_scan_is_found_and_read(
    name: str, request: pytest.FixtureRequest, detector: LineDetector, reader: Reader
) -> None:
    sheet: Sheet = request.getfixturevalue(name)
    found = detector.detect(sheet.picture)
    texts = read(reader, [cut(sheet.picture, line.quad) for line in found])
    truth, text = compare(sheet, found, texts)
    assert error_rate(truth, text) <= LIMIT
    assert {owner(sheet, line) for line in found} >= set(range(len(sheet.lines)))


def test_text_does_not_depend_on_the_company_or_the_engine(
    chinese: Sheet, reader: Reader, onnxruntime: Engine, settings: Settings
) -> None:
    # The printed lines: what is detected of the seal as well is no line, and read one way or another.
    crops = [cut(chinese.picture, quad_of_box(x0 - 4, y0, x1 + 4, y1)) for _, (x0, y0, x1, y1) in chinese.lines]
    together = read(reader, crops)
    alone = [read(reader, [crop])[0] for crop in crops]
    assert together == alone
    other = read(Reader(onnxruntime, settings), crops)
    assert error_rate("".join(other), "".join(together)) <= 0.002


def test_streams_share_a_network(english: Sheet, detector: LineDetector, reader: Reader) -> None:
    crops = [cut(english.picture, line.quad) for line in detector.detect(english.picture)][:16]
    wanted = read(reader, crops)
    with ThreadPoolExecutor(4) as pool:
        assert all(texts == wanted for texts in pool.map(lambda _: read(reader, crops), range(4)))


def test_a_line_wider_than_the_widest_bucket_is_squeezed_into_it(english: Sheet, reader: Reader) -> None:
    assert reader.width_of(100_000, 48) == reader.max_width
    wide = np.full((40, 6_000, 3), 255, np.uint8)
    planes = reader.prepare(wide, reader.max_width)
    assert planes.shape == (3, 48, reader.max_width)
    assert all(part.shape[1] <= reader.max_width for part, _ in pieces(wide))
    assert reader.read([planes], reader.max_width) == [("", 0.0, 0.0, ())]
    assert reader.read([], 64) == []


def test_high_pictures_lose_and_double_no_line(english: Sheet, detector: LineDetector) -> None:
    column = english.picture[350:2250, 140:840]
    high = np.concatenate([column] * 3)
    once = sum(45 < line.quad[:, 1].mean() < 1_855 for line in detector.detect(column))
    found = detector.detect(high)
    inside = [line for line in found if 45 < line.quad[:, 1].mean() % 1_900 < 1_855]
    assert once >= 15
    assert abs(len(inside) - 3 * once) <= 1
    centres = sorted((round(float(y)), round(float(x))) for x, y in (line.quad.mean(axis=0) for line in found))
    assert all(b[0] - a[0] > 4 or abs(a[1] - b[1]) > 40 for a, b in itertools.pairwise(centres))


@pytest.mark.parametrize(("points", "looks"), [(6, [960, 1_536]), (10, [960])])
def test_small_print_is_looked_at_again(
    points: int, looks: list[int], detector: LineDetector, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "只有当之前每一条记录的输出都已保存，偏移量才会提交。"
    page = pymupdf.open().new_page(width=595, height=842)
    for row in range(40):
        page.insert_text((60, 60 + row * points * 1.7), text, fontname="china-s", fontsize=points)
    pixels = page.get_pixmap(dpi=200)
    picture = np.frombuffer(pixels.samples, np.uint8).reshape(pixels.height, pixels.width, 3)
    sides: list[int] = []
    once = detector._once
    monkeypatch.setattr(detector, "_once", lambda picture, side: sides.append(side) or once(picture, side))
    found = detector.detect(picture)
    assert sides == looks
    assert len(found) == 40
    assert error_rate(text * 40, "".join(read(reader, [cut(picture, line.quad) for line in found]))) <= LIMIT


def test_nothing_to_find_is_nothing(detector: LineDetector, openvino: Engine, settings: Settings) -> None:
    white = np.full((400, 300, 3), 255, np.uint8)
    assert detector.detect(white) == []
    assert detector.detect(white[:2, :2]) == []
    noisy = np.random.default_rng(0).normal(245, 4, (1_000, 700, 3)).astype(np.uint8)
    assert detector.detect(noisy) == []
    assert LayoutModel(openvino, settings).detect(white) == []
    assert SealDetector(openvino, settings).lines(white) == []


def iou(a: list[float], b: tuple[float, float, float, float]) -> float:
    inner = max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    return inner / (sum(areas) - inner)


def table_box(sheet: Sheet) -> tuple[float, float, float, float]:
    """The rules of the sheet's table: they begin at 90 pt and end at 505 pt, four rows of 26 pt around its texts."""
    top = min(box[1] for text, box in sheet.lines if plain(text) == "阶段")
    bottom = max(box[3] for text, box in sheet.lines if plain(text) == "汇总")
    points = 200 / 72
    return 90 * points, top - 6 * points, 505 * points, bottom + 6 * points


def test_the_layout_of_a_page(chinese: Sheet, english: Sheet, openvino: Engine, settings: Settings) -> None:
    model = LayoutModel(openvino, settings)
    boxes = model.detect(chinese.picture)
    assert all(box.score >= 0.3 for box in boxes)
    assert [box.score for box in boxes] == sorted((box.score for box in boxes), reverse=True)
    height, width = chinese.picture.shape[:2]
    assert all(0 <= b.bbox[0] < b.bbox[2] <= width and 0 <= b.bbox[1] < b.bbox[3] <= height for b in boxes)
    (table,) = (box for box in boxes if box.label == "table")
    assert iou(table.bbox, table_box(chinese)) > 0.8
    others = model.detect(english.picture)
    covered = [
        text
        for text, (x0, y0, x1, y1) in english.lines
        if any(b.bbox[0] <= (x0 + x1) / 2 <= b.bbox[2] and b.bbox[1] <= (y0 + y1) / 2 <= b.bbox[3] for b in others)
    ]
    assert len(covered) >= 0.9 * len(english.lines)


def test_the_grid_of_a_ruled_table(chinese: Sheet, openvino: Engine, settings: Settings) -> None:
    x0, y0, x1, y1 = (round(value) for value in table_box(chinese))
    grid = TableStructure(openvino, settings).read(np.ascontiguousarray(chinese.picture[y0:y1, x0:x1]))
    assert (grid.num_rows, grid.num_cols, len(grid.cells), grid.complete) == (4, 4, 16, True)
    assert grid.score > 0.9
    for text, place in (("阶段", (0, 0)), ("说明", (0, 3)), ("跨文档成批", (2, 3)), ("40", (3, 2))):
        box = next(box for line, box in chinese.lines if plain(line) == text)
        (cell,) = (cell for cell in grid.cells if (cell.row, cell.col) == place)
        centre = (cell.bbox[0] + cell.bbox[2]) / 2 + x0, (cell.bbox[1] + cell.bbox[3]) / 2 + y0
        assert abs(centre[1] - (box[1] + box[3]) / 2) < 40, text
        assert abs(centre[0] - (box[0] + box[2]) / 2) < 130, text


def test_the_ring_of_a_seal_is_unrolled_and_read(
    chinese: Sheet, openvino: Engine, settings: Settings, reader: Reader
) -> None:
    height, width = chinese.picture.shape[:2]
    x, y, half = int(width * 0.72), int(height * 0.74), 165
    seal = np.ascontiguousarray(chinese.picture[y - half : y + half, x - half : x + half])
    found = SealDetector(openvino, settings).lines(seal)
    assert found[0].curved
    assert plain(read(reader, [found[0].picture], 1.0)[0]) == SEAL_TEXT
    assert (found[0].polygon.min() >= -5, found[0].polygon.max() <= 2 * half + 5) == (True, True)


@pytest.mark.parametrize("name", ["english", "chinese"])
@pytest.mark.parametrize("quarters", [0, 1, 2, 3])
def test_the_orientation_of_a_page(
    name: str, quarters: int, request: pytest.FixtureRequest, openvino: Engine, settings: Settings
) -> None:
    sheet: Sheet = request.getfixturevalue(name)
    turned = np.ascontiguousarray(np.rot90(sheet.picture, quarters))  # counter-clockwise
    angle, confidence = OrientationModel(openvino, settings).angle(turned)
    assert angle == 90 * quarters
    assert confidence > 0.6
