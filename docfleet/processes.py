"""The services as processes, seen from their owner: start them, hear of their deaths, end them.

The work is done by the launcher (`docfleet/launcher.py`); this is the other end of its socket. Only the standard library
is imported here, so that a command can start the launcher before it imports anything else.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MODULES = {
    "layout_worker": "services.layout_worker",
    "ingest": "services.ingest",
    "join": "services.assembler.join",
    "compose": "services.assembler.compose",
    "rec_worker": "services.rec_worker",
    "vl_worker": "services.vl_worker",
}
"""Part of the fleet (the keys of `shared.settings.GROUPS`) to what `python -m` runs, in order of starting: slowest first."""


@dataclass(frozen=True)
class ServiceEvent:
    """`kind` is `started`, `exited` (`code` as in subprocess, `deaths` in a row, seconds until the restart) or `stopped`."""

    kind: str
    name: str = ""
    pid: int = 0
    code: int = 0
    deaths: int = 0
    restart_in_s: float = 0.0


class Processes:
    """A running launcher and the services below it. Not for use by several threads at once."""

    def __init__(self) -> None:
        """Start the launcher; services come with `start`."""
        ours, theirs = socket.socketpair()
        with theirs:
            # One thread of OpenBLAS: the launcher forks, and the parents of engines compute nothing.
            env = {"OPENBLAS_NUM_THREADS": "1", **os.environ}
            command = [sys.executable, "-m", "docfleet.launcher"]
            self._launcher = subprocess.Popen(command, stdin=theirs.fileno(), env=env, start_new_session=True)
        self._socket = ours
        self._buffer = b""
        self._stopped = False
        self.pids: dict[str, int] = {}

    @property
    def pid(self) -> int:
        """Process id of the launcher, from which all services descend."""
        return self._launcher.pid

    def start(self, name: str, module: str, env: Mapping[str, str], log: Path | None = None) -> None:
        """Start a service and keep it running. `env` is added to this process's environment, output goes to `log` or to stderr."""
        self._order(do="start", name=name, module=module, env=dict(env), log=str(log) if log else None)

    def remove_at_end(self, folder: Path) -> None:
        """A folder that goes when the last service has ended, also when this process is killed."""
        self._order(do="cleanup", folder=str(folder))

    def events(self, timeout_s: float = 0.0) -> list[ServiceEvent]:
        """What happened since the last look; waits up to `timeout_s` seconds for something to happen."""
        if self._stopped:
            return []
        self._socket.settimeout(timeout_s)
        try:
            data = self._socket.recv(65536)
        except (TimeoutError, BlockingIOError):
            return []
        except ConnectionError:
            data = b""
        if not data:
            self._stopped = True
            return [ServiceEvent("stopped")]
        self._buffer += data
        *lines, self._buffer = self._buffer.split(b"\n")
        events = []
        for line in lines:
            fields: dict[str, Any] = json.loads(line)
            event = ServiceEvent(fields.pop("event"), **fields)
            if event.kind == "started":
                self.pids[event.name] = event.pid
            elif event.kind == "exited":
                self.pids.pop(event.name, None)
            events.append(event)
        return events

    def stop(self, grace_s: float) -> None:
        """End everything: SIGTERM, up to `grace_s` seconds (0: none), SIGKILL. Returns when no process is left."""
        if self._launcher.poll() is None:
            try:
                self._order(do="stop", grace_s=grace_s)
            except OSError:
                self._stopped = True
            deadline = time.monotonic() + grace_s + 5
            while not self._stopped and time.monotonic() < deadline:
                if any(event.kind == "stopped" for event in self.events(0.1)):
                    break
        self._socket.close()
        self._stopped = True
        try:
            self._launcher.wait(5)
        except subprocess.TimeoutExpired:
            self._launcher.kill()
            self._launcher.wait()

    def _order(self, **order: Any) -> None:
        self._socket.settimeout(None)
        self._socket.sendall(json.dumps(order).encode() + b"\n")
