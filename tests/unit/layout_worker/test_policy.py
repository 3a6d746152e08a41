"""The routing table: rows in order, the first that fits and can decides; nonsense in it is refused when settings are read."""

import msgspec
import pytest
from pydantic import ValidationError

from services.layout_worker.policy import Decision, Policy
from services.layout_worker.regions.drafts import Draft
from services.layout_worker.route import Router
from shared.contracts.layout import Grid, Inspection, TextLine
from shared.contracts.options import Options
from shared.contracts.records import SourceInfo
from shared.settings import ROUTE, Layout, RouteRule, Settings, for_engine_child

pytestmark = pytest.mark.unit

NATIVE = TextLine(bbox=[0, 0, 10, 10], text="x")
SCANNED = TextLine(bbox=[0, 20, 10, 30], quad=[0.0] * 8, confidence=0.9)
SMALL, LARGE = [0.0, 0, 100, 20], [0.0, 0, 500, 300]
PAGE = 595.0 * 842


def draft(label, *lines, confidence=0.9, bbox=LARGE, found_by="model", grid=None):
    return Draft(
        label=label,
        raw_label=label,
        bbox=bbox,
        confidence=confidence,
        found_by=found_by,
        lines=list(lines),
        grid=grid,
    )


def policy(rules=ROUTE, *, vl=True, **options):
    return Policy(rules=rules, page_area=PAGE, options=Options(**options), vl=vl)


@pytest.mark.parametrize(
    ("given", "reader", "rule"),
    [
        (draft("table", SCANNED), "vl", "model"),
        (draft("table", SCANNED, confidence=0.4, bbox=SMALL), "rec", "doubtful-table"),
        (draft("table", SCANNED, confidence=0.4), "vl", "model"),
        (draft("table", SCANNED, confidence=0.6, bbox=SMALL), "vl", "model"),
        (draft("table", SCANNED, confidence=0.0, bbox=SMALL, found_by="native"), "vl", "model"),
        (draft("formula", NATIVE, confidence=0.4), "native", "doubtful-formula"),
        (draft("formula", SCANNED, confidence=0.4), "vl", "model"),
        (draft("formula", NATIVE, confidence=0.9), "vl", "model"),
        (draft("picture"), "none", "picture"),
        (draft("text", NATIVE), "native", None),
        (draft("text", NATIVE, SCANNED), "rec", None),
        (draft("text"), "none", None),
        (draft("table", NATIVE, grid=Grid(cells=[])), "native", "drawn-grid"),
        (draft("table", SCANNED, grid=Grid(cells=[])), "vl", "model"),
    ],
)
def test_the_default_table_with_a_model(given, reader, rule):
    assert policy().decide(given) == Decision(reader, rule)


def test_a_row_whose_reader_is_not_there_is_passed_over():
    table = draft("table", SCANNED)
    assert policy(vl=False).decide(table) == Decision("rec", "structure")
    assert policy(ocr="off").decide(table) == Decision("none")
    assert policy(ocr="off").decide(draft("table", NATIVE)) == Decision("rec", "structure")


def test_rows_of_a_user_go_first_and_the_rest_follows_from_the_lines():
    rules = [
        RouteRule(name="charts", labels=["picture"], share_from=0.1, to="vl"),
        RouteRule(name="no-furniture", labels=["page_footer"], to="none"),
        RouteRule(name="scans", text="none", confidence_from=0.8, to="vl"),
    ]
    ours = policy(rules)
    assert ours.decide(draft("picture")) == Decision("vl", "charts")
    assert ours.decide(draft("picture", bbox=SMALL, confidence=0.1)) == Decision("none")
    assert ours.decide(draft("page_footer", SCANNED)) == Decision("none", "no-furniture")
    assert ours.decide(draft("text", SCANNED)) == Decision("vl", "scans")
    assert ours.decide(draft("text", SCANNED, confidence=0.7)) == Decision("rec")
    assert ours.decide(draft("text", NATIVE)) == Decision("native")


@pytest.mark.parametrize(("text", "lines"), [("all", [NATIVE]), ("some", [NATIVE, SCANNED]), ("none", [SCANNED])])
def test_conditions_on_own_text(text, lines):
    others = [item for item in ([NATIVE], [NATIVE, SCANNED], [SCANNED]) if item != lines]
    ours = policy([RouteRule(name="it", text=text, to="vl")])
    assert ours.decide(draft("text", *lines)).rule == "it"
    missed = [item for item in others if ours.decide(draft("text", *item)).rule == "it"]
    assert missed == ([[NATIVE]] if text == "some" else [])


def test_native_is_never_taken_where_text_would_be_lost():
    ours = policy([RouteRule(name="own", to="native")])
    assert ours.decide(draft("text", NATIVE, SCANNED)) == Decision("rec")
    assert ours.decide(draft("text", NATIVE)) == Decision("native", "own")


@pytest.mark.parametrize(
    "row",
    [
        {"name": "x", "to": "cloud"},
        {"name": "x", "labels": ["tabel"], "to": "vl"},
        {"name": "Not A Name", "to": "vl"},
        {"name": "x", "to": "vl", "confidence_below": 1.5},
        {"name": "x", "to": "vl", "confidence_below": 0.5, "confidence_from": 0.5},
        {"name": "x", "to": "native", "text": "none"},
        {"name": "x", "to": "vl", "lable": ["table"]},
        {"to": "vl"},
    ],
)
def test_a_row_that_cannot_be_meant_is_refused(row):
    with pytest.raises(ValidationError):
        Layout(route=[row])


def test_the_table_is_data(monkeypatch):
    monkeypatch.setenv("DOCFLEET_LAYOUT__ROUTE", '[{"name": "all", "to": "vl"}]')
    given = Settings()
    assert [(rule.name, rule.to) for rule in given.layout.route] == [("all", "vl")]
    assert not hasattr(for_engine_child(given).layout, "route"), "engines start without pydantic"


def test_the_row_is_written_into_the_result():
    inspection = Inspection(
        document_id="d",
        generation=0,
        source=SourceInfo(bucket="b", key="k"),
        options=Options(),
        options_hash="h",
        pipeline_fingerprint="f",
        unit="pt",
        pages=[],
        selected="1",
        vl_profile="glm-ocr",
    )
    given = [draft("table", SCANNED, confidence=0.4, bbox=SMALL), draft("table", SCANNED), draft("text", NATIVE)]
    regions, warnings = Router(inspection, ROUTE, PAGE).route(given, 1)
    assert [(r.read_by, r.route) for r in regions] == [("rec", "doubtful-table"), ("vl", "model"), ("native", None)]
    assert warnings == [], "the table itself prefers the recogniser there: nothing is poorer"
    whole = msgspec.structs.replace(inspection, options=Options(vl="page"))
    assert {r.read_by for r in Router(whole, ROUTE, PAGE).route(given, 1)[0]} == {"vl"}
    off = msgspec.structs.replace(inspection, options=Options(vl="off"))
    assert [r.read_by for r in Router(off, ROUTE, PAGE).route(given, 1)[0]] == ["rec", "rec", "native"]
