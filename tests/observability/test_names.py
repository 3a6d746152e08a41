"""What rules, dashboards, the chart and the pages call a metric is in the registry, with the labels they ask for."""

from __future__ import annotations

import re

import pytest

from shared.telemetry import metrics
from tests.observability.material import (
    DASHBOARDS,
    OF_THE_CLIENT,
    ROOT,
    SCRAPED,
    alerts,
    names,
    panels,
    registered,
    selectors,
)

pytestmark = pytest.mark.unit

LABELS = {
    "topic",
    "code",
    "reason",
    "outcome",
    "event",
    "what",
    "child",
    "flush",
    "result",
    "look",
    "endpoint",
    "fault",
}
LABELS |= {"stage", "status", "type"}
"""All label names there are. Each has few values: topics and codes of a list, states of code, endpoints of the settings."""


def expressions() -> list[tuple[str, str]]:
    found = [(f"alert {name}", rule["expr"]) for name, rule in alerts().items()]
    return found + [(f"{path.name} {title}", expr) for path in DASHBOARDS for title, expr in panels(path)]


def test_rules_and_dashboards_name_metrics_and_labels_that_there_are():
    known = registered()
    for where, expr in expressions():
        used = names(expr)
        assert used or any(name in expr for name in OF_THE_CLIENT), where
        assert used <= set(known), f"{where}: {used - set(known)}"
        for name, labels in selectors(expr):
            assert labels <= {*known[name]._labelnames, "le"}, f"{where}: {name} {labels}"
        grouped = {label for group in re.findall(r"(?:by|on) \(([^)]*)\)", expr) for label in group.split(", ")}
        there = {label for name in used for label in known[name]._labelnames} | SCRAPED | {"le"}
        assert grouped <= there, f"{where}: {grouped - there}"


def test_the_chart_names_metrics_that_there_are():
    text = "\n".join(
        path.read_text()
        for path in sorted((ROOT / "helm").rglob("*"))
        if path.suffix in (".yaml", ".tpl", ".json", ".md")
    )
    known = set(registered())
    assert names(text) <= known, names(text) - known


def test_the_pages_name_metrics_that_there_are():
    known = set(registered()) | {metric._name for metric in registered().values()}
    for path in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]:
        assert names(path.read_text()) <= known, f"{path}: {names(path.read_text()) - known}"


def test_every_metric_is_shown_somewhere():
    shown = {name for _, expr in expressions() for name in names(expr)}
    missing = {name for name in registered() if not name.endswith(("_bucket", "_sum", "_count"))} - shown
    histograms = {metric._name for name, metric in registered().items() if name.endswith("_bucket")}
    missing |= {name for name in histograms if not any(used.startswith(name) for used in shown)}
    assert missing == set()


def test_no_label_can_grow_with_the_work():
    for name, metric in registered().items():
        assert set(metric._labelnames) <= LABELS, name


def test_units_are_told_by_the_names():
    assert metrics.unit("docfleet_page_seconds") == "seconds"
    assert metrics.unit("docfleet_records_polled") == "records"
    assert metrics.unit("docfleet_rec_engine_seconds") == "seconds"
    assert metrics.unit("docfleet_rec_batch_fill_ratio") == "ratio"
    assert {metrics.unit(metric._name) for metric in registered().values()} >= {"bytes", "pages", "requests", "state"}
