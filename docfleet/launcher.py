"""The launcher: a small process that starts the services, starts them again when they die, and ends them all.

Why a process of its own: a service needs half a second of CPU for imports alone, and there are six of them. The launcher imports
what they share *once*, has no thread, no Kafka client and no event loop, and so may fork: each service is up in milliseconds and
shares the memory of what was imported. Where fork is not safe (anything but Linux) it starts fresh interpreters instead.

Its owner talks to it over a socket on file descriptor 0, one JSON object a line (`docfleet/processes.py`):
`start` a service, `stop` all; back come `started`, `exited` and `stopped`. When the owner is gone, however it went, the socket ends
and everything is killed: the launcher is the subreaper of all that runs below it, so nothing survives, not even a
grandchild. Services die with the launcher (PDEATHSIG). It has a session of its own: Ctrl-C in a terminal reaches the owner only.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import runpy
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Any

PRELOAD = (
    "asyncio", "logging", "numpy", "orjson", "msgspec", "yaml", "structlog", "prometheus_client", "pydantic_settings",
    "confluent_kafka", "confluent_kafka.admin", "shared.settings", "shared.contracts.records", "shared.contracts.layout",
    "shared.telemetry.metrics", "shared.telemetry.logs", "shared.telemetry.health", "shared.objects.open",
    "shared.children.child", "shared.streams.run",
)  # fmt: skip
"""What several services import. None of it starts a thread or opens a connection when imported."""

BACKOFF_S = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Wait before a dead service is started again, by how often it died in a row."""
STEADY_S = 60.0
"""A service that ran for so long begins again at the first wait."""

_PR_SET_PDEATHSIG, _PR_SET_NAME, _PR_SET_CHILD_SUBREAPER = 1, 15, 36
_LINUX = sys.platform == "linux"


@dataclass
class _Service:
    name: str
    module: str
    env: dict[str, str]
    log: str | None
    pid: int | None = None
    started_at: float = 0.0
    deaths: int = 0
    due: float | None = 0.0


class _Become(Exception):
    """Raised in a forked child: leave the launcher's code and be this service."""

    def __init__(self, service: _Service) -> None:
        self.service = service


def wait_before_restart(deaths: int) -> float:
    """Seconds before a service that died `deaths` (>= 1) times in a row is started again."""
    return BACKOFF_S[min(deaths, len(BACKOFF_S)) - 1]


@dataclass
class _Launcher:
    owner: socket.socket
    cleanup: str | None = None
    services: dict[str, _Service] = field(default_factory=dict)
    buffer: bytes = b""

    def loop(self) -> None:
        """Until the owner says stop or is gone. Raises `_Become` in a forked child."""
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        os.set_blocking(wake_read, False)
        signal.set_wakeup_fd(wake_write)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        with selectors.DefaultSelector() as selector:
            selector.register(self.owner, selectors.EVENT_READ)
            selector.register(wake_read, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select(self._until_due()):
                    if key.fileobj is self.owner:
                        if not self._read_owner():
                            return
                    else:
                        with contextlib.suppress(BlockingIOError):
                            os.read(wake_read, 4096)
                self._reap()
                for service in self.services.values():
                    if service.pid is None and service.due is not None and service.due <= time.monotonic():
                        self._start(service)

    def _until_due(self) -> float | None:
        due = [s.due for s in self.services.values() if s.pid is None and s.due is not None]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _read_owner(self) -> bool:
        try:
            data = self.owner.recv(65536)
        except ConnectionError:
            data = b""
        if not data:
            self._end(0.0)
            return False
        self.buffer += data
        *lines, self.buffer = self.buffer.split(b"\n")
        for line in lines:
            order: dict[str, Any] = json.loads(line)
            if order["do"] == "stop":
                self._end(order["grace_s"])
                return False
            if order["do"] == "start":
                service = _Service(order["name"], order["module"], order["env"], order["log"])
                self.services[service.name] = service
            elif order["do"] == "cleanup":
                self.cleanup = order["folder"]
        return True

    def say(self, **event: Any) -> None:
        with contextlib.suppress(OSError):
            self.owner.sendall(json.dumps(event).encode() + b"\n")

    def _start(self, service: _Service) -> None:
        service.started_at = time.monotonic()
        if _LINUX:
            launcher = os.getpid()
            pid = os.fork()
            if pid == 0:
                _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
                if os.getppid() != launcher:
                    os._exit(0)
                raise _Become(service)
        else:
            log = open(service.log, "ab") if service.log else None  # noqa: SIM115 - the child's, closed below
            command = [sys.executable, "-m", service.module]
            pid = subprocess.Popen(command, env={**os.environ, **service.env}, stdout=log, stderr=log, stdin=-3).pid
            if log:
                log.close()
        service.pid, service.due = pid, None
        self.say(event="started", name=service.name, pid=pid)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            service = next((s for s in self.services.values() if s.pid == pid), None)
            if service is None:
                continue  # an orphaned grandchild, ours as subreaper
            ran = time.monotonic() - service.started_at
            service.deaths = 1 if ran >= STEADY_S else service.deaths + 1
            wait = wait_before_restart(service.deaths)
            service.pid, service.due = None, time.monotonic() + wait
            code = os.waitstatus_to_exitcode(status)
            self.say(event="exited", name=service.name, pid=pid, code=code, deaths=service.deaths, restart_in_s=wait)

    def _end(self, grace_s: float) -> None:
        """TERM, up to `grace_s` seconds, KILL; then whatever is left below us; then the folder."""
        for service in self.services.values():
            service.due = None
        deadline = time.monotonic() + grace_s
        if grace_s > 0:
            _signal_all([s.pid for s in self.services.values() if s.pid], signal.SIGTERM)
        while grace_s > 0 and time.monotonic() < deadline and any(s.pid for s in self.services.values()):
            self._reap()
            for service in self.services.values():
                service.due = None
            time.sleep(0.02)
        while left := [*(s.pid for s in self.services.values() if s.pid), *_children()]:
            _signal_all(left, signal.SIGKILL)
            self._reap()
            time.sleep(0.005)
        if self.cleanup:
            shutil.rmtree(self.cleanup, ignore_errors=True)
        self.say(event="stopped")


def _signal_all(pids: list[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _children() -> list[int]:
    """Processes right below this one; none where the system does not say."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return []


def _prctl(option: int, argument: Any) -> None:
    if _LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(option, argument, 0, 0, 0)


def _be(service: _Service) -> None:
    """Run a service in this forked process, as `python -m MODULE` would."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _prctl(_PR_SET_NAME, service.name[:15].encode())
    os.environ.update(service.env)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if service.log:
        log = os.open(service.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
    sys.argv = [service.module]
    gc.unfreeze()
    runpy.run_module(service.module, run_name="__main__", alter_sys=True)


def main() -> None:
    """Entry point of `python -m docfleet.launcher`."""
    if not _LINUX or os.getsid(0) != os.getpid():
        with contextlib.suppress(PermissionError):
            os.setsid()
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _prctl(_PR_SET_NAME, b"docfleet-launch")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    owner = socket.socket(fileno=os.dup(0))
    if _LINUX:
        # structlog imports rich where it finds it, for a formatter that no service uses: 0.1 s that nobody needs.
        sys.modules["rich"] = None  # type: ignore[assignment]
        for module in PRELOAD:
            try:
                importlib.import_module(module)
            except ImportError as error:
                print(f"launcher: {module} is not preloaded: {error}", file=sys.stderr)
        del sys.modules["rich"]
        gc.collect()
        gc.freeze()
    launcher = _Launcher(owner)
    try:
        launcher.loop()
    except _Become as become:
        owner.close()
        service = become.service
    else:
        return
    _be(service)


if __name__ == "__main__":
    main()
