"""Helm for tests: its own SDK in an environment of its own, one process for a session. No cluster is needed to lint and render."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Self

import yaml

from tests.support.tools_env import environment

TOOLS = Path(__file__).with_name("helm_tools")
CHART = Path(__file__).parents[2] / "helm" / "docfleet"
SCENARIOS = sorted((CHART / "ci").glob("*-values.yaml"))
KUBERNETES = "1.34"
"""Version of the schemas that rendered objects are held to."""

Object = dict[str, Any]


class HelmRefused(Exception):
    """Helm would not: the values break the schema, a template fails, the cluster says no."""


class Helm:
    """Context manager. Safe to use from several threads; one call at a time. Raises `Missing` at the start."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        command = [str(environment(TOOLS)), str(TOOLS / "serve.py")]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait(30)

    def _ask(self, do: str, **arguments: Any) -> Any:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            self._process.stdin.flush()
            answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise HelmRefused(f"{answer['error']}: {answer['said']}")
        return answer["ok"]

    def lint(self, values: Mapping[str, Any], chart: Path = CHART) -> Any:
        """The report of `helm lint --strict`."""
        return self._ask("lint", chart=str(chart), values=values, kube_version=f"v{KUBERNETES}.0")

    def render(
        self,
        values: Mapping[str, Any],
        *,
        name: str = "fleet",
        namespace: str = "documents",
        revision: int = 1,
        is_upgrade: bool = False,
        chart: Path = CHART,
    ) -> Rendered:
        """What would be installed. Raises `HelmRefused`."""
        options = {"name": name, "namespace": namespace, "revision": revision, "is_upgrade": is_upgrade}
        return Rendered(self._ask("render", chart=str(chart), values=values, **options))

    def validate(self, objects: Sequence[Object], version: str = KUBERNETES) -> list[str | None]:
        """What the strict schemas of Kubernetes say of each object of its core; none is nothing."""
        return list(self._ask("validate", objects=list(objects), version=version))

    def cluster(self, kubeconfig: Path, namespace: str, action: str, **arguments: Any) -> Any:
        """An action on a cluster: `install`, `upgrade`, `rollback`, `uninstall`, `status`, `history`. Raises `HelmRefused`."""
        given = {"kubeconfig": str(kubeconfig), "namespace": namespace, "action": action, "arguments": arguments}
        return self._ask("cluster", **given)


class Rendered:
    """Objects of a chart, in the order of its templates."""

    def __init__(self, found: Sequence[Mapping[str, Any]]) -> None:
        self.objects: list[Object] = [one["object"] for one in found if "object" in one]
        self.notes = "".join(one["text"] for one in found if "text" in one)

    def of(self, kind: str) -> list[Object]:
        """All objects of a kind."""
        return [one for one in self.objects if one["kind"] == kind]

    def get(self, kind: str, name: str) -> Object:
        """The object of that kind and name. Raises `KeyError`."""
        for one in self.of(kind):
            if one["metadata"]["name"] == name:
                return one
        raise KeyError(f"{kind} {name}; there are {[one['metadata']['name'] for one in self.of(kind)]}")

    def workloads(self) -> list[Object]:
        """Deployments and StatefulSets."""
        return self.of("Deployment") + self.of("StatefulSet")

    def pods(self) -> list[tuple[str, Object]]:
        """(kind and name of its owner, pod template) of everything that runs pods, the helm test's included."""
        found = []
        for one in self.objects:
            name = f"{one['kind']} {one['metadata']['name']}"
            if one["kind"] in ("Deployment", "StatefulSet", "Job"):
                found.append((name, one["spec"]["template"]))
            elif one["kind"] == "CronJob":
                found.append((name, one["spec"]["jobTemplate"]["spec"]["template"]))
            elif one["kind"] == "Pod":
                found.append((name, {"metadata": one["metadata"], "spec": one["spec"]}))
        return found


def values_of(path: Path) -> dict[str, Any]:
    """Values of a file."""
    return dict(yaml.safe_load(path.read_text("utf-8")))


MINIMAL: dict[str, Any] = {
    "settings": {"kafka": {"bootstrap_servers": "kafka:9092"}, "objects": {"endpoint": "minio:9000"}},
    "objects": {"existingSecret": "docfleet-s3"},
}


def minimal(more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The values that have to be given, and more of them."""
    return _merged(deepcopy(MINIMAL), more or {})


def _merged(into: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    for key, value in more.items():
        old = into.get(key)
        into[key] = _merged(old, value) if isinstance(value, Mapping) and isinstance(old, dict) else value
    return into
