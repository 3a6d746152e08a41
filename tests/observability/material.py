"""What is looked at: the alerts, the dashboards and their expressions, as they lie in `observability/`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from prometheus_client.metrics import MetricWrapperBase

from shared.telemetry import metrics

ROOT = Path(__file__).parents[2]
RULES = sorted((ROOT / "observability/rules").glob("*.yaml"))
DASHBOARDS = sorted((ROOT / "observability/dashboards").glob("*.json"))
SCRAPED = {"job", "instance"}
"""Labels the scraper adds."""
OF_THE_CLIENT = {"process_start_time_seconds"}
"""Metrics of prometheus_client's own."""

_NAME = re.compile(r"\bdocfleet_[a-z0-9_]+\b")
_SELECTOR = re.compile(r"\b(docfleet_[a-z0-9_]+)\{([^}]*)\}")


def alerts() -> dict[str, dict[str, Any]]:
    """Alerts by name."""
    groups = [group for path in RULES for group in yaml.safe_load(path.read_text())["groups"]]
    rules = [rule for group in groups for rule in group["rules"]]
    found = {rule["alert"]: rule for rule in rules}
    assert len(found) == len(rules), "two alerts have the same name"
    return found


def panels(path: Path) -> Iterator[tuple[str, str]]:
    """Title and expression of every query of a dashboard."""
    for panel in json.loads(path.read_text())["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]


def registered() -> dict[str, MetricWrapperBase]:
    """Every name a sample can have, and its metric."""
    found: dict[str, MetricWrapperBase] = {}
    for metric in vars(metrics).values():
        if isinstance(metric, MetricWrapperBase):
            kind = str(metric._type)
            endings = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}.get(kind, [""])
            found.update({metric._name + ending: metric for ending in endings})
    return found


def names(text: str) -> set[str]:
    """Metric names in a text."""
    return set(_NAME.findall(text))


def selectors(expression: str) -> Iterator[tuple[str, set[str]]]:
    """Metric names with the labels that are asked for in braces."""
    for name, inside in _SELECTOR.findall(expression):
        yield name, set(re.findall(r"(\w+)\s*[=!]", inside))
