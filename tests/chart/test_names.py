"""Names that are legal however long the release's is, and selectors that an upgrade does not change."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.helm import CHART, SCENARIOS, minimal, values_of

pytestmark = pytest.mark.integration

LABEL = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
LONGEST = "a-release-with-the-longest-name-that-helm-takes-at-all"
"""53 characters, Helm's limit."""
SELECTORS = Path(__file__).with_name("selectors.json")
"""Selectors of the released chart. They cannot be changed by an upgrade, so this file is only ever added to."""
LIMITS = {"CronJob": 52, "StatefulSet": 52}
"""Job adds 11 characters to a CronJob's name, the revision label 11 to a StatefulSet's; 63 for all others."""


@pytest.mark.parametrize("release", ["a", "fleet", "docfleet", LONGEST[:53]])
@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.name)
def test_names_are_legal(helm, path, release):
    rendered = helm.render(values_of(path), name=release)
    for one in rendered.objects:
        name = one["metadata"]["name"]
        if one["kind"] == "KafkaTopic":
            continue  # named as the topic; Strimzi takes dots
        assert LABEL.match(name), name
        assert len(name) <= LIMITS.get(one["kind"], 63), f"{one['kind']} {name}"


def test_names_are_different(scenario):
    names = [(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in scenario.objects]
    assert len(names) - len(set(names)) == 0, [name for name in names if names.count(name) > 1]


def test_label_values_are_legal(helm):
    rendered = helm.render(values_of(CHART / "ci" / "production-values.yaml"), name=LONGEST[:53])
    for one in rendered.objects:
        for key, value in one["metadata"]["labels"].items():
            assert len(value) <= 63, key
            assert re.match(r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$", value), f"{key}={value}"


def test_recommended_labels(scenario):
    for one in scenario.objects:
        labels = one["metadata"]["labels"]
        assert labels["app.kubernetes.io/name"] == "docfleet"
        assert labels["app.kubernetes.io/instance"] == "fleet"
        assert labels["app.kubernetes.io/managed-by"] == "Helm"
        assert labels["helm.sh/chart"].startswith("docfleet-")


def test_selectors_fit_their_own_pods_and_no_others(scenario):
    workloads = scenario.workloads()
    for workload in workloads:
        selector = workload["spec"]["selector"]["matchLabels"].items()
        fitting = [name for name, pod in scenario.pods() if selector <= pod["metadata"]["labels"].items()]
        assert fitting == [f"{workload['kind']} {workload['metadata']['name']}"]


def test_two_releases_do_not_touch(helm):
    for one in helm.render(minimal(), name="one").workloads():
        for two in helm.render(minimal(), name="two").workloads():
            selector = one["spec"]["selector"]["matchLabels"].items()
            assert not selector <= two["spec"]["template"]["metadata"]["labels"].items()


def test_selectors_are_those_of_the_released_chart(helm):
    known = json.loads(SELECTORS.read_text("utf-8"))
    values = values_of(CHART / "ci" / "production-values.yaml")
    found = {}
    for one in helm.render(values, name="fleet", is_upgrade=True, revision=7).workloads():
        found[f"{one['kind']} {one['metadata']['name']}"] = one["spec"]["selector"]["matchLabels"]
    assert found == known, "an installed release could not be upgraded"


def test_selectors_hold_nothing_that_changes(scenario):
    for workload in scenario.workloads():
        assert set(workload["spec"]["selector"]["matchLabels"]) == {
            "app.kubernetes.io/name",
            "app.kubernetes.io/instance",
            "app.kubernetes.io/component",
        }


def test_fields_of_a_stateful_set_that_cannot_change(render):
    """serviceName and podManagementPolicy are fixed for the life of a StatefulSet."""
    before, after = (
        render(more).of("StatefulSet")[0]["spec"]
        for more in (
            None,
            {"stages": {"join": {"replicas": 3, "startupSeconds": 900}}, "settings": {"join": {"window": 64}}},
        )
    )
    for field in ("serviceName", "podManagementPolicy", "selector"):
        assert before[field] == after[field]
    assert "volumeClaimTemplates" not in before


def test_hooks_do_not_stay(scenario):
    for one in scenario.objects:
        if "helm.sh/hook" in one["metadata"].get("annotations", {}):
            assert one["metadata"]["annotations"]["helm.sh/hook-delete-policy"] == "before-hook-creation,hook-succeeded"


def test_long_override_is_cut(named):
    name = named("bare").get("Deployment", "parsing-of-documents-for-the-archive-ingest")["metadata"]["name"]
    assert len(name) <= 63
