"""The kubelet of the cluster tests: what it does with a pod, against an API that is a dictionary."""

from __future__ import annotations

import base64
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.cluster.api import ApiRefused, wait
from tests.support.cluster.kubelet import Kubelet, _below

pytestmark = pytest.mark.integration


class FakeApi:
    """Pods of one node, and what is asked and told."""

    def __init__(self) -> None:
        self.pods: dict[str, dict[str, Any]] = {}
        self.told: dict[str, dict[str, Any]] = {}
        self.objects: dict[tuple[str, str], dict[str, Any]] = {}

    def add(self, name: str, script: str, restart: str = "Always", **container: Any) -> None:
        self.pods[name] = {
            "metadata": {
                "name": name,
                "namespace": "n",
                "uid": name,
                "labels": {"app.kubernetes.io/component": "rec-worker"},
            },
            "spec": {
                "restartPolicy": restart,
                "volumes": container.pop("volumes", []),
                "containers": [{"name": "c", "image": "i", "args": ["python", "-c", script], **container}],
            },
            "status": {},
        }

    def remove(self, name: str, grace: int) -> None:
        self.pods[name]["metadata"] |= {"deletionTimestamp": "now", "deletionGracePeriodSeconds": grace}

    def phase(self, name: str) -> str:
        return self.told.get(name, {}).get("phase", "")

    # --- what the kubelet calls ---

    def call(self, method: str, path: str, body: Any = None) -> Any:
        return {"items": [dict(pod) for pod in self.pods.values()]}

    def get(self, kind: str, name: str, namespace: str = "") -> Any:
        if kind == "Node":
            return {"spec": {}}
        try:
            return self.objects[kind, name]
        except KeyError:
            raise ApiRefused(404, f"no {kind} {name}") from None

    def patch(self, kind: str, name: str, change: Any, namespace: str = "", subresource: str = "") -> Any:
        if kind == "Pod":
            self.told[name] = change["status"]
        return {}

    def delete(self, kind: str, name: str, namespace: str = "", body: Any = None) -> Any:
        self.pods.pop(name, None)


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def kubelet(api, tmp_path):
    plane = SimpleNamespace(api=api, folder=tmp_path, node=lambda *_, **__: None)
    with Kubelet(plane, replaced={"json.tool": ("json",)}) as running:
        yield running


def _patient(path: Path) -> str:
    """A process that says that it is up, and ends at SIGTERM."""
    return (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n"
        f"open({str(path)!r}, 'w').write('up')\n"
        "while True: time.sleep(0.05)\n"
    )


def _deaf(path: Path) -> str:
    """A process that does not care for SIGTERM."""
    return f"import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nopen({str(path)!r}, 'w').write('up')\ntime.sleep(600)\n"


def test_a_pod_runs_and_goes_with_sigterm(api, kubelet, tmp_path):
    api.add("one", _patient(tmp_path / "up"))
    wait("it is up", (tmp_path / "up").exists, 60)
    wait("it is Running", lambda: api.phase("one") == "Running", 60)
    assert kubelet.running("rec-worker") == ["one"]
    api.remove("one", 45)
    wait("it is gone", lambda: not api.pods, 60)
    (ended,) = kubelet.ended
    assert ended.code == 0
    assert ended.asked_s is not None
    assert ended.grace_s == 45


def test_what_does_not_go_is_killed_after_its_grace(api, kubelet, tmp_path):
    api.add("deaf", _deaf(tmp_path / "up"))
    wait("it is up", (tmp_path / "up").exists, 60)
    api.remove("deaf", 1)
    wait("it is gone", lambda: not api.pods, 60)
    (ended,) = kubelet.ended
    assert ended.code == -9
    assert ended.asked_s is not None
    assert ended.asked_s >= 1


def test_what_ends_is_started_again_and_counted(api, kubelet):
    api.add("crash", "import sys; sys.exit(3)")
    wait("two restarts", lambda: len(kubelet.ended) >= 3, 60)
    assert {ended.code for ended in kubelet.ended} == {3}
    assert {ended.asked_s for ended in kubelet.ended} == {None}
    restarts = lambda: api.told.get("crash", {}).get("containerStatuses", [{"restartCount": 0}])[0]["restartCount"]
    wait("the API is told", lambda: restarts() >= 2, 60)


@pytest.mark.parametrize(("code", "phase"), [(0, "Succeeded"), (1, "Failed")])
def test_a_job_s_pod_ends(api, kubelet, code, phase):
    api.add("job", f"import sys; sys.exit({code})", restart="Never")
    wait(phase, lambda: api.phase("job") == phase, 60)
    assert api.told["job"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == code


def test_environment_secrets_and_files(api, kubelet, tmp_path):
    api.objects["Secret", "s3"] = {"data": {"key": base64.b64encode(b"hidden").decode()}}
    api.objects["ConfigMap", "settings"] = {"data": {"docfleet.toml": "[join]\n"}}
    out = tmp_path / "out"
    script = (
        "import os, time\n"
        "text = open(os.environ['DOCFLEET_CONFIG']).read() + os.environ['KEY'] + os.environ['OMP_NUM_THREADS']\n"
        f"open({str(out)!r}, 'w').write(text)\n"
        "time.sleep(600)\n"
    )
    api.add(
        "one",
        script,
        env=[
            {"name": "DOCFLEET_CONFIG", "value": "/etc/docfleet/settings/docfleet.toml"},
            {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s3", "key": "key"}}},
            {"name": "OMP_NUM_THREADS", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        ],
        resources={"limits": {"cpu": "1500m"}},
        volumeMounts=[{"name": "settings", "mountPath": "/etc/docfleet/settings"}],
        volumes=[{"name": "settings", "configMap": {"name": "settings"}}],
    )
    wait("it wrote", lambda: out.exists() and out.read_text() == "[join]\nhidden2", 60)


def test_paths_are_mapped_to_where_they_are():
    paths = {"/cache": "/here/c", "/cache/deep": "/here/d"}
    assert _below("/cache/x", paths) == "/here/c/x"
    assert _below("/cache/deep/x", paths) == "/here/d/x"
    assert _below("/cached", paths) == "/cached"
