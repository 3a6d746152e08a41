"""What must be looked for on a page, and the layout that comes of it."""

import pytest

from services.layout_worker.found import FoundBox, FoundLine, Look
from services.layout_worker.page import _without_pictures, assemble, plan
from shared.contracts.layout import TextLine
from shared.documents.page import NativeLine, OpenedPage
from shared.settings import Settings
from tests.unit.layout_worker.inspections import inspection

pytestmark = pytest.mark.unit

SETTINGS = Settings()
SCALE = (1.0, 1.0)


def native(x0, y0, x1, y1, text="text of a line", **more):
    return NativeLine(bbox=[x0, y0, x1, y1], text=text, font_name="F", font_size=10.0, **more)


def page(*lines, **more):
    return OpenedPage(page_no=1, **{"width": 595.0, "height": 842.0, "unit": "pt", "lines": list(lines), **more})


def look(*boxes, ink=0.05, seals=()):
    return Look(
        boxes=[FoundBox(label=label, raw_label=label, bbox=bbox, score=0.9) for label, bbox in boxes],
        seals=list(seals),
        ink=ink,
    )


def planned(opened, seen, **options):
    return plan(opened, seen, SCALE, inspection(**options), 1, SETTINGS)


TEXT = [50.0, 100, 300, 200]
LINES = [native(52, 102 + 14 * i, 298, 114 + 14 * i) for i in range(6)]
SMALL = [50.0, 800, 120, 812]


@pytest.mark.parametrize(
    ("opened", "seen", "options", "search", "picture"),
    [
        (page(*LINES), look(("text", TEXT)), {}, "nothing", False),
        (page(*LINES), look(("text", TEXT)), {"pictures": True}, "nothing", True),
        (page(*LINES), look(("text", TEXT)), {"ocr": "force"}, "lines", True),
        (page(*LINES), look(("text", TEXT), ("page_footer", SMALL)), {}, "direct", True),
        (page(*LINES), look(("text", TEXT), ("text", [50, 300, 500, 400])), {}, "lines", True),
        (page(*LINES), look(("text", TEXT), ("text", [50, 300, 500, 400])), {"ocr": "off"}, "nothing", False),
        (page(*LINES), look(("table", TEXT)), {}, "nothing", True),
        (
            page(native(52, 102, 298, 114, "E = mc2")),
            look(("formula", TEXT)),
            {"vl_profile": "glm-ocr"},
            "nothing",
            True,
        ),
        (page(*LINES, image_boxes=[[50, 300, 500, 500]]), look(("text", TEXT)), {}, "lines", True),
        (page(*LINES, image_boxes=[[50, 300, 60, 310]]), look(("text", TEXT)), {}, "nothing", False),
        (
            page(*LINES, image_boxes=[[300, 300, 390, 390]]),
            look(("text", TEXT), seals=[[302, 302, 388, 388]]),
            {},
            "nothing",
            True,
        ),
        (page(*LINES, native(50, 300, 300, 312, bad_unicode=True)), look(("text", TEXT)), {}, "lines", True),
        (page(), look(("text", TEXT)), {}, "lines", True),
        (page(), look(), {}, "lines", True),
        (page(), look(ink=0.00001), {}, "nothing", False),
        (page(blank=True), look(), {}, "nothing", False),
        (page(unit="px"), look(("page_header", SMALL)), {}, "lines", True),
    ],
)
def test_what_is_looked_for(opened, seen, options, search, picture):
    decided = planned(opened, seen, **options)
    assert (decided.search, decided.picture) == (search, picture)


def laid_out(opened, seen, found=(), size=(1190, 1684), **options):
    return assemble(opened, planned(opened, seen, **options), list(found), size, [], inspection(**options), 1, SETTINGS)


def found(x0, y0, x1, y1):
    """A detected line, given in points, on a picture with two pixels a point."""
    return FoundLine(quad=[v * 2 for v in (x0, y0, x1, y0, x1, y1, x0, y1)], score=0.9)


def test_boxes_of_the_small_picture_become_page_units():
    seen = look(("text", [25.0, 50, 150, 100]))
    decided = plan(page(*LINES), seen, (0.5, 0.5), inspection(), 1, SETTINGS)
    assert decided.boxes[0].bbox == TEXT


def test_small_single_lines_are_read_without_detection():
    layout = laid_out(page(*LINES), look(("text", TEXT), ("page_footer", SMALL)))
    (footer,) = [region for region in layout.regions if region.label == "page_footer"]
    assert (footer.read_by, footer.direct, footer.lines) == ("rec", True, [])
    assert (layout.kind, len(layout.tasks)) == ("mixed", 1)
    assert layout.picture_key == "work/d/0/00001.jpg"
    assert (layout.picture_width, layout.picture_height) == (1190, 1684)


def test_a_picture_with_nothing_to_read_in_it_needs_no_task_and_no_stored_picture():
    opened = page(*LINES, image_boxes=[[50, 300, 500, 500]])
    layout = laid_out(opened, look(("text", TEXT), ("picture", [50, 300, 500, 500])))
    assert (layout.kind, layout.tasks, layout.picture_key) == ("native", [], None)
    assert [region.label for region in layout.regions] == ["text", "picture"]


def test_native_and_detected_lines_of_one_region_stand_together():
    opened = page(*LINES[:5], image_boxes=[[50, 170, 500, 190]])
    detected = [found(*line.bbox) for line in LINES]
    (region,) = laid_out(opened, look(("text", [50, 100, 300, 190])), detected).regions
    assert [line.text is None for line in region.lines] == [False] * 5 + [True]
    assert (region.read_by, region.reason) == ("rec", "own text and picture")


def test_nothing_reaches_over_the_edge_of_the_page():
    layout = laid_out(page(), look(("text", [-5, -5, 700, 40])), [found(-4, 2, 640, 16)])
    assert layout.regions[0].bbox == layout.regions[0].lines[0].bbox == [0, 2, 595, 16]


def test_the_vl_model_gets_a_picture_of_a_native_table():
    layout = laid_out(page(*LINES), look(("table", TEXT)), vl_profile="glm-ocr")
    assert layout.regions[0].read_by == "vl"
    assert [task.stage for task in layout.tasks] == ["vl"]
    assert layout.picture_key is not None
    assert layout.warnings == []


def test_a_line_as_large_as_a_picture_is_that_picture():
    lines = [FoundLine(quad=[50, y, 450, y, 450, y + 20, 50, y + 20], score=0.9) for y in (40, 70, 100)]
    chart = FoundLine(quad=[102, 204, 398, 202, 399, 398, 101, 399], score=0.5)
    picture = FoundBox(label="picture", raw_label="figure", bbox=[50, 100, 200, 200], score=0.9)
    assert _without_pictures([*lines, chart], [picture], (2.0, 2.0)) == lines
    banner = FoundLine(quad=[102, 204, 398, 204, 398, 244, 102, 244], score=0.9)
    sign = FoundBox(label="picture", raw_label="figure", bbox=[50, 101, 200, 123], score=0.9)
    assert _without_pictures([*lines, banner], [sign], (2.0, 2.0)) == [*lines, banner], "a word in large type is text"


def test_a_line_as_high_as_a_picture_that_the_page_places_is_a_part_of_that():
    """Of a coloured picture on a page of its own text, which alone is searched for lines."""
    blob = FoundLine(quad=[1015, 1592, 2059, 1512, 2059, 1933, 1015, 2014], score=0.6)
    placed = [[72.0, 561.0, 731.0, 698.0]]
    own = [TextLine(bbox=[72.0, 154.0 + 9 * row, 270.0, 163.0 + 9 * row], text="own") for row in range(9)]
    scale = (2.78, 2.78)
    assert _without_pictures([blob], [], scale, placed, own) == []
    word = FoundLine(quad=[900, 1600, 1500, 1600, 1500, 1800, 900, 1800], score=0.9)
    assert _without_pictures([word], [], scale, placed, own) == [word], "a word in it has ground above and below"
