"""The chart lints, and what it renders is what Kubernetes, KEDA, the Prometheus operator and Strimzi take, field by field."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema
import pytest

from tests.support.helm import CHART, SCENARIOS, minimal, values_of

pytestmark = pytest.mark.integration

CRDS = {path.stem: json.loads(path.read_text("utf-8")) for path in Path(__file__).with_name("schemas").glob("*.json")}
"""Schemas of our own, by kind: the fields that the chart may use, as the makers' CRDs have them."""


def test_there_are_scenarios_enough():
    assert len(SCENARIOS) >= 8


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.name)
def test_lint_is_clean(helm, path):
    report = helm.lint(values_of(path))
    assert report["total_charts_linted"] == 1
    assert not report["errors"]
    # The icon is for catalogues of charts.
    assert not [one for one in report["messages"] if one["severity"] > 1]


@pytest.mark.parametrize("version", ["1.27", "1.34", "1.37"])
def test_core_objects_are_valid(helm, named, version):
    core = [one for name in ("production", "ascend", "hpa") for one in named(name).objects if one["kind"] not in CRDS]
    assert [said for said in helm.validate(core, version) if said] == []


def test_core_objects_of_every_scenario_are_valid(helm, scenario):
    core = [one for one in scenario.objects if one["kind"] not in CRDS]
    assert len(core) >= 10
    assert [said for said in helm.validate(core) if said] == []


def test_the_check_finds_an_unknown_field(helm, named):
    broken = json.loads(json.dumps(named("minimal").workloads()[0]))
    broken["spec"]["template"]["spec"]["containers"][0]["imagePullPolice"] = "Always"
    (said,) = helm.validate([broken])
    assert said is not None
    assert "imagePullPolice" in said


def test_custom_objects_are_valid(scenario):
    for one in scenario.objects:
        if one["kind"] in CRDS:
            jsonschema.validate(one, CRDS[one["kind"]])


def test_scenarios_use_every_custom_kind(scenarios):
    used = {one["kind"] for path in SCENARIOS for one in scenarios(path).objects}
    assert set(CRDS) <= used


def test_the_check_of_custom_objects_finds_an_unknown_field(named):
    scaled = json.loads(json.dumps(named("production").of("ScaledObject")[0]))
    scaled["spec"]["maxReplicas"] = 3
    with pytest.raises(jsonschema.ValidationError, match="maxReplicas"):
        jsonschema.validate(scaled, CRDS["ScaledObject"])


def test_generated_files_are_current():
    """values.schema.json, README.md and the copies below files/."""
    sys.path.insert(0, str(CHART.parent))
    try:
        import generate
    finally:
        sys.path.pop(0)
    stale = [
        str(path) for path, text in generate.files().items() if not path.exists() or path.read_text("utf-8") != text
    ]
    assert not stale, "run ./dev schemas"
    assert not generate.stale(), "run ./dev schemas"


def test_every_value_is_in_the_readme():
    readme = (CHART / "README.md").read_text("utf-8")
    for name in values_of(CHART / "values.yaml"):
        assert f"| `{name}" in readme


def test_values_are_valid_by_their_own_schema():
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(values_of(CHART / "values.yaml"))
    assert schema["additionalProperties"] is False
    jsonschema.validate(minimal(), schema)
