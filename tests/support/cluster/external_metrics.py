"""An adapter of external metrics for tests: what a HorizontalPodAutoscaler asks, answered with committed lag read from Kafka.

It stands where an adapter of a metrics system stands in a cluster (for example one over Prometheus): registered as an APIService, asked
by the controller manager through the API server. Topics and groups come from the selectors of the request, nothing is known beforehand.
"""

from __future__ import annotations

import json
import re
import ssl
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import httpx
from confluent_kafka import KafkaException

from tests.support.cluster import certificates
from tests.support.cluster.api import ApiRefused, wait
from tests.support.cluster.controlplane import ControlPlane
from tests.support.cluster.keda import GROUP, register

Read = Callable[[str, Mapping[str, str]], int]
"""Value of a metric by its name and the labels of the selector. Raises `KeyError` where there is none."""


class ExternalMetrics:
    """Context manager: serves a reader's values and is registered with a control plane. `asked` counts requests."""

    def __init__(self, plane: ControlPlane, read: Read) -> None:
        self._plane = plane
        self.asked = 0

        class Request(BaseHTTPRequestHandler):
            def do_GET(request) -> None:
                url = urlsplit(request.path)
                if found := re.fullmatch(rf"/apis/{GROUP}/v1beta1/namespaces/([^/]+)/([^/]+)", url.path):
                    self.asked += 1
                    selector = parse_qs(url.query).get("labelSelector", [""])[0]
                    labels = dict(pair.split("=", 1) for pair in selector.split(",") if "=" in pair)
                    try:
                        request.answer(200, _values(found[2], labels, read(found[2], labels)))
                    except KeyError as error:
                        request.answer(404, {"kind": "Status", "status": "Failure", "message": str(error), "code": 404})
                    except KafkaException as error:
                        request.answer(503, {"kind": "Status", "status": "Failure", "message": str(error), "code": 503})
                elif url.path.startswith(f"/apis/{GROUP}/v1beta1"):
                    request.answer(
                        200,
                        {
                            "kind": "APIResourceList",
                            "apiVersion": "v1",
                            "groupVersion": f"{GROUP}/v1beta1",
                            "resources": [],
                        },
                    )
                else:
                    request.answer(200, {"kind": "Status", "status": "Success"})

            def answer(request, status: int, body: Any) -> None:
                data = json.dumps(body).encode()
                request.send_response(status)
                request.send_header("Content-Type", "application/json")
                request.send_header("Content-Length", str(len(data)))
                request.end_headers()
                request.wfile.write(data)

            def log_message(request, format: str, *args: Any) -> None:
                """Nobody reads it."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Request)
        self._server.daemon_threads = True

    def __enter__(self) -> Self:
        hosts = ("localhost", "127.0.0.1", "metrics.metrics.svc")
        crt, key = certificates.signed(self._plane.folder, "ca", "metrics", "/CN=metrics", hosts)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(crt, key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()
        self._plane.namespace("metrics", "privileged")
        register(self._plane, "metrics", "metrics", self._server.server_port)

        def answers() -> bool:
            try:
                found: Any = self._plane.api.call("GET", f"/apis/{GROUP}/v1beta1")
                return bool(found["kind"] == "APIResourceList")
            except (ApiRefused, httpx.HTTPError):
                return False

        wait("the metrics API answers", answers, 120)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _values(name: str, labels: Mapping[str, str], value: int) -> Any:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    item = {"metricName": name, "metricLabels": dict(labels), "timestamp": now, "value": str(value)}
    return {"kind": "ExternalMetricValueList", "apiVersion": f"{GROUP}/v1beta1", "metadata": {}, "items": [item]}
