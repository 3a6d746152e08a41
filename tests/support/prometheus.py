"""Prometheus and promtool: the ones on this machine, or those of Debian's package, unpacked into the cache without being installed."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from tests.support.processes import Missing, cache_folder, end, free_ports, locked, spawn


def program(name: str) -> str:
    """`prometheus` or `promtool`. Raises `Missing`."""
    if (found := shutil.which(name)) is not None:
        return found
    with locked(cache_folder() / "prometheus.lock"):
        unpacked = cache_folder() / "prometheus"
        if not (unpacked / "usr/bin" / name).exists():
            _unpack("prometheus", unpacked)
        return str(unpacked / "usr/bin" / name)


def _unpack(package: str, into: Path) -> None:
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise Missing(f"{package} is not installed, and this is no Debian whose package could be taken")
    with tempfile.TemporaryDirectory() as folder:
        download = ["apt-get", "download", package]
        said = ""
        for attempt in ([], ["apt-get", "update"]):
            if attempt:
                subprocess.run(attempt, capture_output=True, check=False)
            done = subprocess.run(download, cwd=folder, capture_output=True, text=True, check=False)
            said = done.stderr[-500:]
            if files := list(Path(folder).glob("*.deb")):
                shutil.rmtree(into, ignore_errors=True)
                subprocess.run(["dpkg-deb", "-x", str(files[0]), str(into)], check=True)
                return
    raise Missing(f"{package} is not installed, and Debian's package could not be had: {said}")


class Prometheus:
    """A server on the loopback that scrapes `targets` (job to host:port) every second. Context manager; `url` is where it answers."""

    def __init__(self, folder: Path, targets: Mapping[str, list[str]]) -> None:
        self._folder = folder
        self._targets = targets
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def __enter__(self) -> Self:
        server = program("prometheus")
        self._folder.mkdir(parents=True, exist_ok=True)
        jobs = [{"job_name": job, "static_configs": [{"targets": at}]} for job, at in self._targets.items()]
        config = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "scrape_configs": jobs}
        (self._folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        (port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{port}"
        self._process = spawn(
            [
                server,
                f"--config.file={self._folder}/prometheus.yml",
                f"--storage.tsdb.path={self._folder}/data",
                f"--web.listen-address=127.0.0.1:{port}",
                "--enable-feature=exemplar-storage",
            ],
            self._folder / "prometheus.log",
            self._folder,
        )
        limit = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(f"{self.url}/-/ready", timeout=5).close()
                return self
            except OSError:
                if self._process.poll() is not None or time.monotonic() > limit:
                    self.__exit__(None, None, None)
                    raise AssertionError((self._folder / "prometheus.log").read_text()[-2000:]) from None
                time.sleep(0.05)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end(self._process)

    def get(self, path: str, **query: str) -> Any:
        """`data` of an answer of the API."""
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            said = json.load(answer)
        assert said["status"] == "success", said
        return said["data"]

    def query(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """An instant query: labels and value of each element of the vector."""
        found = self.get("query", query=expression)
        assert found["resultType"] == "vector", found
        return [(element["metric"], float(element["value"][1])) for element in found["result"]]

    def value(self, expression: str) -> float:
        """The one value of an expression; 0 where there is none, as a dashboard shows nothing."""
        found = self.query(expression)
        assert len(found) <= 1, f"{expression}: {found}"
        return found[0][1] if found else 0.0
