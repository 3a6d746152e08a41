"""KEDA's operator and metrics adapter as processes beside a control plane, reached by the aggregation layer as in a cluster."""

from __future__ import annotations

import base64
from typing import Any

import httpx
import yaml

from tests.support.cluster import certificates
from tests.support.cluster.api import ApiRefused, wait
from tests.support.cluster.binaries import data
from tests.support.cluster.controlplane import ControlPlane
from tests.support.processes import free_ports

GROUP = "external.metrics.k8s.io"


def start(plane: ControlPlane) -> None:
    """Install KEDA's CRDs and start it; returns when its metrics API answers."""
    api, folder = plane.api, plane.folder
    for path in sorted(data("keda-crds").glob("*.yaml")):
        for one in yaml.safe_load_all(path.read_text("utf-8")):
            if one:
                api.create(one)
    plane.namespace("keda", "privileged")
    hosts = ("localhost", "127.0.0.1", "keda-metrics-apiserver.keda.svc", "keda-operator.keda.svc")
    crt, key = certificates.signed(folder, "ca", "keda", "/CN=keda", hosts)
    held = folder / "keda-certificates"
    held.mkdir()
    for source, name in ((crt, "tls.crt"), (key, "tls.key"), (folder / "ca.crt", "ca.crt")):
        (held / name).write_bytes(source.read_bytes())
    metrics, probes, service, secure, own = free_ports(5)
    env = {
        "KUBECONFIG": str(plane.kubeconfig),
        "POD_NAMESPACE": "keda",
        "WATCH_NAMESPACE": "",
        "KEDA_CLUSTER_OBJECT_NAMESPACE": "keda",
    }
    plane.run(
        "keda-operator", f"--metrics-bind-address=127.0.0.1:{metrics}", f"--health-probe-bind-address=127.0.0.1:{probes}",
        f"--metrics-service-bind-address=127.0.0.1:{service}", f"--cert-dir={held}", "--enable-cert-rotation=false",
        env=env,
    )  # fmt: skip
    config = plane.kubeconfig
    plane.run(
        "keda-adapter", "--bind-address=127.0.0.1", f"--secure-port={secure}", f"--lister-kubeconfig={config}",
        f"--authentication-kubeconfig={config}", f"--authorization-kubeconfig={config}",
        f"--tls-cert-file={crt}", f"--tls-private-key-file={key}", f"--cert-dir={held}",
        f"--metrics-service-address=127.0.0.1:{service}", "--metrics-service-grpc-authority=localhost",
        f"--client-ca-file={folder}/ca.crt", f"--port={own}", env=env,
    )  # fmt: skip
    register(plane, "keda", "keda-metrics-apiserver", secure)

    def answers() -> bool:
        try:
            found: Any = api.call("GET", f"/apis/{GROUP}/v1beta1")
            return found["kind"] == "APIResourceList"
        except (ApiRefused, httpx.HTTPError):
            return False

    said = lambda: plane.log("keda-operator") + plane.log("keda-adapter")
    wait("KEDA's metrics API answers", answers, 180, said=said)


def register(plane: ControlPlane, namespace: str, service: str, port: int) -> None:
    """Make a server on this machine the external metrics API, as an adapter's manifests would."""
    plane.api.create(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": service, "namespace": namespace},
            "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]},
        }
    )
    plane.api.create(
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"v1beta1.{GROUP}"},
            "spec": {
                "group": GROUP,
                "version": "v1beta1",
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "service": {"name": service, "namespace": namespace, "port": port},
                "caBundle": base64.b64encode((plane.folder / "ca.crt").read_bytes()).decode(),
            },
        }
    )
