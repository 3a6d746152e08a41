"""From a chart that was given out before to the present one: its values are still taken, and nothing changes that an API server refuses to change.

The same is done for real on a control plane by tests/cluster/test_upgrade.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import pytest

from tests.support.helm import Helm, Object, Rendered, values_of
from tests.support.previous_chart import ARCHIVES, unpacked

pytestmark = pytest.mark.integration

CHANGEABLE = {
    "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
}  # fmt: skip
"""Fields of a StatefulSet's spec that may change; the API server refuses any other change (Kubernetes 1.34)."""


def refused(old: Rendered, new: Rendered) -> Iterator[str]:
    """What an API server would not let the upgrade do. Objects of hooks are made anew, so they may change."""
    after = {(one["kind"], one["metadata"]["name"]): one for one in new.objects}
    for one in old.objects:
        kind, name = one["kind"], one["metadata"]["name"]
        other = after.get((kind, name))
        if other is None or "helm.sh/hook" in one["metadata"].get("annotations", {}):
            continue
        for field in sorted(_fixed(kind, one) | _fixed(kind, other)):
            if one["spec"].get(field) != other["spec"].get(field):
                yield f"{kind} {name}: {field}"


def _fixed(kind: str, one: Object) -> set[str]:
    """Fields of the spec that cannot change."""
    if kind == "StatefulSet":
        return set(one["spec"]) - CHANGEABLE
    return {"Deployment": {"selector"}, "Job": {"selector", "template", "completions"}, "Service": {"clusterIP"}}.get(
        kind, set()
    )


@pytest.fixture(scope="module", params=ARCHIVES, ids=lambda path: path.stem)
def previous(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an earlier chart."""
    return unpacked(request.param, tmp_path_factory.mktemp("previous"))


@pytest.mark.parametrize("scenario", ["production", "bare"])
def test_its_values_are_taken_and_nothing_fixed_is_changed(helm: Helm, previous: Path, scenario: str):
    values = values_of(previous / "ci" / f"{scenario}-values.yaml")
    old = helm.render(values, chart=previous)
    new = helm.render(values, is_upgrade=True, revision=2)
    assert list(refused(old, new)) == []
    kept = {one["metadata"]["name"] for one in new.workloads()}
    assert {one["metadata"]["name"] for one in old.workloads()} <= kept, "a workload of another name has lost its pods"


def test_the_comparison_finds_what_a_server_refuses(helm: Helm, previous: Path):
    old = helm.render(values_of(previous / "ci" / "bare-values.yaml"), chart=previous)
    new = deepcopy(old)
    assert list(refused(old, new)) == []
    (join,) = new.of("StatefulSet")
    join["spec"]["replicas"] = 9
    assert list(refused(old, new)) == []
    join["spec"]["serviceName"] = "another"
    new.of("Deployment")[0]["spec"]["selector"]["matchLabels"]["app.kubernetes.io/version"] = "2"
    assert sorted(one.partition(": ")[2] for one in refused(old, new)) == ["selector", "serviceName"]
