"""A child process that is killed from outside."""

from __future__ import annotations

import os
import random as rand
import signal

import msgspec

from tests.faults.fleet import Fleet
from tests.faults.injection import Allowance, Injection, NotInjected
from tests.faults.process import Member
from tests.faults.roles import CHILDREN, Role


def childless(role: Role) -> str | None:
    """Why faults of children do not apply to a role; none where they do."""
    return None if CHILDREN[role] else "it has no child process"


def with_children(fleet: Fleet, role: Role, random: rand.Random) -> tuple[Member, list[int]]:
    """A process of a role at random, and its children. Raises `NotInjected` while it has none."""
    member = random.choice(fleet.of(role))
    children = member.children()
    if not children:
        raise NotInjected(f"{role} has no child at the moment")
    return member, children


class KillChild(msgspec.Struct, frozen=True):
    """SIGKILL to a child of one process, as the kernel's OOM killer does it: the parent goes on with a new one."""

    name: str = "child-killed"
    servers: str = "plain"
    allowance: Allowance = Allowance()

    def inapplicable(self, role: Role, replicas: int) -> str | None:
        return childless(role)

    def inject(self, fleet: Fleet, role: Role, random: rand.Random) -> dict[str, float]:
        member, children = with_children(fleet, role, random)
        victim = random.choice(children)
        os.kill(victim, signal.SIGKILL)
        fleet.wait_until(lambda: victim not in member.children(), 30, f"the killed child of {role} is still there")
        assert member.ended is None, f"{role} ended with its child: {member.tail()}"
        return {}


INJECTIONS: list[Injection] = [KillChild()]
