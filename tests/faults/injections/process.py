"""Signals to one process of the role."""

from __future__ import annotations

import random as rand
import signal
import time

import msgspec

from services.assembler.join.lease import SLEPT
from tests.faults.fleet import SESSION_MS, Fleet
from tests.faults.injection import Allowance, Injection
from tests.faults.roles import Role

KILLED = Allowance(deaths=1, exits=frozenset({-signal.SIGKILL}), redone="in flight")
"""What the SIGKILL of one process may leave."""


class Kill(msgspec.Struct, frozen=True):
    """SIGKILL to one process."""

    name: str = "sigkill"
    servers: str = "plain"
    allowance: Allowance = KILLED

    def inapplicable(self, role: Role, replicas: int) -> str | None:
        return None

    def inject(self, fleet: Fleet, role: Role, random: rand.Random) -> dict[str, float]:
        random.choice(fleet.of(role)).kill()
        return {}


class Terminate(msgspec.Struct, frozen=True):
    """SIGTERM to one process, as Kubernetes sends it: it must end by itself, with 0, and nothing is done twice."""

    name: str = "sigterm"
    servers: str = "plain"
    allowance: Allowance = Allowance(redone="nothing")

    def inapplicable(self, role: Role, replicas: int) -> str | None:
        return None

    def inject(self, fleet: Fleet, role: Role, random: rand.Random) -> dict[str, float]:
        member = random.choice(fleet.of(role))
        began = time.monotonic()
        code = member.terminate()
        assert code == 0, f"{role} ended with {code} after SIGTERM: {member.tail()}"
        return {"ended_s": time.monotonic() - began}


class Freeze(msgspec.Struct, frozen=True):
    """SIGSTOP for twice the session, then SIGCONT: the others have taken over when it wakes. A join ends then, by its lease."""

    name: str = "sigstop"
    servers: str = "plain"
    allowance: Allowance = Allowance(deaths=1, exits=frozenset({SLEPT}), doubles=True)

    def inapplicable(self, role: Role, replicas: int) -> str | None:
        return None

    def inject(self, fleet: Fleet, role: Role, random: rand.Random) -> dict[str, float]:
        member = random.choice(fleet.of(role))
        member.send(signal.SIGSTOP)
        try:
            time.sleep(2 * SESSION_MS / 1000)
        finally:
            member.send(signal.SIGCONT)
        return {}


INJECTIONS: list[Injection] = [Kill(), Terminate(), Freeze()]
