"""A kubelet for tests: the pods of one node as processes of this machine. It stands in for a container runtime, and says so.

What is as in a kubelet: the command, arguments and environment of the pod (secrets and limits resolved), its ConfigMaps as files, readiness by
its own probe, SIGTERM at deletion, SIGKILL when the pod's own grace is over, restarts of what ended, the end of a Job's pod, the pod gone
from the API when its process is. What is not: no image, no container, no namespaces, no limits; init containers are not run; ports are free
ones, and paths below the mounts are those of a temporary folder. `replaced` swaps the modules of some commands, for a light profile.
"""

from __future__ import annotations

import base64
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import httpx
import msgspec

from tests.support.cluster.api import Api, ApiRefused, Object
from tests.support.cluster.controlplane import ControlPlane
from tests.support.processes import free_ports, spawn

ROOT = Path(__file__).parents[3]
LOOK_S = 0.3


class Ended(msgspec.Struct, frozen=True):
    """How a pod's process ended. `asked_s` is how long after SIGTERM; none where nobody asked."""

    pod: str
    component: str
    code: int
    asked_s: float | None
    grace_s: int
    at: float


class _Pod:
    """A pod and its process."""

    def __init__(self, object_: Object) -> None:
        self.object = object_
        self.name: str = object_["metadata"]["name"]
        self.namespace: str = object_["metadata"]["namespace"]
        self.uid: str = object_["metadata"]["uid"]
        self.process: subprocess.Popen[bytes] | None = None
        self.port = 0
        self.restarts = 0
        self.asked: float | None = None
        self.grace_s = 0
        self.said: tuple[Any, ...] = ()
        self.over: int | None = None
        """Exit code of a pod that is not started again."""

    @property
    def component(self) -> str:
        return str(self.object["metadata"]["labels"].get("app.kubernetes.io/component", ""))


class Kubelet:
    """Context manager: one node with everything its pods ask for."""

    def __init__(
        self,
        plane: ControlPlane,
        *,
        node: str = "this-machine",
        env: Mapping[str, str] | None = None,
        replaced: Mapping[str, Sequence[str]] | None = None,
        components: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        """`env` goes to every process, `components` to those of a component. `replaced`: module of `python -m` to what is run instead."""
        self._api: Api = plane.api
        self._plane = plane
        self._node = node
        self._env = dict(env or {})
        self._replaced = dict(replaced or {})
        self._components = components or {}
        self._pods: dict[str, _Pod] = {}
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kubelet", daemon=True)
        self._leased = 0.0
        self.ended: list[Ended] = []
        self.broken: BaseException | None = None

    def __enter__(self) -> Self:
        self._plane.node(self._node, kwok=False, cpu="1000", memory="4Ti")
        self._say_node()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join(30)
        for pod in self._pods.values():
            if pod.process is not None and pod.process.poll() is None:
                pod.process.kill()
                pod.process.wait(10)

    def running(self, component: str) -> list[str]:
        """Names of pods of a component whose process lives."""
        return [
            pod.name
            for pod in list(self._pods.values())
            if pod.component == component and pod.process is not None and pod.process.poll() is None
        ]

    def log(self, component: str, characters: int = 2000) -> str:
        """The ends of the logs of a component's pods."""
        paths = sorted(self._plane.folder.glob(f"pod-*{component}*.log"))
        return "\n".join(f"{path.name}: {path.read_text(errors='replace')[-characters:]}" for path in paths)

    # --- the loop -------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._ending.wait(LOOK_S):
            try:
                self._turn()
            except (httpx.HTTPError, ApiRefused) as error:
                if isinstance(error, ApiRefused) and error.status not in (404, 409, 429, 500, 503):
                    self.broken = error
                    return
            except BaseException as error:
                self.broken = error
                raise

    def _turn(self) -> None:
        if time.monotonic() - self._leased > 10:
            self._say_node()
        query = f"?fieldSelector=spec.nodeName={self._node}"
        wanted = {one["metadata"]["uid"]: one for one in self._api.call("GET", f"/api/v1/pods{query}")["items"]}
        for uid, one in wanted.items():
            pod = self._pods.setdefault(uid, _Pod(one))
            pod.object = one
            if "deletionTimestamp" in one["metadata"]:
                self._stop(pod)
            elif pod.process is None and pod.over is None:
                self._start(pod)
            self._watch(pod)
        for uid in self._pods.keys() - wanted.keys():
            pod = self._pods[uid]
            if pod.process is not None and pod.process.poll() is None:
                pod.process.kill()  # gone from the API without grace: as after a forced deletion
                pod.process.wait(10)
            del self._pods[uid]

    def _start(self, pod: _Pod) -> None:
        (container,) = pod.object["spec"]["containers"]
        home = self._plane.folder / f"pod-{pod.uid}"
        paths = self._mounts(pod, home)
        (pod.port,) = free_ports(1)
        env = {name: _below(value, paths) for name, value in self._variables(pod, container).items()}
        for name in env:
            if name.endswith("__HTTP_PORT"):
                env[name] = str(pod.port)
        env |= {"DOCFLEET_HTTP_HOST": "127.0.0.1", **self._env, **self._components.get(pod.component, {})}
        log = self._plane.folder / f"pod-{pod.name}.log"
        pod.process = spawn(self._command(container), log, ROOT, env)

    def _command(self, container: Object) -> list[str]:
        program, *rest = [*container.get("command", []), *container["args"]]
        if program == "python" and rest[0] == "-m" and rest[1] in self._replaced:
            rest = ["-m", *self._replaced[rest[1]]]
        known = {"python": sys.executable, "docfleet": str(Path(sys.executable).with_name("docfleet"))}
        return [known.get(program, program), *rest]

    def _mounts(self, pod: _Pod, home: Path) -> dict[str, str]:
        """Path in the container to path here."""
        volumes = {volume["name"]: volume for volume in pod.object["spec"].get("volumes", [])}
        (container,) = pod.object["spec"]["containers"]
        paths = {}
        for mount in container.get("volumeMounts", []):
            target = home / mount["name"] / mount.get("subPath", "")
            target.mkdir(parents=True, exist_ok=True)
            volume = volumes[mount["name"]]
            if "configMap" in volume:
                held = self._api.get("ConfigMap", volume["configMap"]["name"], pod.namespace).get("data", {})
                for name, text in held.items():
                    (target / name).write_text(text)
            elif "secret" in volume:
                held = self._api.get("Secret", volume["secret"]["secretName"], pod.namespace).get("data", {})
                for name, text in held.items():
                    (target / name).write_bytes(base64.b64decode(text))
            paths[mount["mountPath"]] = str(target)
        return paths

    def _variables(self, pod: _Pod, container: Object) -> dict[str, str]:
        found = {}
        for variable in container.get("env", []):
            source = variable.get("valueFrom", {})
            if "secretKeyRef" in source:
                held = self._api.get("Secret", source["secretKeyRef"]["name"], pod.namespace)["data"]
                found[variable["name"]] = base64.b64decode(held[source["secretKeyRef"]["key"]]).decode()
            elif "resourceFieldRef" in source:
                limit = str(container["resources"]["limits"]["cpu"])
                found[variable["name"]] = str(
                    max(1, -(-int(limit[:-1]) // 1000) if limit.endswith("m") else int(limit))
                )
            else:
                found[variable["name"]] = variable.get("value", "")
        return found

    def _stop(self, pod: _Pod) -> None:
        if pod.process is None or pod.process.poll() is not None:
            self._gone(pod)
            return
        if pod.asked is None:
            pod.asked = time.monotonic()
            pod.grace_s = int(pod.object["metadata"]["deletionGracePeriodSeconds"])
            pod.process.send_signal(signal.SIGTERM)
        elif time.monotonic() - pod.asked > pod.grace_s:
            pod.process.kill()

    def _gone(self, pod: _Pod) -> None:
        try:
            self._api.delete(
                "Pod", pod.name, pod.namespace, {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.uid}}
            )
        except ApiRefused as error:
            if error.status not in (404, 409):
                raise

    def _watch(self, pod: _Pod) -> None:
        """Note an end, and tell the API what is."""
        process = pod.process
        if process is not None and (code := process.poll()) is not None and pod.over is None:
            after = None if pod.asked is None else time.monotonic() - pod.asked
            self.ended.append(Ended(pod.name, pod.component, code, after, pod.grace_s, time.time()))
            shutil.rmtree(self._plane.folder / f"pod-{pod.uid}", ignore_errors=True)
            restart = pod.object["spec"].get("restartPolicy", "Always")
            if pod.asked is not None or restart == "Never" or (restart == "OnFailure" and code == 0):
                pod.over = code
            else:
                pod.process = None  # started again at the next turn
                pod.restarts += 1
        if "deletionTimestamp" in pod.object["metadata"]:
            return
        phase = "Running" if pod.over is None else ("Succeeded" if pod.over == 0 else "Failed")
        ready = phase == "Running" and pod.process is not None and self._ready(pod)
        if pod.said != (phase, ready, pod.restarts):
            self._say(pod, phase, ready)
            pod.said = (phase, ready, pod.restarts)

    def _ready(self, pod: _Pod) -> bool:
        (container,) = pod.object["spec"]["containers"]
        probe = container.get("readinessProbe")
        if probe is None:
            return True
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{pod.port}{probe['httpGet']['path']}", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _say(self, pod: _Pod, phase: str, ready: bool) -> None:
        (container,) = pod.object["spec"]["containers"]
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        state: Object = {"running": {"startedAt": now}}
        if pod.over is not None:
            state = {
                "terminated": {
                    "exitCode": pod.over,
                    "finishedAt": now,
                    "reason": "Completed" if pod.over == 0 else "Error",
                }
            }
        flag = "True" if ready else "False"
        conditions = [
            {
                "type": kind,
                "status": "True" if kind in ("PodScheduled", "Initialized") else flag,
                "lastTransitionTime": now,
            }
            for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        ]
        status = {
            "phase": phase,
            "startTime": pod.object["status"].get("startTime") or now,
            "hostIP": "127.0.0.1",
            "podIP": "127.0.0.1",
            "podIPs": [{"ip": "127.0.0.1"}],
            "conditions": conditions,
            "containerStatuses": [
                {
                    "name": container["name"],
                    "image": container["image"],
                    "imageID": "",
                    "ready": ready,
                    "started": ready,
                    "restartCount": pod.restarts,
                    "state": state,
                }
            ],
        }
        self._api.patch("Pod", pod.name, {"status": status}, pod.namespace, "status")

    def _say_node(self) -> None:
        now = datetime.now(UTC)
        condition = {
            "type": "Ready",
            "status": "True",
            "reason": "KubeletReady",
            "lastHeartbeatTime": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "lastTransitionTime": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        self._api.patch("Node", self._node, {"status": {"conditions": [condition]}}, subresource="status")
        taints = self._api.get("Node", self._node)["spec"].get("taints")
        if taints:
            self._api.patch("Node", self._node, {"spec": {"taints": None}})
        self._leased = time.monotonic()


def _below(value: str, paths: Mapping[str, str]) -> str:
    """A path of the container as the path it has here."""
    for inside, here in sorted(paths.items(), key=lambda pair: -len(pair[0])):
        if value == inside or value.startswith(inside + "/"):
            return here + value[len(inside) :]
    return value
