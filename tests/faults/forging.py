"""The near side of `tests.faults.light.forge`: forked processes that look like `subprocess.Popen`."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
START_S = 180.0
"""Within so long the warm interpreter has imported everything and answers."""


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Forked:
    """A process that was forked: the few things of `subprocess.Popen` that are needed of it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._over = threading.Event()
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; none while it runs."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its exit code. Raises `subprocess.TimeoutExpired`."""
        if not self._over.wait(timeout):
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def ended(self, code: int) -> None:
        """It was seen to end."""
        self.returncode = code
        self._over.set()


class Forge:
    """A warm interpreter. It ends, and everybody it made with it, when the process or the thread that made it does."""

    def __init__(self, log: Path, env: Mapping[str, str]) -> None:
        """`env` is what the system says is the environment of everybody it makes."""
        self._log = log
        self._socket, theirs = socket.socketpair()
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.light.forge", str(theirs.fileno())],
                cwd=ROOT,
                env={**os.environ, **env},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )
        theirs.close()
        self._started: queue.SimpleQueue[Forked | None] = queue.SimpleQueue()
        self._living: dict[int, Forked] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._listen, name="forge", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self, role: str, env: Mapping[str, str], log: Path) -> Forked:
        """Fork the light process of a role. `env` comes on top of this process's own. Raises `queue.Empty` where nothing answers, and
        `RuntimeError` where the warm interpreter has ended."""
        order = {"role": role, "env": {**os.environ, **env}, "log": str(log)}
        with self._lock:
            with contextlib.suppress(OSError):  # `_listen` tells of its end
                self._socket.sendall(json.dumps(order).encode() + b"\n")
            started = self._started.get(timeout=START_S)
        if started is None:
            raise RuntimeError(f"the warm interpreter has ended: {self._log.read_text(errors='replace')[-2_000:]}")
        return started

    def stop(self) -> None:
        """End it, and everybody it made."""
        self._process.kill()
        self._process.wait(10)

    def _listen(self) -> None:
        with contextlib.suppress(OSError), self._socket.makefile("rb") as lines:
            for line in lines:
                told = json.loads(line)
                if "started" in told:
                    forked = self._living[told["started"]] = Forked(told["started"])
                    self._started.put(forked)
                else:
                    self._living.pop(told["ended"]).ended(told["exit"])
        for forked in self._living.values():
            forked.ended(-signal.SIGKILL)
        self._started.put(None)
