"""A page that is its own text, with pictures in it, is looked at in its pictures alone."""

import numpy as np
import pytest

from services.layout_worker import page as page_module
from services.layout_worker.boxes import grown, merged
from services.layout_worker.engine.program import _in_parts
from services.layout_worker.found import LinesRequest, Look
from services.layout_worker.page import plan
from shared.documents.page import NativeLine, OpenedPage
from shared.models.lines import DetectedLine
from shared.settings import Settings
from tests.unit.layout_worker.inspections import inspection

pytestmark = pytest.mark.unit

LINES = [
    NativeLine(bbox=[52, 102 + 14 * i, 298, 114 + 14 * i], text="text of a line", font_name="F", font_size=10.0)
    for i in range(6)
]
FIGURE = [100.0, 400, 250, 500]


def within(pictures, lines=(*LINES,), unit="pt", **options):
    opened = OpenedPage(
        page_no=1,
        width=595.0,
        height=842.0,
        unit=unit,
        lines=list(lines),
        image_boxes=pictures,
        image_coverage=0.1,
    )
    given = inspection(**options)
    planned = plan(opened, Look(boxes=[], seals=[], ink=0.05), (1.0, 1.0), given, 1, Settings())
    assert planned.search == "lines"
    return planned.within


def test_a_figure_among_text_is_a_place_with_a_margin():
    (place,) = within([FIGURE])
    assert place == pytest.approx([89.9, 389.9, 260.1, 510.1], abs=0.1)


def test_figures_that_touch_are_one_place():
    assert len(within([FIGURE, [255.0, 400, 300, 500], [100.0, 600, 200, 700]])) == 2


@pytest.mark.parametrize(
    ("pictures", "more"),
    [
        ([FIGURE], {"lines": ()}),
        ([FIGURE], {"ocr": "force"}),
        ([[0.0, 0, 595, 400]], {}),
        ([[45.0 * i, 300 + 150 * (i % 3), 45.0 * i + 14, 340 + 150 * (i % 3)] for i in range(13)], {}),
    ],
    ids=["no text of its own", "forced", "most of the page", "many"],
)
def test_else_the_whole_page_is_looked_at(pictures, more):
    assert within(pictures, **more) == []


def test_merged_boxes_lie_apart_and_hold_all():
    boxes = [[0, 0, 10, 10], [20, 0, 30, 10], [8, 2, 22, 8], [50, 50, 60, 60]]
    assert merged(boxes) == [[0, 0, 30, 10], [50, 50, 60, 60]]
    assert merged(reversed(boxes)) == merged(boxes)
    assert grown([5, 5, 10, 10], 8, 12, 100) == [0, 0, 12, 18]


class Detector:
    """Finds one line: all that is dark."""

    def __init__(self):
        self.sizes = []

    def detect(self, picture):
        self.sizes.append(picture.shape[:2])
        ys, xs = np.nonzero(picture[..., 0] < 128)
        if not len(xs):
            return []
        x0, y0, x1, y1 = xs.min(), ys.min(), xs.max() + 1, ys.max() + 1
        return [DetectedLine(np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], dtype=np.float32), 0.9)]


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_lines_of_a_part_stand_where_they_are_on_the_page(scale):
    picture = np.full((400, 600, 3), 255, dtype=np.uint8)
    picture[120:140, 200:300] = 0
    picture[300:320, 500:560] = 0
    request = LinesRequest(width=600, height=400, parts=[[180, 100, 339, 159], [10, 10, 60, 60]], parts_scale=scale)
    detector = Detector()
    (line,) = _in_parts(detector, picture, request)
    assert line.quad.tolist()[0] == pytest.approx([200, 120], abs=2)
    assert line.quad.tolist()[2] == pytest.approx([300, 140], abs=2)
    assert detector.sizes[0] == (round(60 * scale), round(160 * scale))


@pytest.mark.parametrize(("pictures", "times"), [([], 1), ([FIGURE], 2)])
def test_regions_are_built_again_only_where_lines_were_looked_for(monkeypatch, pictures, times):
    opened = OpenedPage(page_no=1, width=595.0, height=842.0, unit="pt", lines=LINES, image_boxes=pictures)
    built = []
    plain = page_module.regions.build

    def counted(*arguments, **named):
        built.append(named["detected"])
        return plain(*arguments, **named)

    monkeypatch.setattr(page_module.regions, "build", counted)
    given = inspection()
    planned = plan(opened, Look(boxes=[], seals=[], ink=0.05), (1.0, 1.0), given, 1, Settings())
    layout = page_module.assemble(opened, planned, [], (1190, 1684), [], given, 1, Settings())
    assert built == [False, True][:times]
    assert sorted(line.text for region in layout.regions for line in region.lines) == [line.text for line in LINES]
