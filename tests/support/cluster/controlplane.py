"""etcd, API server, controller manager, scheduler and kwok as processes on 127.0.0.1: a real control plane without a kubelet.

Nodes with the label `type=kwok` and their pods are kwok's (where it has not been built, `tests.support.cluster.pretended` does the same),
which says of every pod that it is Running and Ready (a Job's pod: that it has ended). Pods of other nodes wait for a kubelet
(`tests.support.cluster.kubelet`). A pod with the image `…:broken` never gets ready.
"""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import yaml

from tests.support.cluster import certificates
from tests.support.cluster.api import Api, ApiRefused, wait
from tests.support.cluster.binaries import binary, data
from tests.support.cluster.pretended import PretendedNodes
from tests.support.processes import Missing, end, free_ports, spawn

BROKEN = "broken"
"""Tag of an image that cannot be pulled."""


class ControlPlane:
    """Context manager; everything it makes is in a temporary folder. `api` is the administrator's client, `kubeconfig` its file."""

    def __init__(self, kwok: bool = True) -> None:
        self._with_kwok = kwok
        self._processes: list[subprocess.Popen[bytes]] = []
        self._pretended: PretendedNodes | None = None
        self.folder = Path()
        self.url = ""
        self.kubeconfig = Path()
        self.api: Api

    def __enter__(self) -> Self:
        binary("kube-apiserver")  # raises Missing before anything is started
        self.folder = Path(tempfile.mkdtemp(prefix="docfleet-cluster-"))
        try:
            self._start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pretended is not None:
            self._pretended.stop()
            self._pretended = None
        for process in reversed(self._processes):
            end(process, 10)
        self._processes = []
        if self.folder != Path():
            shutil.rmtree(self.folder, ignore_errors=True)

    def log(self, name: str, characters: int = 3000) -> str:
        """The end of a program's log."""
        path = self.folder / f"{name}.log"
        return path.read_text(errors="replace")[-characters:] if path.exists() else ""

    def run(self, name: str, *arguments: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start one of the binaries, with its log beside the others'."""
        process = spawn([str(binary(name)), *arguments], self.folder / f"{name}.log", self.folder, env)
        self._processes.append(process)
        return process

    def _start(self) -> None:
        folder = self.folder
        certificates.authority(folder, "ca")
        certificates.authority(folder, "front-proxy-ca")
        served, served_key = certificates.signed(
            folder,
            "ca",
            "apiserver",
            "/CN=kube-apiserver",
            ("127.0.0.1", "10.0.0.1", "localhost", "kubernetes.default.svc"),
        )
        proxy, proxy_key = certificates.signed(folder, "front-proxy-ca", "front-proxy", "/CN=front-proxy-client")
        account = certificates.account_key(folder)
        client, peer, port, self.kwok_port = free_ports(4)
        self.url = f"https://127.0.0.1:{port}"
        self.token = secrets.token_hex(16)
        (folder / "tokens.csv").write_text(f'{self.token},admin,admin,"system:masters"\n')
        self.kubeconfig = self._kubeconfig()
        etcd = f"http://127.0.0.1:{client}"
        self.run(
            "etcd", "--data-dir", "etcd", "--listen-client-urls", etcd, "--advertise-client-urls", etcd,
            "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
            "--initial-cluster", f"default=http://127.0.0.1:{peer}", "--unsafe-no-fsync", "--log-level", "warn",
        )  # fmt: skip
        self.run(
            "kube-apiserver", f"--etcd-servers={etcd}", "--bind-address=127.0.0.1", f"--secure-port={port}",
            f"--tls-cert-file={served}", f"--tls-private-key-file={served_key}", f"--cert-dir={folder}/served",
            "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={account}",
            f"--service-account-signing-key-file={account}", f"--token-auth-file={folder}/tokens.csv",
            f"--client-ca-file={folder}/ca.crt", "--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24",
            f"--requestheader-client-ca-file={folder}/front-proxy-ca.crt",
            "--requestheader-allowed-names=front-proxy-client", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            "--requestheader-group-headers=X-Remote-Group", "--requestheader-username-headers=X-Remote-User",
            f"--proxy-client-cert-file={proxy}", f"--proxy-client-key-file={proxy_key}",
        )  # fmt: skip
        self.api = Api(self.url, folder / "ca.crt", self.token)
        wait("the API server is ready", self._ready, 180, said=lambda: self.log("kube-apiserver"))
        config = str(self.kubeconfig)
        common = (f"--kubeconfig={config}", f"--authentication-kubeconfig={config}", f"--authorization-kubeconfig={config}",
                  "--bind-address=127.0.0.1", "--leader-elect=false")  # fmt: skip
        one, two = free_ports(2)
        self.run(
            "kube-controller-manager", *common, f"--secure-port={one}", f"--service-account-private-key-file={account}",
            f"--root-ca-file={folder}/ca.crt", "--controllers=*,-nodeipam,-cloud-node-lifecycle",
            "--horizontal-pod-autoscaler-sync-period=5s", f"--cert-dir={folder}/manager",
        )  # fmt: skip
        self.run("kube-scheduler", *common, f"--secure-port={two}", f"--cert-dir={folder}/scheduler")
        if self._with_kwok:
            try:
                self._kwok()
            except Missing:
                self._pretended = PretendedNodes(self.api, BROKEN)
        wait("the default service account is there", lambda: self._has("ServiceAccount", "default"), 120)

    def _ready(self) -> bool:
        assert all(process.poll() is None for process in self._processes), self.log("etcd") + self.log("kube-apiserver")
        try:
            return self.api.call("GET", "/readyz") == "ok"
        except (ApiRefused, httpx.HTTPError):
            return False

    def _has(self, kind: str, name: str) -> bool:
        try:
            return bool(self.api.get(kind, name))
        except ApiRefused:
            return False

    def _kubeconfig(self) -> Path:
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
            "clusters": [
                {"name": "test", "cluster": {"server": self.url, "certificate-authority": str(self.folder / "ca.crt")}}
            ],
            "users": [{"name": "admin", "user": {"token": self.token}}],
        }
        path = self.folder / "kubeconfig"
        path.write_text(json.dumps(config))
        return path

    def _kwok(self) -> None:
        stages = []
        for part in ("node/fast", "node/heartbeat-with-lease", "pod/fast"):
            for path in sorted((data("kwok-stages") / part).glob("*.yaml")):
                stages += [
                    one for one in yaml.safe_load_all(path.read_text("utf-8")) if one and one.get("kind") == "Stage"
                ]
        for stage in stages:
            if stage["metadata"]["name"] == "pod-ready":
                rule = {"key": ".spec.containers.[0].image", "operator": "NotIn", "values": [f"docfleet-core:{BROKEN}"]}
                stage["spec"].setdefault("selector", {}).setdefault("matchExpressions", []).append(rule)
        path = self.folder / "kwok.yaml"
        path.write_text(yaml.safe_dump_all(stages))
        self.run(
            "kwok", f"--config={path}", f"--kubeconfig={self.kubeconfig}", "--manage-all-nodes=false",
            "--manage-nodes-with-label-selector=type=kwok", "--node-lease-duration-seconds=40",
            f"--server-address=127.0.0.1:{self.kwok_port}",
        )  # fmt: skip

    def node(
        self, name: str, *, zone: str = "a", kwok: bool = True, cpu: str = "32", memory: str = "256Gi", **more: str
    ) -> None:
        """Add a node; `more` are further resources, such as cards."""
        resources: dict[str, Any] = {"cpu": cpu, "memory": memory, "pods": "110", "ephemeral-storage": "1Ti", **more}
        labels = {
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "topology.kubernetes.io/zone": zone,
            "type": "kwok" if kwok else "process",
        }
        annotations = {"kwok.x-k8s.io/node": "fake"} if kwok else {}
        self.api.create(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": labels, "annotations": annotations},
                "status": {"allocatable": resources, "capacity": resources},
            }
        )

    def namespace(self, name: str, level: str = "restricted") -> None:
        """Add a namespace that enforces a Pod Security Standard, and wait for its service account."""
        labels = {"pod-security.kubernetes.io/enforce": level, "pod-security.kubernetes.io/enforce-version": "latest"}
        self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
        limit = time.monotonic() + 60
        while time.monotonic() < limit:
            try:
                self.api.get("ServiceAccount", "default", name)
                return
            except ApiRefused:
                time.sleep(0.2)
        raise AssertionError(f"namespace {name} got no service account")
