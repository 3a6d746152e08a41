"""A small client of the Kubernetes API for tests: plain HTTP, objects as dictionaries."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

Object = dict[str, Any]

PATHS = {
    "Namespace": "/api/v1/namespaces",
    "Node": "/api/v1/nodes",
    "Pod": "/api/v1/namespaces/{namespace}/pods",
    "Service": "/api/v1/namespaces/{namespace}/services",
    "ServiceAccount": "/api/v1/namespaces/{namespace}/serviceaccounts",
    "Secret": "/api/v1/namespaces/{namespace}/secrets",
    "ConfigMap": "/api/v1/namespaces/{namespace}/configmaps",
    "Event": "/api/v1/namespaces/{namespace}/events",
    "ResourceQuota": "/api/v1/namespaces/{namespace}/resourcequotas",
    "Deployment": "/apis/apps/v1/namespaces/{namespace}/deployments",
    "StatefulSet": "/apis/apps/v1/namespaces/{namespace}/statefulsets",
    "ReplicaSet": "/apis/apps/v1/namespaces/{namespace}/replicasets",
    "Job": "/apis/batch/v1/namespaces/{namespace}/jobs",
    "CronJob": "/apis/batch/v1/namespaces/{namespace}/cronjobs",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies",
    "HorizontalPodAutoscaler": "/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers",
    "ScaledObject": "/apis/keda.sh/v1alpha1/namespaces/{namespace}/scaledobjects",
    "TriggerAuthentication": "/apis/keda.sh/v1alpha1/namespaces/{namespace}/triggerauthentications",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "APIService": "/apis/apiregistration.k8s.io/v1/apiservices",
    "Lease": "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases",
}


class ApiRefused(Exception):
    """The server said no: `status` and its words."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Api:
    """One user of one server. Each thread has connections of its own: one that several shared was closed under a reader now and then."""

    def __init__(self, url: str, ca: Path, token: str) -> None:
        self._url = url
        self._context = ssl.create_default_context(cafile=str(ca))
        self._headers = {"Authorization": f"Bearer {token}"}
        self._of_thread = threading.local()

    def _client(self) -> httpx.Client:
        client = getattr(self._of_thread, "client", None)
        if client is None:
            client = httpx.Client(
                base_url=self._url, verify=self._context, headers=self._headers, timeout=60, trust_env=False
            )
            self._of_thread.client = client
        return client

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """An answer, decoded. Raises `ApiRefused`, `httpx.HTTPError`."""
        answer = self._client().request(
            method, path, json=body, headers={k.replace("_", "-"): v for k, v in headers.items()}
        )
        if answer.status_code >= 400:
            try:
                said = answer.json().get("message", answer.text)
            except ValueError:
                said = answer.text
            raise ApiRefused(answer.status_code, said)
        return answer.json() if answer.headers.get("content-type", "").startswith("application/json") else answer.text

    def path(self, kind: str, namespace: str = "default", name: str = "") -> str:
        """Where objects of a kind are."""
        return PATHS[kind].format(namespace=namespace) + (f"/{name}" if name else "")

    def create(self, one: Object, namespace: str = "default", query: str = "") -> Object:
        """Create an object; `query` such as `?dryRun=All&fieldValidation=Strict`."""
        return self.call("POST", self.path(one["kind"], one["metadata"].get("namespace", namespace)) + query, one)

    def get(self, kind: str, name: str, namespace: str = "default") -> Object:
        return self.call("GET", self.path(kind, namespace, name))

    def list(self, kind: str, namespace: str = "default", query: str = "") -> list[Object]:
        return self.call("GET", self.path(kind, namespace) + query)["items"]

    def delete(self, kind: str, name: str, namespace: str = "default", body: Any = None) -> Any:
        return self.call("DELETE", self.path(kind, namespace, name), body)

    def patch(self, kind: str, name: str, change: Any, namespace: str = "default", subresource: str = "") -> Object:
        """A merge patch."""
        path = self.path(kind, namespace, name) + (f"/{subresource}" if subresource else "")
        return self.call("PATCH", path, change, content_type="application/merge-patch+json")


def wait(
    what: str, condition: Callable[[], Any], seconds: float, every: float = 0.5, said: Callable[[], str] = str
) -> Any:
    """The first true value of `condition`. Raises `AssertionError` with what was waited for."""
    limit = time.monotonic() + seconds
    while True:
        if found := condition():
            return found
        assert time.monotonic() < limit, f"not within {seconds:g} s: {what}; {said()}"
        time.sleep(every)
