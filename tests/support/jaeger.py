"""A Jaeger server, built with Go into the cache of test servers by `python -m tests.support.jaeger` (a few minutes; tests never build it).

Its default configuration: all in one process, spans in memory.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.processes import Missing, cache_folder, end, free_ports, locked, spawn

VERSION = "1.76.0"
MODULE = "github.com/jaegertracing/jaeger/cmd/jaeger"
CONFIG = """
service:
  extensions: [jaeger_storage, jaeger_query]
  pipelines:
    traces: {{receivers: [otlp], processors: [], exporters: [jaeger_storage_exporter]}}
  telemetry: {{metrics: {{level: none}}}}
extensions:
  jaeger_query:
    storage: {{traces: memory}}
    http: {{endpoint: "127.0.0.1:{query}"}}
    grpc: {{endpoint: "127.0.0.1:{grpc}"}}
  jaeger_storage: {{backends: {{memory: {{memory: {{max_traces: 1000}}}}}}}}
receivers:
  otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{otlp}"}}}}}}
exporters:
  jaeger_storage_exporter: {{trace_storage: memory}}
"""


def built() -> Path:
    """Where the server lies, whether or not it has been built."""
    return cache_folder() / f"jaeger-{VERSION}"


def build() -> Path:
    """Build it, if it is not there. Raises `Missing`."""
    with locked(cache_folder() / "jaeger.lock"):
        if built().exists():
            return built()
        if shutil.which("go") is None:
            raise Missing("Jaeger is built with Go, which is not installed (https://go.dev/dl)")
        folder = cache_folder() / "jaeger-module"
        folder.mkdir(exist_ok=True)
        env = {**os.environ, "CGO_ENABLED": "0"}
        commands = [
            ["go", "mod", "init", "docfleet/jaeger"],
            ["go", "get", "-tool", f"{MODULE}@v{VERSION}"],
            ["go", "build", "-o", str(built()), MODULE],
        ]
        for command in commands[1:] if (folder / "go.mod").exists() else commands:
            done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
            if done.returncode:
                raise Missing(f"Jaeger could not be built: {done.stderr[-800:]}")
        return built()


class Jaeger:
    """Context manager; `endpoint` takes OTLP over HTTP. Raises `Missing` where it has not been built."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.endpoint = self.url = ""

    def __enter__(self) -> Self:
        if not built().exists():
            raise Missing("Jaeger has not been built: python -m tests.support.jaeger (a few minutes, needs Go)")
        query, grpc, otlp = free_ports(3)
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "jaeger.yaml").write_text(CONFIG.format(query=query, grpc=grpc, otlp=otlp))
        self.endpoint, self.url = f"http://127.0.0.1:{otlp}", f"http://127.0.0.1:{query}"
        log = self._folder / "jaeger.log"
        self._process = spawn([str(built()), "--config", str(self._folder / "jaeger.yaml")], log, self._folder)
        limit = time.monotonic() + 60
        while True:
            try:
                self.get("services")
                return self
            except OSError:
                if self._process.poll() is not None or time.monotonic() > limit:
                    self.__exit__(None, None, None)
                    raise AssertionError(log.read_text(errors="replace")[-3000:]) from None
                time.sleep(0.1)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end(self._process)

    def get(self, path: str) -> Any:
        """`data` of an answer of the query API."""
        with urllib.request.urlopen(f"{self.url}/api/{path}", timeout=10) as answer:
            return json.load(answer)["data"]

    def trace(self, trace_id: str) -> list[dict[str, Any]]:
        """The spans of a trace; empty where it is not known."""
        try:
            found = self.get(f"traces/{trace_id}")
        except urllib.error.HTTPError:
            return []
        return [span for trace in found for span in trace["spans"]]


if __name__ == "__main__":
    print(build())
