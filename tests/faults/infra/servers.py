"""Servers that can be broken: a way of its own for each role to each of them, or three brokers, or a store in a folder that can be full.

    role --- Toxiproxy link kafka-<role> --- a listener of its own of the broker
    role --- Toxiproxy link s3-<role>    --- the S3 server, or the HTTP fault proxy before it (`through_faults`)
    vl_worker --- Toxiproxy link vl      --- the model server simulator

Load and checker go past the links.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.faults.roles import ROLES, Role
from tests.faults.servers import Servers
from tests.support.clusters import KafkaCluster
from tests.support.kafka import KafkaServer
from tests.support.processes import Missing, free_ports
from tests.support.s3_faults import S3Faults
from tests.support.toxiproxy import Link, Toxiproxy


class LinkedServers(Servers):
    """One broker, one store, one model server, and a link to each for each role that uses it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.toxiproxy = Toxiproxy()
        self._faults: S3Faults | None = None

    def kafka_link(self, role: Role) -> Link:
        return self.toxiproxy.links[f"kafka-{role}"]

    def s3_link(self, role: Role) -> Link:
        return self.toxiproxy.links[f"s3-{role}"]

    def vl_link(self) -> Link:
        return self.toxiproxy.links["vl"]

    @contextlib.contextmanager
    def through_faults(self, role: Role) -> Iterator[S3Faults]:
        """Lead a role's requests to the store through the HTTP fault proxy. Connections end at begin and end."""
        assert self._faults is not None
        link = self.s3_link(role)
        link.lead_to(f"127.0.0.1:{self._faults.port}")
        try:
            yield self._faults
        finally:
            self._faults.mend()
            link.lead_to(self.s3.endpoint)

    def env(self, role: Role) -> dict[str, str]:
        return super().env(role) | {
            "DOCFLEET_KAFKA__BOOTSTRAP_SERVERS": f"127.0.0.1:{self.kafka_link(role).port}",
            "DOCFLEET_OBJECTS__ENDPOINT": f"127.0.0.1:{self.s3_link(role).port}",
            "DOCFLEET_VL__ENDPOINTS": f'["http://127.0.0.1:{self.vl_link().port}/v1"]',
        }

    def start(self) -> LinkedServers:
        self.toxiproxy.start()
        plain, controller, *inner = free_ports(2 + len(ROLES))
        self.kafka = KafkaServer(self._listeners(plain, controller, inner), ports=(plain, controller), memory_mb=384)
        super().start()
        for role in ROLES:
            self.toxiproxy.link(f"s3-{role}", self.s3.endpoint)
        self.toxiproxy.link("vl", f"127.0.0.1:{self.vl.port}")
        self._faults = S3Faults(self.s3.endpoint).__enter__()
        return self

    def stop(self) -> None:
        if self._faults is not None:
            self._faults.__exit__()
        super().stop()
        self.toxiproxy.stop()

    def _listeners(self, plain: int, controller: int, inner: list[int]) -> dict[str, str]:
        """A listener for each role, which sends its clients to the role's link."""
        listeners = [f"PLAINTEXT://127.0.0.1:{plain}", f"CONTROLLER://127.0.0.1:{controller}"]
        advertised = list(listeners)
        names = ["PLAINTEXT", "CONTROLLER"]
        for role, port in zip(ROLES, inner, strict=True):
            link = self.toxiproxy.link(f"kafka-{role}", f"127.0.0.1:{port}")
            name = role.replace("_", "").upper()
            names.append(name)
            listeners.append(f"{name}://127.0.0.1:{port}")
            advertised.append(f"{name}://127.0.0.1:{link.port}")
        return {
            "listeners": ",".join(listeners),
            "advertised.listeners": ",".join(advertised),
            "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in names),
            "inter.broker.listener.name": "PLAINTEXT",
        }


class ThreeNodes(Servers):
    """Three brokers; what `docfleet topics apply` makes there has three replicas, two of which must be in sync."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.cluster = KafkaCluster()
        self.kafka = self.cluster  # type: ignore[assignment]


class FolderServers(Servers):
    """The object store is a folder on a small file system of its own (tmpfs), which can be filled. Needs to be root."""

    SIZE = "64m"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.disk = Path(tempfile.mkdtemp(prefix="docfleet-disk-"))

    def env(self, role: Role) -> dict[str, str]:
        return super().env(role) | {
            "DOCFLEET_OBJECTS__KIND": "folder",
            "DOCFLEET_OBJECTS__FOLDER": str(self.disk),
        }

    def put(self, bucket: str, key: str, data: bytes) -> None:
        path = self.disk / bucket / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def get(self, bucket: str, key: str) -> bytes:
        return (self.disk / bucket / key).read_bytes()

    def keys(self, bucket: str, prefix: str) -> list[str]:
        root = self.disk / bucket
        below = (root / prefix.rpartition("/")[0]).rglob("*")
        found = (path.relative_to(root).as_posix() for path in below if path.is_file())
        return sorted(key for key in found if key.startswith(prefix))

    def start(self) -> FolderServers:
        if os.geteuid() != 0:
            raise Missing("a small file system is mounted for this, which only root can do")
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={self.SIZE}", "tmpfs", str(self.disk)],
            capture_output=True,
            text=True,
            check=False,
        )
        if mounted.returncode:
            raise Missing(f"a small file system could not be mounted: {mounted.stderr.strip()}")
        super().start()
        return self

    def stop(self) -> None:
        super().stop()
        subprocess.run(["umount", "--lazy", str(self.disk)], capture_output=True, check=False)
        shutil.rmtree(self.disk, ignore_errors=True)

    def fill(self) -> Path:
        """Take all that is free; whoever removes the file mends it."""
        ballast = self.disk / ".ballast"
        with contextlib.suppress(OSError), ballast.open("wb") as file:
            while True:
                file.write(b"\0" * 65_536)
                file.flush()
        with contextlib.suppress(OSError), ballast.open("ab", buffering=0) as file:
            while True:
                file.write(b"\0" * 512)
        return ballast
