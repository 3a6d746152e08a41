"""install, upgrade, rollback, uninstall against a real API server with its controllers; pods are kwok's, which says that they are Ready."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.cluster.api import Api, ApiRefused, wait
from tests.support.cluster.controlplane import BROKEN, ControlPlane
from tests.support.helm import CHART, SCENARIOS, Helm, HelmRefused, Rendered, minimal, values_of

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

RELEASE = "fleet"
_numbers = itertools.count(1)
QUICK: dict[str, Any] = {"stageDefaults": {"minReadySeconds": 0}, "stages": {"rec_worker": {"replicas": 3}}}


@pytest.fixture
def namespace(plane: ControlPlane) -> Iterator[str]:
    """A namespace that enforces the restricted Pod Security Standard."""
    name = f"documents-{next(_numbers)}"
    plane.namespace(name)
    yield name
    plane.api.delete("Namespace", name)


class Release:
    """The chart in a namespace."""

    def __init__(self, helm: Helm, plane: ControlPlane, namespace: str) -> None:
        self._helm, self._plane, self.namespace = helm, plane, namespace

    def do(self, action: str, **arguments: Any) -> Any:
        return self._helm.cluster(self._plane.kubeconfig, self.namespace, action, **arguments)

    def install(self, values: dict[str, Any], **more: Any) -> Any:
        return self.do("install", chart=str(CHART), name=RELEASE, values=values, wait="watcher", timeout=240, **more)

    def upgrade(self, values: dict[str, Any], **more: Any) -> Any:
        return self.do("upgrade", chart=str(CHART), name=RELEASE, values=values, wait="watcher", timeout=240, **more)


@pytest.fixture
def release(helm: Helm, plane: ControlPlane, namespace: str) -> Release:
    return Release(helm, plane, namespace)


def _pods(api: Api, namespace: str, component: str) -> list[Any]:
    """Pods of a stage that are Ready and not on their way out."""
    found = api.list("Pod", namespace, f"?labelSelector=app.kubernetes.io/component={component}")
    return [
        pod
        for pod in found
        if "deletionTimestamp" not in pod["metadata"]
        and any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", []))
    ]


def _window(api: Api, namespace: str) -> str:
    return str(api.get("ConfigMap", f"{RELEASE}-docfleet", namespace)["data"]["docfleet.toml"])


def test_install_upgrade_rollback_uninstall(plane, release):
    api, namespace = plane.api, release.namespace
    installed = release.install(minimal(QUICK))
    assert installed["status"] == "deployed"
    for component, count in (("rec-worker", 3), ("ingest", 1), ("layout-worker", 1), ("compose", 1), ("join", 1)):
        wait(f"{count} {component} ready", lambda c=component, n=count: len(_pods(api, namespace, c)) == n, 120)
    first = {pod["metadata"]["name"] for pod in _pods(api, namespace, "rec-worker")}
    zones = {pod["spec"]["nodeName"] for pod in _pods(api, namespace, "rec-worker")}
    assert len(zones) == 3, "three pods of a stage on three nodes"

    upgraded = release.upgrade(minimal({**QUICK, "settings": {"join": {"window": 77}}}))
    assert upgraded["revision"] == 2
    assert "window = 77" in _window(api, namespace)
    wait("a rollout", lambda: not first & {p["metadata"]["name"] for p in _pods(api, namespace, "rec-worker")}, 120)
    wait("three ready again", lambda: len(_pods(api, namespace, "rec-worker")) == 3, 120)

    release.do("rollback", name=RELEASE, version=1, wait="watcher", timeout=240)
    assert "window = 77" not in _window(api, namespace)
    wait("three ready after the rollback", lambda: len(_pods(api, namespace, "rec-worker")) == 3, 120)

    release.do("uninstall", name=RELEASE, timeout=240)
    kinds = (
        "Deployment",
        "StatefulSet",
        "ConfigMap",
        "Service",
        "PodDisruptionBudget",
        "CronJob",
        "Job",
        "NetworkPolicy",
    )
    for kind in kinds:
        left = [
            one["metadata"]["name"] for one in api.list(kind, namespace) if one["metadata"]["name"].startswith(RELEASE)
        ]
        assert left == [], kind
    wait("no pod left", lambda: not api.list("Pod", namespace, "?labelSelector=app.kubernetes.io/name=docfleet"), 120)


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.name)
def test_every_object_is_taken_field_by_field(plane, helm, namespace, path):
    """By the server itself, with strict field validation; kinds of operators that are not installed here are left out."""
    known = {"ScaledObject", "TriggerAuthentication", "PodMonitor", "PrometheusRule", "KafkaTopic"}
    objects = helm.render(values_of(path), name=RELEASE, namespace=namespace).objects
    for name in {
        pod["spec"].get("serviceAccountName") for _, pod in Rendered([{"object": one} for one in objects]).pods()
    } - {"default"}:
        # Pods are admitted only where their account is.
        plane.api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}, namespace)
    count = 0
    for one in objects:
        if one["kind"] not in known | {"ServiceAccount"}:
            plane.api.create(one, namespace, "?dryRun=All&fieldValidation=Strict")
            count += 1
    assert count >= 10


def test_a_planted_field_is_found(plane, helm, namespace):
    broken = copy.deepcopy(helm.render(minimal(), name=RELEASE, namespace=namespace).of("Deployment")[0])
    broken["spec"]["template"]["spec"]["terminationGracePeriod"] = 45
    with pytest.raises(ApiRefused, match="terminationGracePeriod") as refused:
        plane.api.create(broken, namespace, "?dryRun=All&fieldValidation=Strict")
    assert refused.value.status == 400


def test_selectors_cannot_change(plane, release, namespace):
    """Why the selectors of the released chart are pinned."""
    release.install(minimal(QUICK))
    change = {"spec": {"selector": {"matchLabels": {"app.kubernetes.io/version": "2"}}}}
    with pytest.raises(ApiRefused, match="field is immutable"):
        plane.api.patch("Deployment", f"{RELEASE}-docfleet-ingest", change, namespace)


def test_restricted_is_enforced(plane, release, namespace):
    release.install(minimal(QUICK))
    (pod,) = [one for one in plane.api.list("Pod", namespace) if "ingest" in one["metadata"]["name"]][:1]
    wrong = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "wrong"}, "spec": copy.deepcopy(pod["spec"])}
    del wrong["spec"]["containers"][0]["securityContext"]["capabilities"]
    with pytest.raises(ApiRefused, match="restricted") as refused:
        plane.api.create(wrong, namespace)
    assert refused.value.status == 403


def test_evictions_take_one_pod_at_a_time(plane, release, namespace):
    release.install(minimal(QUICK))
    name = f"{RELEASE}-docfleet-rec-worker"
    allowed = lambda: (
        plane.api.get("PodDisruptionBudget", name, namespace).get("status", {}).get("disruptionsAllowed") == 1
    )
    wait("the budget is counted", allowed, 60)
    answers = []
    for pod in _pods(plane.api, namespace, "rec-worker")[:2]:
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod["metadata"]["name"], "namespace": namespace},
        }
        try:
            plane.api.call("POST", plane.api.path("Pod", namespace, pod["metadata"]["name"]) + "/eviction", eviction)
            answers.append(201)
        except ApiRefused as error:
            answers.append(error.status)
    assert answers == [201, 429]
    wait("three again", lambda: len(_pods(plane.api, namespace, "rec-worker")) == 3, 120)


def test_a_quota_holds(plane, release, namespace):
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "small"},
        "spec": {"hard": {"pods": "7", "limits.memory": "40Gi"}},
    }
    plane.api.create(quota, namespace)
    release.install(minimal(QUICK))  # seven pods
    with pytest.raises(HelmRefused):
        release.do(
            "upgrade", chart=str(CHART), name=RELEASE, values=minimal({**QUICK, "stages": {"rec_worker": {"replicas": 9}}}),
            wait="watcher", timeout=15,
        )  # fmt: skip
    events = [one for one in plane.api.list("Event", namespace) if one["reason"] == "FailedCreate"]
    assert any("exceeded quota: small" in one["message"] for one in events)
    running = plane.api.list("Pod", namespace, "?labelSelector=app.kubernetes.io/component=rec-worker")
    assert len(running) == 3


def test_a_bad_image_is_rolled_back(plane, release, namespace):
    release.install(minimal(QUICK))
    before = {pod["metadata"]["name"] for pod in _pods(plane.api, namespace, "ingest")}
    bad = minimal({**QUICK, "images": {"variants": {"core": {"tag": BROKEN}}}})
    bad["topics"] = {"strategy": "none"}  # its job has the same image
    with pytest.raises(HelmRefused):
        release.do(
            "upgrade", chart=str(CHART), name=RELEASE, values=bad, wait="watcher", timeout=20, rollback_on_failure=True
        )
    deployment = plane.api.get("Deployment", f"{RELEASE}-docfleet-ingest", namespace)
    assert BROKEN not in deployment["spec"]["template"]["spec"]["containers"][0]["image"]
    assert {pod["metadata"]["name"] for pod in _pods(plane.api, namespace, "ingest")} == before, (
        "nobody was taken away for it"
    )
    history = release.do("history", name=RELEASE)
    assert history[-1]["status"] == "deployed"
    assert [one["status"] for one in history].count("failed") == 1


def test_cards_decide_where_a_pod_goes(plane, release, namespace):
    values = minimal(
        {**QUICK, "stages": {"rec_worker": {"accelerator": {"resource": "huawei.com/Ascend910", "count": 1}}}}
    )
    release.do("install", chart=str(CHART), name=RELEASE, values=values, timeout=120)
    pending = lambda: plane.api.list("Pod", namespace, "?labelSelector=app.kubernetes.io/component=rec-worker")
    (pod,) = wait("a pod of the stage", pending, 60)
    unschedulable = lambda: any(one["reason"] == "FailedScheduling" for one in plane.api.list("Event", namespace))
    wait("nobody has a card", unschedulable, 60)
    assert "nodeName" not in pod["spec"]
    plane.node("ascend-0", zone="c", **{"huawei.com/Ascend910": "8"})
    try:
        ready = wait("the pod goes to the card", lambda: _pods(plane.api, namespace, "rec-worker"), 120)
        assert ready[0]["spec"]["nodeName"] == "ascend-0"
    finally:
        release.do("uninstall", name=RELEASE, timeout=120)
        plane.api.delete("Node", "ascend-0")
