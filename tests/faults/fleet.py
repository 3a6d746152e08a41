"""The fleet under test: n processes of each role on real servers, each started again when it ends, as a Deployment would do it.

Who ended unasked is kept in `deaths`. `replicas` is what each role is brought back to; `scale` changes it.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

from tests.faults.forging import Forge
from tests.faults.light.worker import FOLDER as WORKLOG
from tests.faults.observed import Death
from tests.faults.process import MARK, Member, children_of, marked, plainly, point_file
from tests.faults.roles import LIGHT, ROLES, Role
from tests.faults.servers import ROOT, Servers
from tests.support.processes import free_ports

SESSION_MS = 6_000
"""Session of every consumer of the fleet: long enough for two busy cores, short enough to wait for."""
LOOK_S = 0.1
"""How often the fleet looks whether a process has ended."""

SETTINGS = {
    "DOCFLEET_KAFKA__SESSION_TIMEOUT_MS": str(SESSION_MS),
    "DOCFLEET_HTTP_HOST": "127.0.0.1",
    "DOCFLEET_INGEST__BULK_PAGES": "4",
    "DOCFLEET_REC__PAGE_CACHE_BYTES": "0",
    "DOCFLEET_REC__CROP_CACHE": "0",
    "DOCFLEET_ENGINES__STREAMS": "1",
    "DOCFLEET_STAGES__INGEST__MAX_IN_FLIGHT": "8",
    "DOCFLEET_JOIN__STALL_S": "60",
}
"""Differences from the defaults: documents of five pages go by the bulk lane, and nothing is answered from memory."""


class Fleet:
    """Context manager over running servers: topics are made, `replicas` processes of each role started and waited for.

    `modules`: what each role runs as, by `python -m`; none is the light profile, forked from a warm interpreter.
    """

    def __init__(
        self,
        servers: Servers,
        folder: Path,
        *,
        modules: Mapping[Role, Sequence[str]] | None = None,
        replicas: int = 1,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.servers = servers
        self.folder = folder
        self.run = uuid.uuid4().hex[:12]
        """Names this fleet in the environment of all its processes."""
        self.replicas: dict[Role, int] = dict.fromkeys(ROLES, replicas)
        self.members: list[Member] = []
        """Everyone who runs now."""
        self.deaths: list[Death] = []
        """Everyone who ended unasked since somebody last emptied this."""
        self._held: Counter[Role] = Counter()
        """Roles of which nobody is started in the place of who ended."""
        self._modules = modules
        self._forge: Forge | None = None
        self._env = {MARK: self.run, WORKLOG: str(folder), **SETTINGS, **(env or {})}
        self._number = 0
        self._lock = threading.RLock()
        self._closing = False
        self._keeper = threading.Thread(target=self._keep, name="keeper", daemon=True)
        # A process is killed when the thread that started it ends (PDEATHSIG); this one outlives them all.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="starter")

    def __enter__(self) -> Self:
        self.docfleet("topics", "apply")
        for role in ROLES:
            for _ in range(self.replicas[role]):
                self.start(role)
        self._keeper.start()
        self.wait_ready()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- members ------------------------------------------------------------------------------------------------------

    def of(self, role: Role) -> list[Member]:
        """The living members of a role, oldest first."""
        with self._lock:
            return [member for member in self.members if member.role == role and member.ended is None]

    def start(
        self,
        role: Role,
        env: Mapping[str, str] | None = None,
        armed: str | None = None,
        tree: Path | None = None,
    ) -> Member:
        """Start one more process of a role; `env` is for it alone, and so are the fault point that is `armed` from its start, and the `tree`
        of another version that it is started from.

        Does not wait, and does not change `replicas`.
        """
        with self._lock:
            self._number += 1
            if armed is not None:
                point_file(self.folder, role, self._number).write_text(armed)
            (port,) = free_ports(1)
            environment = {**self._env, **self.servers.env(role), **(env or {})}
            member = self._starter.submit(self._member, role, environment, port, tree).result()
            self.members.append(member)
            return member

    def _member(self, role: Role, env: Mapping[str, str], port: int, tree: Path | None) -> Member:
        """On the thread that outlives all processes."""
        # What is loaded first cannot be forked in, and another version is not in the interpreter that is forked.
        modules = self._modules or (LIGHT if "LD_PRELOAD" in env or tree is not None else None)
        if modules is not None:
            return Member(role, plainly(modules, tree or ROOT), self._number, self.folder, env, port)
        self._forge = self._forge or Forge(self.folder / "forge.log", {MARK: self.run})
        return Member(role, self._forge.start, self._number, self.folder, env, port)

    @contextlib.contextmanager
    def holding(self, role: Role) -> Iterator[None]:
        """Inside, nobody of this role is started in the place of who ended."""
        with self._lock:
            self._held[role] += 1
        try:
            yield
        finally:
            with self._lock:
                self._held[role] -= 1

    def resize(self, replicas: int) -> None:
        """Bring every role to so many processes, and wait until all are ready."""
        for role in ROLES:
            with self._lock:
                self.replicas[role] = replicas  # who is missing is started by the keeper
                leaving = self.of(role)[replicas:]
            for member in leaving:
                member.terminate()
        self.wait_ready()

    def scale(self, role: Role, replicas: int, wait_s: float = 120.0) -> None:
        """Bring a role to so many processes, as a Deployment would: the youngest leave by SIGTERM. Waits until that is so."""
        with self._lock:
            self.replicas[role] = replicas
            leaving = self.of(role)[replicas:]
            for _ in range(replicas - len(self.of(role))):
                self.start(role)
        for member in leaving:
            member.terminate(wait_s)
        self.wait_ready(role, seconds=wait_s)

    def wait_ready(self, *roles: Role, seconds: float = 300.0) -> None:
        """Wait until each role has its number of ready processes. AssertionError with the log of one that is not, after `seconds`."""
        deadline = time.monotonic() + seconds
        for role in roles or ROLES:
            while True:
                members = self.of(role)
                waiting = [member for member in members if not member.ready()]
                if len(members) >= self.replicas[role] and not waiting:
                    break
                if time.monotonic() > deadline:
                    about = waiting[0].tail() if waiting else f"{len(members)} of {self.replicas[role]} run"
                    raise AssertionError(f"{role} is not ready after {seconds:g} s: {about}")
                time.sleep(0.1)

    def wait_until(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        """Wait for a condition; AssertionError naming `what` after `seconds`."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"after {seconds:g} s: {what}")
            time.sleep(0.05)

    def _keep(self) -> None:
        """Start somebody in the place of everyone who ended."""
        while not self._closing:
            time.sleep(LOOK_S)
            with self._lock:
                if self._closing:
                    return
                for member in [one for one in self.members if one.ended is not None]:
                    self.members.remove(member)
                    if not member.asked:
                        self.deaths.append(Death(role=member.role, exit=member.ended or 0, tail=member.tail()))
                for role in (role for role in ROLES if not self._held[role]):
                    for _ in range(self.replicas[role] - len(self.of(role))):
                        self.start(role)

    # --- the whole ----------------------------------------------------------------------------------------------------

    def stray(self) -> list[str]:
        """Processes of this fleet that are neither a living member nor below one, as `pid command`."""
        with self._lock:
            known = {member.pid for member in self.members}
            known |= {child for pid in list(known) for child in children_of(pid)}
            forge = self._forge.pid if self._forge is not None else 0
            found = marked(self.run)
        strange = [pid for pid, parent in found.items() if pid != forge and pid not in known and parent not in known]
        return [f"{pid} {_command(pid)}" for pid in strange]

    def wait_until_clean(self, seconds: float = 10.0) -> None:
        """Wait until no process is stray, or so long: children end a moment after their parent."""
        deadline = time.monotonic() + seconds
        while self.stray() and time.monotonic() < deadline:
            time.sleep(0.1)

    def docfleet(self, *command: str) -> str:
        """`docfleet COMMAND…` with the settings of this fleet; its standard output."""
        done = subprocess.run(
            [sys.executable, "-m", "docfleet.cli.main", *command],
            cwd=ROOT,
            env={**os.environ, **SETTINGS, **self.servers.env("join")},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert done.returncode == 0, f"docfleet {' '.join(command)}: {done.stdout}\n{done.stderr}"
        return done.stdout

    def close(self) -> list[str]:
        """End everyone by SIGTERM; returns what is left of the fleet ten seconds later, which is nothing."""
        with self._lock:
            self._closing = True
        members = [member for member in self.members if member.ended is None]
        for member in members:
            member.asked = True
            member.process.terminate()
        deadline = time.monotonic() + 60
        for member in members:
            if member.wait(max(0.1, deadline - time.monotonic())) is None:
                self.deaths.append(Death(role=member.role, exit=-9, tail="did not end within 60 s: " + member.tail()))
                member.kill()
        self.members.clear()
        if self._forge is not None:
            self._forge.stop()
        self._starter.shutdown()
        deadline = time.monotonic() + 10
        while (left := self.stray()) and time.monotonic() < deadline:
            time.sleep(0.1)
        for line in left:
            os.kill(int(line.split()[0]), 9)
        return left


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return "(gone)"
