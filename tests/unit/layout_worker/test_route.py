"""Who reads what, and that the same layout always gives the same records."""

import msgspec
import pytest

from services.layout_worker.regions.drafts import Draft
from services.layout_worker.route import Router, records_of, tasks_of
from shared.contracts.layout import PageLayout, TextLine
from shared.contracts.records import PageTask, RecTask, VlTask
from shared.settings import ROUTE
from tests.unit.layout_worker.inspections import inspection

pytestmark = pytest.mark.unit

NATIVE = TextLine(bbox=[0, 0, 10, 10], text="x")
DETECTED = TextLine(bbox=[0, 20, 10, 30], quad=[0.0] * 8, confidence=0.9)

GRID = [TextLine(bbox=[50 * c, 20 * r, 50 * c + 40, 20 * r + 10], text=f"{r}{c}") for r in range(2) for c in range(2)]


def router(inspected):
    return Router(inspected, ROUTE, page_area=99 * 99)


def draft(label="text", *lines, direct=False):
    return Draft(
        label=label,
        raw_label=label,
        bbox=[0, 0, 99, 99],
        confidence=0.9,
        found_by="model",
        lines=list(lines),
        direct=direct,
    )


@pytest.mark.parametrize(
    ("options", "given", "reader"),
    [
        ({}, draft("text", NATIVE), "native"),
        ({}, draft("text", DETECTED), "rec"),
        ({}, draft("text", NATIVE, DETECTED), "rec"),
        ({}, draft("text"), "none"),
        ({}, draft("picture"), "none"),
        ({}, draft("table", NATIVE), "rec"),
        ({}, draft("table"), "rec"),
        ({}, draft("table", *GRID), "native"),
        ({}, draft("table", *GRID[:-1]), "rec"),
        ({}, draft("table", *GRID[:-1], TextLine(bbox=[50, 20, 90, 30], quad=[0.0] * 8)), "rec"),
        ({}, draft("table", *GRID[:-1], TextLine(bbox=[30, 20, 90, 30], text="over both columns")), "rec"),
        ({"vl_profile": "glm-ocr"}, draft("table", *GRID), "vl"),
        ({}, draft("seal"), "rec"),
        ({}, draft("seal", NATIVE), "native"),
        ({}, draft("formula", NATIVE), "native"),
        ({}, draft("formula"), "rec"),
        ({"vl_profile": "glm-ocr"}, draft("table", NATIVE), "vl"),
        ({"vl_profile": "glm-ocr"}, draft("formula", NATIVE), "vl"),
        ({"vl_profile": "glm-ocr"}, draft("text", DETECTED), "rec"),
        ({"vl_profile": "glm-ocr"}, draft("picture"), "none"),
        ({"vl_profile": "glm-ocr", "vl": "page"}, draft("text", NATIVE), "vl"),
        ({"vl_profile": "glm-ocr", "vl": "document"}, draft("text", DETECTED), "vl"),
        ({"vl_profile": None, "vl": "page"}, draft("text", DETECTED), "rec"),
        ({"ocr": "off"}, draft("text", NATIVE), "native"),
        ({"ocr": "off"}, draft("text"), "none"),
        ({"ocr": "off"}, draft("seal"), "none"),
        ({"ocr": "off"}, draft("table", NATIVE), "rec"),
    ],
)
def test_reader(options, given, reader):
    assert router(inspection(2, **options)).decide(given).reader == reader


def layout_of(inspected, *drafts):
    regions, warnings = router(inspected).route(drafts, 7)
    layout = PageLayout(
        document_id="d",
        generation=2,
        page_no=7,
        width=99,
        height=99,
        unit="pt",
        kind="native",
        regions=regions,
        warnings=warnings,
    )
    return msgspec.structs.replace(layout, tasks=tasks_of(layout, inspected))


TASK = PageTask(document_id="d", generation=2, page_no=7, task_id="layout-g2-p00007", lane="bulk", deadline=9.0)


def test_one_task_for_the_recogniser_and_one_for_each_region_of_the_vl_model():
    inspected = inspection(2, "glm-ocr")
    layout = layout_of(
        inspected, draft("text", DETECTED), draft("text", DETECTED), draft("table", NATIVE), draft("seal")
    )
    rec, table, seal = records_of(TASK, layout, "sha", inspected)
    assert isinstance(rec, RecTask)
    assert (rec.regions, rec.layout_sha256, rec.lane, rec.deadline) == ([], "sha", "bulk", 9.0)
    assert isinstance(table, VlTask)
    assert (table.mode, table.kind, table.region_id, table.pages, table.profile) == (
        "region",
        "table",
        "p00007-r002",
        [7],
        "glm-ocr",
    )
    assert (seal.kind, seal.region_id) == ("seal", "p00007-r003")
    assert [t.task_id for t in layout.tasks] == [rec.task_id, table.task_id, seal.task_id]
    assert len({t.task_id for t in layout.tasks}) == 3
    assert layout.warnings == []


def test_a_page_read_whole_by_the_vl_model_is_one_task():
    inspected = inspection(2, "glm-ocr", vl="page")
    layout = layout_of(inspected, draft("text", DETECTED), draft("table", NATIVE))
    (record,) = records_of(TASK, layout, "sha", inspected)
    assert (record.mode, record.kind, record.region_id) == ("page", "page", None)


def test_ranges_are_left_to_the_join_and_single_pages_are_not():
    assert layout_of(inspection(2, "glm-ocr", range_size=4, vl="document"), draft("text", DETECTED)).tasks == []
    assert len(layout_of(inspection(2, "glm-ocr", range_size=0, vl="document"), draft("text", DETECTED)).tasks) == 1


def test_text_in_a_picture_names_it():
    picture = msgspec.structs.replace(draft("picture"), bbox=[0, 10, 99, 99])
    inside = msgspec.structs.replace(draft("text", NATIVE), inside=[0, 0, 99, 99])
    regions, _ = router(inspection()).route([draft("text", NATIVE), picture, inside], 1)
    assert [region.picture_id for region in regions] == [None, None, regions[1].region_id]
    gone, _ = router(inspection()).route([inside], 1)
    assert gone[0].picture_id is None


def test_a_page_with_nothing_to_read_has_no_task():
    assert layout_of(inspection(2), draft("text", NATIVE), draft("picture")).tasks == []
    assert layout_of(inspection(2, "glm-ocr", vl="page")).tasks == []


def test_what_is_read_the_poorer_way_is_said_once_per_kind():
    layout = layout_of(inspection(2), draft("table", NATIVE), draft("table", DETECTED), draft("formula"))
    assert [(w.code, w.page_no) for w in layout.warnings] == [("vl_unavailable", 7)] * 2
    assert "2 table" in layout.warnings[1].message
    assert layout_of(inspection(2, vl="off"), draft("table", NATIVE)).warnings == []
    assert layout_of(inspection(2), draft("table", *GRID)).warnings == [], "nothing is poorer about a complete grid"


def test_many_regions_are_still_one_task_of_the_recogniser():
    layout = layout_of(inspection(2), *[draft("text", DETECTED) for _ in range(700)])
    assert len(layout.tasks) == 1
    assert len(msgspec.json.encode(records_of(TASK, layout, "s" * 64, inspection(2))[0])) < 500
