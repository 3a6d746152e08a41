"""What happens to a child process: killed from outside, or out of memory."""

from __future__ import annotations

import os
import random as rand
import re
import resource
import signal
import time
from pathlib import Path

import msgspec

from tests.faults.fleet import Fleet
from tests.faults.injection import Allowance, Injection, NotInjected
from tests.faults.roles import CHILDREN, Role

SQUEEZED_S = 2.0
"""How long a child may take no more memory than it has."""
SPARE = 64 * 1024
"""Bytes that it may still take, of address space and of memory of its own: less than any picture."""
LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_DATA)
"""Address space alone would be no limit: malloc has reserved some of it for each thread in advance."""
ROUNDS = 3
"""Kills of a child in a row: the records that were in it run alone then, and one death more convicts nobody."""


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


class Squeeze(msgspec.Struct, frozen=True):
    """For a while no child of one process gets memory beyond what it has (limits set from outside): what is in it fails, or kills it.

    A MemoryError is an outcome: the page fails with `resource_limit`, because there it needs more than a child may take.
    """

    name: str = "child-out-of-memory"
    servers: str = "plain"
    allowance: Allowance = Allowance(codes=frozenset({"resource_limit"}))

    def inapplicable(self, role: Role, replicas: int) -> str | None:
        return None if CHILDREN[role] else "it has no child process"

    def inject(self, fleet: Fleet, role: Role, random: rand.Random) -> dict[str, float]:
        member = random.choice(fleet.of(role))
        children = member.children()
        squeezed = {pid: before for pid in children if (before := _squeeze(pid))}
        if not squeezed:
            raise NotInjected(f"{role} has no child at the moment")
        time.sleep(SQUEEZED_S)
        alive = [pid for pid, before in squeezed.items() if _let_go(pid, before)]
        assert member.ended is None, f"{role} ended with its child: {member.tail()}"
        return {"children_that_died": float(len(squeezed) - len(alive))}


def _squeeze(pid: int) -> list[tuple[int, int]]:
    """Its limits before; none where it is gone. Hard limits stay: a child may have set one itself, and to raise that takes a privilege."""
    try:
        before = [resource.prlimit(pid, kind) for kind in LIMITS]
        told = re.findall(r"^Vm(Size|Data):\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.M)
        has = {name: 1024 * int(kilobytes) for name, kilobytes in told}
        for kind, name, (_, hard) in zip(LIMITS, ("Size", "Data"), before, strict=True):
            resource.prlimit(pid, kind, (has[name] + SPARE, hard))
    except (OSError, KeyError):  # a process that ends has no memory to tell of
        return []
    return before


def _let_go(pid: int, before: list[tuple[int, int]]) -> bool:
    try:
        for kind, limits in zip(LIMITS, before, strict=True):
            resource.prlimit(pid, kind, limits)
    except OSError:
        return False
    return True


INJECTIONS: list[Injection] = [KillChild(), Squeeze()]
