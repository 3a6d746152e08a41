"""One experiment: a release of the chart whose pods are real worker processes, on real Kafka and S3, scaled by KEDA or by an HPA.

What is synthetic: the networks of layout_worker and rec_worker (`tests.faults.light`), the latter with seconds of sleep a page, so that one
pod is too few on any machine. The kubelet is a double (`tests.support.cluster.kubelet`). With `hpa` the adapter of external metrics is one, too.
"""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from tests.cluster.samples import Lag
from tests.cluster.slow_worker import READ, READERS
from tests.faults.fleet import SETTINGS
from tests.faults.light.worker import FOLDER as WORKLOG
from tests.faults.servers import Servers
from tests.faults.sources import Source, _scan
from tests.faults.submitting import upload
from tests.support.cluster import keda
from tests.support.cluster.api import ApiRefused
from tests.support.cluster.binaries import binary
from tests.support.cluster.controlplane import ControlPlane
from tests.support.cluster.external_metrics import ExternalMetrics
from tests.support.cluster.kubelet import Kubelet
from tests.support.helm import CHART, Helm, minimal

Method = Literal["keda", "hpa"]
NAMESPACE, RELEASE = "documents", "fleet"
STAGE = f"{RELEASE}-docfleet-rec-worker"
SOURCE = "ten"
PAGES_EACH = 10
MOST = 5
"""Pods of rec_worker at most."""
READ_S = float(os.environ.get(READ, "6"))
"""Seconds of a page in the synthetic reader, `READERS` at once a pod. More on a machine on which layout is slow: reading has to be slower.
Well below `revoked_s` (20 s): what is in flight when a pod comes is to be finished, not begun again."""
REPLACED = {
    "services.layout_worker": ("tests.faults.light.worker", "layout_worker"),
    "services.rec_worker": ("tests.cluster.slow_worker", "rec_worker"),
}


def values(servers: Servers, method: Method, least: int = 1) -> dict[str, Any]:
    """Values of the release: rec_worker is scaled from `least` pods on, the others are one pod each."""
    off = {"autoscaling": {"enabled": False}}
    small = {"resources": {"requests": {"cpu": "1", "memory": "256Mi"}, "limits": {"cpu": "1", "memory": "256Mi"}}}
    return minimal(
        {
            "settings": {
                "kafka": {"bootstrap_servers": servers.bootstrap, "session_timeout_ms": 10000},
                "objects": {"endpoint": servers.s3_endpoint},
                "stages": {"rec_worker": {"max_in_flight": READERS}, "layout_worker": {"max_in_flight": 4}},
            },
            "stageDefaults": {"minReadySeconds": 0},
            "stages": {
                "ingest": off,
                "layout_worker": {**off, **small},
                "compose": off,
                "rec_worker": {
                    **small,
                    "autoscaling": {
                        "min": least,
                        "max": MOST,
                        "pagesPerSecond": READERS / READ_S,
                        "targetSeconds": 60,
                    },
                },
            },
            "autoscaling": {
                "method": method,
                "pollingInterval": 3,
                "cooldownPeriod": 20,
                "scaleDownWindow": 20,
                "scaleUpPods": 2,
            },
            "maintenance": {"trim": {"enabled": False}},
        }
    )


class Experiment:
    """A release with its servers, and what is asked of it."""

    def __init__(
        self, plane: ControlPlane, helm: Helm, servers: Servers, kubelet: Kubelet, work: Path, method: Method
    ) -> None:
        self.plane, self.helm, self.servers, self.kubelet, self.work = plane, helm, servers, kubelet, work
        self.method = method
        self.api = plane.api

    def helm_do(self, action: str, **arguments: Any) -> Any:
        return self.helm.cluster(self.plane.kubeconfig, NAMESPACE, action, **arguments)

    def replicas(self) -> tuple[int, int]:
        """(wanted, ready) pods of rec_worker."""
        found = self.api.get("Deployment", STAGE, NAMESPACE)
        return int(found["spec"]["replicas"]), int(found["status"].get("readyReplicas", 0))

    def said(self) -> str:
        """For a failure."""
        found = []
        for kind in ("HorizontalPodAutoscaler", "ScaledObject"):
            with suppress(ApiRefused):  # the one or the other
                found.append(self.api.get(kind, STAGE, NAMESPACE).get("status"))
        logs = self.kubelet.log("rec-worker", 600) + self.plane.log("keda-operator", 1500)
        return f"{self.replicas()} {found} {self.kubelet.broken} {logs}"

    def back_to_one(self, seconds: float) -> bool:
        """Whether the stage comes back once the work is done: the only sign by which a wrong group is seen."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            assert self.kubelet.broken is None, self.kubelet.broken
            if self.replicas() == (1, 1) and len(self.kubelet.running("rec-worker")) == 1:
                return True
            time.sleep(1)
        return False

    def upgrade(self, least: int) -> None:
        """Give the release another least number of pods of rec_worker."""
        given = values(self.servers, self.method, least)
        self.helm_do("upgrade", chart=str(CHART), name=RELEASE, values=given, wait="watcher", timeout=600)

    def condition(self, kind: str) -> str:
        """A condition of the ScaledObject: its status."""
        conditions = self.api.get("ScaledObject", STAGE, NAMESPACE).get("status", {}).get("conditions") or []
        return next((one["status"] for one in conditions if one["type"] == kind), "")

    @contextmanager
    def changed(self, **spec: Any) -> Iterator[None]:
        """Fields of the ScaledObject's spec changed (none: taken out); afterwards as they were."""
        found = self.api.get("ScaledObject", STAGE, NAMESPACE)["spec"]
        before = {name: found.get(name) for name in spec}
        self.api.patch("ScaledObject", STAGE, {"spec": spec}, NAMESPACE)
        try:
            yield
        finally:
            self.api.patch("ScaledObject", STAGE, {"spec": before}, NAMESPACE)

    @contextmanager
    def changed_trigger(self, **metadata: str) -> Iterator[None]:
        """The first trigger alone, with its metadata changed; afterwards as it was."""
        first = self.api.get("ScaledObject", STAGE, NAMESPACE)["spec"]["triggers"][0]
        with self.changed(triggers=[{**first, "metadata": first["metadata"] | metadata}]):
            yield


@contextmanager
def running(helm: Helm, folder: Path, method: Method) -> Iterator[Experiment]:
    """Everything up, the chart installed by Helm, its topics made by its own job, one rec_worker. Raises `Missing`."""
    for name in ("etcd", "kube-apiserver", *(("keda-operator",) if method == "keda" else ())):
        binary(name)
    work = folder / "work"
    work.mkdir()
    env = {
        WORKLOG: str(work),
        READ: str(READ_S),
        # The session is the release's; ten pages are a short document, so all of a worker's places are for them.
        **{name: value for name, value in SETTINGS.items() if "SESSION" not in name and "BULK" not in name},
    }
    with ExitStack() as stack:
        plane = stack.enter_context(ControlPlane(kwok=False))
        servers = stack.enter_context(Servers(folder))
        kubelet = stack.enter_context(Kubelet(plane, env=env, replaced=REPLACED))
        if method == "keda":
            keda.start(plane)
        else:
            stack.enter_context(ExternalMetrics(plane, _reader(servers, stack)))
        plane.namespace(NAMESPACE)
        keys = {"accessKey": servers.s3.access_key, "secretKey": servers.s3.secret_key}
        data = {name: base64.b64encode(value.encode()).decode() for name, value in keys.items()}
        plane.api.create(
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "docfleet-s3"}, "data": data}, NAMESPACE
        )
        upload(servers, [Source(SOURCE, _scan([False] * PAGES_EACH))])
        one = Experiment(plane, helm, servers, kubelet, work, method)
        given = values(servers, method)
        one.helm_do("install", chart=str(CHART), name=RELEASE, values=given, wait="watcher", timeout=900)
        yield one


def _reader(servers: Servers, stack: ExitStack) -> Any:
    """Committed lag by the selector of the chart's HPA; what it opens is closed with the stack."""
    open_: dict[tuple[str, str], Lag] = {}

    def read(name: str, labels: Mapping[str, str]) -> int:
        if name != "kafka_consumergroup_lag":
            raise KeyError(name)
        key = labels["consumergroup"], labels["topic"]
        if key not in open_:
            open_[key] = Lag(servers.bootstrap, key[0], (key[1],))
            stack.callback(open_[key].close)
        return open_[key].records()

    return read
