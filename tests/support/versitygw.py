"""An S3 server that tells Kafka of what lands in it: versitygw 1.8.0 over a folder, on 127.0.0.1.

Built once with Go into the cache of test servers. It sends S3's event structure for every bucket of the server, the fleet's own included.
"""

from __future__ import annotations

import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.go_programs import installed
from tests.support.processes import end, free_ports, spawn

VERSION = "1.8.0"
MODULE = f"github.com/versity/versitygw/cmd/versitygw@v{VERSION}"


def program() -> str:
    """The server, built on first use (a minute or two). Raises `Missing`."""
    return installed("versitygw", VERSION, MODULE, "versitygw", "Go 1.25 or newer")


class VersityGateway:
    """One server with random credentials; its events go to `topic` of the broker at `bootstrap`."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._kafka = (bootstrap, topic)
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None
        self.access_key = "docfleet"
        self.secret_key = secrets.token_urlsafe(18)
        self.endpoint = ""

    def __enter__(self) -> Self:
        gateway = program()
        self._folder = Path(tempfile.mkdtemp(prefix="docfleet-versitygw-"))
        data = self._folder / "data"
        data.mkdir()
        (port,) = free_ports(1)
        self.endpoint = f"127.0.0.1:{port}"
        bootstrap, topic = self._kafka
        events = ["--event-kafka-url", bootstrap, "--event-kafka-topic", topic, "--event-kafka-key", "versitygw"]
        environment = {"ROOT_ACCESS_KEY": self.access_key, "ROOT_SECRET_KEY": self.secret_key}
        self._process = spawn(
            [gateway, "--port", self.endpoint, *events, "posix", str(data)],
            self._folder / "server.log",
            self._folder,
            environment,
        )
        limit = time.monotonic() + 30
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return self
            if self._process.poll() is not None or time.monotonic() > limit:
                text = (self._folder / "server.log").read_text(errors="replace")
                self.__exit__(None, None, None)
                raise AssertionError(f"versitygw did not start: {text[-2000:]}")
            time.sleep(0.05)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end(self._process)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
