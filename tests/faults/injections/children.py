"""A child process that is killed from outside."""

from __future__ import annotations

import os
import random as rand
import signal

import msgspec

from tests.faults.fleet import Fleet
from tests.faults.injection import Allowance, Injection, NotInjected
from tests.faults.roles import CHILDREN, Role


class KillChild(msgspec.Struct, frozen=True):
    """SIGKILL to a child of one process, as the kernel's OOM killer does it: the parent goes on with a new one."""

    name: str = "child-killed"
    servers: str = "plain"
    allowance: Allowance = Allowance()

    def inapplicable(self, role: Role, replicas: int) -> str | None:
        return None if CHILDREN[role] else "it has no child process"

    def inject(self, fleet: Fleet, role: Role, random: rand.Random) -> dict[str, float]:
        member = random.choice(fleet.of(role))
        children = member.children()
        if not children:
            raise NotInjected(f"{role} has no child at the moment")
        victim = random.choice(children)
        os.kill(victim, signal.SIGKILL)
        fleet.wait_until(lambda: victim not in member.children(), 30, f"the killed child of {role} is still there")
        assert member.ended is None, f"{role} ended with its child: {member.tail()}"
        return {}


INJECTIONS: list[Injection] = [KillChild()]
