"""The clock of one process jumps, and jumps back: wall time only, as when a time server corrects a machine; monotonic time goes on.

Done by libfaketime (package libfaketime of Debian), which is loaded into every process of the fleet and reads each one's error from a file.
"""

from __future__ import annotations

import random as rand
import shutil
import subprocess
import time
from pathlib import Path

import msgspec

from tests.faults.fleet import Fleet
from tests.faults.injection import NOTHING, Allowance, Injection, NotInjected
from tests.faults.process import Member
from tests.faults.roles import Role
from tests.faults.servers import Servers
from tests.support.processes import Missing

WRONG_S = 6.0
"""How long the clock is wrong."""
SET_S = 20.0
"""Within so long the library has read the file: it looks once in a second, and a server on busy cores answers late."""
UNDELIVERED = 4
"""With which a join ends whose records the broker refuses (`services.assembler.join.faust_app`, which takes a second to import)."""
SAME_S = 5.0
"""Two clocks that differ by less are the same here."""
LIBRARY = "faketime/libfaketimeMT.so.1"
TRUE_WAITS = Path(__file__).with_name("true_waits.c")


class ClockServers(Servers):
    """Servers of a fleet whose clocks can be set. Raises `Missing` at the start where libfaketime or a C compiler is not installed."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._library = ""

    def start(self) -> ClockServers:
        found = sorted(Path("/usr/lib").glob(f"*/{LIBRARY}"))
        if not found:
            raise Missing("clocks are set with libfaketime, which is not installed (package libfaketime)")
        self._library = f"{self._true_waits()}:{found[0]}"
        super().start()
        return self

    def _true_waits(self) -> Path:
        """Compile what keeps libfaketime from waiting for others."""
        compiler = shutil.which("cc")
        if compiler is None:
            raise Missing("a few lines of C are compiled for this, and there is no C compiler (package gcc)")
        library = self.folder.resolve() / "true_waits.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(TRUE_WAITS)], check=True)
        return library

    def env(self, role: Role) -> dict[str, str]:
        return super().env(role) | {
            "LD_PRELOAD": self._library,
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_RESET": "1",
        }


class Jump(msgspec.Struct, frozen=True):
    """The clock is wrong by so many seconds for a while. Beyond a quarter of an hour an S3 server takes its requests for forged."""

    name: str
    seconds: int
    servers: str = "clock"
    allowance: Allowance = NOTHING

    def inapplicable(self, role: Role, replicas: int) -> str | None:
        return None

    def inject(self, fleet: Fleet, role: Role, random: rand.Random) -> dict[str, float]:
        member = random.choice(fleet.of(role))
        began = time.monotonic()
        try:
            if not _set(fleet, member, self.seconds) and member.ended not in self.allowance.exits:
                raise NotInjected(f"{self.name}: its clock went on as before")
            time.sleep(max(0.0, began + WRONG_S - time.monotonic()))
        finally:
            right = _set(fleet, member, 0)
        assert right or member.ended in self.allowance.exits, f"the clock of {role} did not come back: {member.tail()}"
        return {}


def _set(fleet: Fleet, member: Member, seconds: int) -> bool:
    """Set a clock wrong by so much, and wait until it is, or its process has ended; whether it came to be so."""
    member.clock.write_text(f"{seconds:+d}")

    def is_set() -> bool:
        try:
            return abs(member.ahead_s() - seconds) < SAME_S
        except OSError:
            return member.ended is not None

    try:
        fleet.wait_until(is_set, SET_S, "the clock is as it was")
    except AssertionError:
        return False
    return member.ended is None


REFUSED = Allowance(deaths=1, exits=frozenset({UNDELIVERED}))
"""A broker refuses records from more than an hour ahead (`message.timestamp.after.max.ms`): a stage waits, a join ends and starts again."""

INJECTIONS: list[Injection] = [
    Jump("clock-forward", 300),
    Jump("clock-back", -300),
    Jump("clock-far-forward", 7_200, allowance=REFUSED),
]
