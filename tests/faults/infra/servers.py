"""The servers under the fleet, with a way of its own for each role to each of them, so that one role's network can break.

    role --- Toxiproxy link kafka-<role> --- a listener of its own of the broker
    role --- Toxiproxy link s3-<role>    --- the S3 server, or the HTTP fault proxy before it (`s3_through_faults`)
    vl_worker --- Toxiproxy link vl      --- the model server simulator

Loads and checks go around the links: `bootstrap` and `endpoint`. On three nodes there are no links to the brokers.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.faults.roles import ROLES, Role
from tests.support.clusters import KafkaCluster
from tests.support.kafka import KafkaServer
from tests.support.processes import end, free_ports, spawn
from tests.support.s3 import S3Server
from tests.support.s3_faults import S3Faults
from tests.support.toxiproxy import Link, Toxiproxy

ROOT = Path(__file__).parents[3]
VL_TEXT = "<table><tr><td>read by the model server simulator</td><td>2</td></tr></table>"


class Servers:
    """Context manager. `nodes` is 1 or 3."""

    def __init__(self, nodes: int = 1) -> None:
        self.nodes = nodes
        self.s3 = S3Server()
        self.toxiproxy = Toxiproxy()
        self.one: KafkaServer | None = None
        """The broker, where there is one."""
        self.three: KafkaCluster | None = None
        """The brokers, where there are three."""
        self._faults: S3Faults | None = None
        self._vl: subprocess.Popen[bytes] | None = None
        self._vl_port = 0
        self._folder: Path | None = None

    @property
    def bootstrap(self) -> str:
        """Past all links."""
        return (self.one or self.three).bootstrap  # type: ignore[union-attr]

    @property
    def endpoint(self) -> str:
        """Past all links."""
        return self.s3.endpoint

    def bootstrap_of(self, role: Role) -> str:
        """Where the processes of a role find the broker."""
        return self.three.bootstrap if self.three else f"127.0.0.1:{self.kafka_link(role).port}"

    def endpoint_of(self, role: Role) -> str:
        """Where the processes of a role find the store."""
        return f"127.0.0.1:{self.s3_link(role).port}"

    @property
    def vl_endpoint(self) -> str:
        """Base URL of the model server, through its link."""
        return f"http://127.0.0.1:{self.vl_link.port}/v1"

    def kafka_link(self, role: Role) -> Link:
        return self.toxiproxy.links[f"kafka-{role}"]

    def s3_link(self, role: Role) -> Link:
        return self.toxiproxy.links[f"s3-{role}"]

    @property
    def vl_link(self) -> Link:
        return self.toxiproxy.links["vl"]

    @contextlib.contextmanager
    def s3_through_faults(self, role: Role):  # type: ignore[no-untyped-def]
        """Lead a role's requests through the HTTP fault proxy; yields it. Connections end at begin and end."""
        assert self._faults is not None
        link = self.s3_link(role)
        link.lead_to(f"127.0.0.1:{self._faults.port}")
        try:
            yield self._faults
        finally:
            self._faults.mend()
            link.lead_to(self.s3.endpoint)

    def mend(self) -> None:
        """Every server up, no fault on any way."""
        if self._faults:
            self._faults.mend()
        self.toxiproxy.mend()

    def start(self) -> Self:
        """Raises `Missing`."""
        self._folder = Path(tempfile.mkdtemp(prefix="docfleet-faults-"))
        self.toxiproxy.start()
        self.s3.start()
        for role in ROLES:
            self.toxiproxy.link(f"s3-{role}", self.s3.endpoint)
        self._faults = S3Faults(self.s3.endpoint).__enter__()
        if self.nodes == 1:
            self._start_one()
        else:
            self.three = KafkaCluster(nodes=self.nodes)
            self.three.start()
        self._start_vl()
        return self

    def _start_one(self) -> None:
        plain, controller, *inner = free_ports(2 + len(ROLES))
        listeners = [f"PLAINTEXT://127.0.0.1:{plain}", f"CONTROLLER://127.0.0.1:{controller}"]
        advertised = list(listeners)
        for role, port in zip(ROLES, inner, strict=True):
            link = self.toxiproxy.link(f"kafka-{role}", f"127.0.0.1:{port}")
            listeners.append(f"{_listener(role)}://127.0.0.1:{port}")
            advertised.append(f"{_listener(role)}://127.0.0.1:{link.port}")
        names = ["PLAINTEXT", "CONTROLLER", *map(_listener, ROLES)]
        options = {
            "listeners": ",".join(listeners),
            "advertised.listeners": ",".join(advertised),
            "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in names),
            "inter.broker.listener.name": "PLAINTEXT",
        }
        self.one = KafkaServer(options, ports=(plain, controller), memory_mb=384).start()

    def _start_vl(self) -> None:
        (self._vl_port,) = free_ports(1)
        self.toxiproxy.link("vl", f"127.0.0.1:{self._vl_port}")
        self.start_vl()

    def start_vl(self) -> None:
        """The model server simulator, at first or again; returns when it answers."""
        assert self._folder is not None
        command = [sys.executable, "-m", "tests.support.vl_server", "--port", str(self._vl_port), "--text", VL_TEXT]
        self._vl = spawn(command, self._folder / "vl-server.log", ROOT)
        limit = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self._vl_port}/v1/models", timeout=2):
                    return
            except OSError:
                assert time.monotonic() < limit, (self._folder / "vl-server.log").read_text()[-2000:]
                time.sleep(0.1)

    def kill_vl(self) -> None:
        """SIGKILL to the model server simulator."""
        assert self._vl is not None
        self._vl.kill()
        self._vl.wait(10)

    def stop(self) -> None:
        """End everything and remove what it held."""
        end(self._vl)
        if self.one:
            self.one.stop()
        if self.three:
            self.three.stop()
        if self._faults:
            self._faults.__exit__(None, None, None)
        self.s3.stop()
        self.toxiproxy.stop()

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _listener(role: Role) -> str:
    return role.replace("_", "").upper()
