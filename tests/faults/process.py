"""One service process of the fleet under test: its start, its health, its children, the signals it gets."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from pathlib import Path

from shared.faultpoints import VARIABLE
from tests.faults.forging import Forked
from tests.faults.roles import Role
from tests.support.processes import spawn

MARK = "DOCFLEET_FAULTS_RUN"
"""Environment variable by which every process of a fleet, children included, is known."""
ROOT = Path(__file__).parents[2]


Start = Callable[[Role, Mapping[str, str], Path], "subprocess.Popen[bytes] | Forked"]
"""Starts the process of a role with an environment on top of this process's own, and a log."""


def plainly(modules: Mapping[Role, Sequence[str]], tree: Path = ROOT) -> Start:
    """Start it as an image does: `python -m` its module, from the `tree` of this version or of another."""

    def start(role: Role, env: Mapping[str, str], log: Path) -> subprocess.Popen[bytes]:
        return spawn([sys.executable, "-m", *modules[role]], log, tree, {**env, "PYTHONPATH": str(tree)})

    return start


class Member:
    """A process of a role. Created means started; `ended` says how, once it has."""

    def __init__(self, role: Role, start: Start, number: int, folder: Path, env: Mapping[str, str], port: int) -> None:
        self.role = role
        self.number = number
        self.port = port
        self.log = folder / f"{role}-{number:03d}.log"
        self.point = point_file(folder, role, number)
        self.clock = folder / f"{role}-{number:03d}.clock"
        """By how much its clock is wrong, for libfaketime where that is loaded (`tests.faults.injections.clock`)."""
        self.clock.write_text("+0")
        self.asked = False
        """Whether somebody asked it to end: then its end is no death."""
        own = {f"DOCFLEET_STAGES__{role.upper()}__HTTP_PORT": str(port), VARIABLE: str(self.point)}
        self.process = start(role, {**env, **own, "FAKETIME_TIMESTAMP_FILE": str(self.clock)}, self.log)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def ended(self) -> int | None:
        """Exit code, negative for a signal; none while it runs."""
        return self.process.poll()

    def get(self, path: str, timeout_s: float = 2.0) -> str:
        """A page of its HTTP server. Raises `OSError`."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=timeout_s) as answer:
            return str(answer.read().decode())

    def ahead_s(self) -> float:
        """By how much its clock is ahead of ours, by what its HTTP server says; to a second. Raises `OSError`."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=2) as answer:
            return parsedate_to_datetime(answer.headers["Date"]).timestamp() - time.time()

    def ready(self) -> bool:
        """Whether it takes part in the work."""
        try:
            return self.ended is None and bool(self.get("/readyz"))
        except OSError:
            return False

    def send(self, number: signal.Signals) -> None:
        """Send it a signal; SIGTERM counts as being asked to end."""
        if number is signal.SIGTERM:
            self.asked = True
        self.process.send_signal(number)

    def terminate(self, timeout_s: float = 120.0) -> int:
        """SIGTERM, as Kubernetes sends it, and wait for the exit code. Raises `TimeoutExpired`."""
        self.send(signal.SIGTERM)
        return self.process.wait(timeout_s)

    def kill(self) -> None:
        """SIGKILL and wait."""
        self.process.kill()
        self.process.wait(30)

    def arm(self, file: Path) -> None:
        """Let it look into this file for an armed fault point, with others that do."""
        self.disarm()
        self.point.symlink_to(file)

    def disarm(self) -> None:
        """Take the armed point away."""
        self.point.unlink(missing_ok=True)

    def children(self) -> list[int]:
        """Pids of its child processes, oldest first."""
        return children_of(self.pid)

    def tail(self, characters: int = 3_000) -> str:
        """The end of its log; empty while it has none."""
        return self.log.read_text(errors="replace")[-characters:] if self.log.exists() else ""

    def wait(self, timeout_s: float) -> int | None:
        """Wait for its end; none when it has not ended by then."""
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None


def point_file(folder: Path, role: Role, number: int) -> Path:
    """The file in which a fault point of a process is armed."""
    return folder / f"{role}-{number:03d}.point"


def children_of(pid: int) -> list[int]:
    """Pids of the children of all threads of a process, oldest first."""
    found: set[int] = set()
    try:
        for task in os.scandir(f"/proc/{pid}/task"):
            found.update(int(word) for word in Path(task.path, "children").read_text().split())
    except OSError:
        return sorted(found)
    return sorted(found)


def marked(run: str) -> dict[int, int]:
    """Living processes of a fleet by pid, with the parent of each. A zombie is not alive."""
    needle = f"{MARK}={run}".encode()
    found = {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            if needle not in Path(entry.path, "environ").read_bytes().split(b"\0"):
                continue
            fields = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            found[int(entry.name)] = int(fields[1])
    return found
