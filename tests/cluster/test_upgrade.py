"""From a chart that was given out before to the present one and back, on a real API server with its controllers; pods are kwok's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.test_lifecycle import QUICK, RELEASE, Release, _pods
from tests.support.cluster.api import Api, wait
from tests.support.cluster.controlplane import ControlPlane
from tests.support.helm import CHART, Helm, minimal
from tests.support.previous_chart import ARCHIVES, unpacked

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

COUNTS = {"rec-worker": 3, "ingest": 1, "layout-worker": 1, "compose": 1, "join": 1}


@pytest.fixture
def namespace(plane: ControlPlane) -> Iterator[str]:
    """A namespace that enforces the restricted Pod Security Standard."""
    plane.namespace("upgraded")
    yield "upgraded"
    plane.api.delete("Namespace", "upgraded")


def _workloads(api: Api, namespace: str) -> dict[str, str]:
    """Kind and name to the uid: another one was made anew, and its pods went all at once."""
    found = {}
    for kind in ("Deployment", "StatefulSet"):
        for one in api.list(kind, namespace):
            found[f"{kind} {one['metadata']['name']}"] = one["metadata"]["uid"]
    return found


def _ready(api: Api, namespace: str) -> bool:
    return all(len(_pods(api, namespace, component)) == count for component, count in COUNTS.items())


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.stem)
def test_upgrade_from_it_and_rollback_to_it(plane: ControlPlane, helm: Helm, namespace: str, archive: Path, tmp_path):
    api, release = plane.api, Release(helm, plane, namespace)
    old = unpacked(archive, tmp_path)
    values = minimal(QUICK)
    release.do("install", chart=str(old), name=RELEASE, values=values, wait="watcher", timeout=240)
    wait("all ready", lambda: _ready(api, namespace), 120)
    before = _workloads(api, namespace)
    assert len(before) == len(COUNTS)

    upgraded = release.upgrade(values)
    assert (upgraded["status"], upgraded["revision"]) == ("deployed", 2)
    wait("all ready after the upgrade", lambda: _ready(api, namespace), 120)
    assert _workloads(api, namespace) == before, "upgraded where they are, not made anew"
    rendered = helm.render(values, chart=CHART, name=RELEASE, namespace=namespace, is_upgrade=True, revision=2)
    for one in rendered.workloads():
        there = api.get(one["kind"], one["metadata"]["name"], namespace)
        (wanted,) = one["spec"]["template"]["spec"]["containers"]
        (found,) = there["spec"]["template"]["spec"]["containers"]
        # What the earlier chart said and this one does not is gone: the first chart gave commands, this one gives arguments.
        assert (found.get("command"), found["args"]) == (wanted.get("command"), wanted["args"])
        assert there["metadata"]["labels"]["helm.sh/chart"] == one["metadata"]["labels"]["helm.sh/chart"]

    release.do("rollback", name=RELEASE, version=1, wait="watcher", timeout=240)
    wait("all ready after the rollback", lambda: _ready(api, namespace), 120)
    assert _workloads(api, namespace) == before
    assert release.do("history", name=RELEASE)[-1]["status"] == "deployed"
    release.do("uninstall", name=RELEASE, timeout=240)
    gone = lambda: not api.list("Pod", namespace, "?labelSelector=app.kubernetes.io/name=docfleet")
    wait("no pod left", gone, 120)
