"""Nodes whose pods are only said to run, where kwok has not been built: every pod is Running and Ready at once, a Job's pod has ended well.

A pod with the image tag that stands for one that cannot be pulled stays Pending.
"""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from typing import Any

import httpx

from tests.support.cluster.api import Api, ApiRefused, Object

LOOK_S = 0.3
BEAT_S = 10.0


class PretendedNodes:
    """A thread over the nodes with the label `type=kwok`. Starts when made; `stop` ends it."""

    def __init__(self, api: Api, broken: str) -> None:
        self._api = api
        self._broken = broken
        self._beaten = 0.0
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pretended", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._ending.set()
        self._thread.join(30)

    def _run(self) -> None:
        while not self._ending.wait(LOOK_S):
            try:
                nodes = {
                    one["metadata"]["name"]
                    for one in self._api.call("GET", "/api/v1/nodes?labelSelector=type%3Dkwok")["items"]
                }
                if time.monotonic() - self._beaten > BEAT_S:
                    for name in nodes:
                        self._beat(name)
                    self._beaten = time.monotonic()
                for pod in self._api.call("GET", "/api/v1/pods")["items"]:
                    if pod["spec"].get("nodeName") in nodes:
                        self._attend(pod)
            except (ApiRefused, httpx.HTTPError):
                continue

    def _beat(self, name: str) -> None:
        ready = {
            "type": "Ready",
            "status": "True",
            "reason": "Pretended",
            "lastHeartbeatTime": _now(),
            "lastTransitionTime": _now(),
        }
        self._api.patch("Node", name, {"status": {"conditions": [ready]}}, subresource="status")
        if self._api.get("Node", name)["spec"].get("taints"):
            self._api.patch("Node", name, {"spec": {"taints": None}})

    def _attend(self, pod: Object) -> None:
        meta, phase = pod["metadata"], pod["status"].get("phase")
        if "deletionTimestamp" in meta:
            self._api.delete("Pod", meta["name"], meta["namespace"], {"gracePeriodSeconds": 0})
        elif phase == "Pending" and not any(
            one["image"].endswith(f":{self._broken}") for one in pod["spec"]["containers"]
        ):
            self._say(pod, "Running")
        elif phase == "Running" and any(one["kind"] == "Job" for one in meta.get("ownerReferences", [])):
            self._say(pod, "Succeeded")

    def _say(self, pod: Object, phase: str) -> None:
        ready = phase == "Running"
        flag = "True" if ready else "False"
        state: Any = {"running": {"startedAt": _now()}}
        if not ready:
            state = {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": _now()}}
        status = {
            "phase": phase,
            "startTime": _now(),
            "podIP": "10.1.0.1",
            "podIPs": [{"ip": "10.1.0.1"}],
            "conditions": [
                {
                    "type": kind,
                    "status": "True" if kind in ("PodScheduled", "Initialized") else flag,
                    "lastTransitionTime": _now(),
                }
                for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
            ],
            "containerStatuses": [
                {
                    "name": one["name"],
                    "image": one["image"],
                    "imageID": "",
                    "ready": ready,
                    "restartCount": 0,
                    "state": state,
                }
                for one in pod["spec"]["containers"]
            ],
        }
        self._api.patch("Pod", pod["metadata"]["name"], {"status": status}, pod["metadata"]["namespace"], "status")


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
