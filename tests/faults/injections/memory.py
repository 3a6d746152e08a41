"""A child out of memory: by the kernel's own OOM killer where a memory group can be made, else by limits set from outside.

A process that is moved into a group (cgroup v1, `memory.limit_in_bytes`) takes nothing with it of what it has: only what it takes from then on
counts, so it is killed at the first picture. Limits of the process (`RLIMIT_AS`, `RLIMIT_DATA`) are milder: what malloc has in reserve is not
refused, and what is refused is a MemoryError, which is an outcome: the page fails with `resource_limit`.
"""

from __future__ import annotations

import os
import random as rand
import re
import resource
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.faults.fleet import Fleet
from tests.faults.injection import Allowance, Injection, NotInjected
from tests.faults.injections.children import childless, with_children
from tests.faults.roles import Role

SQUEEZED_S = 10.0
"""How long children may take no more memory than they have, unless one has died of it before."""
SPARE = 64 * 1024
"""Bytes that it may still take, of address space and of memory of its own: less than any picture."""
LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_DATA)
"""Address space alone would be no limit: malloc has reserved some of it for each thread in advance."""
GROUPS = Path("/sys/fs/cgroup/memory")
"""Where cgroup v1 has its memory controller."""


class OutOfMemory(msgspec.Struct, frozen=True):
    """For a while the children of one process get next to no memory beyond what they have: what is in them fails, or kills them."""

    name: str = "child-out-of-memory"
    servers: str = "plain"
    allowance: Allowance = Allowance(codes=frozenset({"resource_limit"}))

    def inapplicable(self, role: Role, replicas: int) -> str | None:
        return childless(role)

    def inject(self, fleet: Fleet, role: Role, random: rand.Random) -> dict[str, float]:
        member, children = with_children(fleet, role, random)
        by_kernel = _can_group()
        with grouped(children) if by_kernel else squeezed(children):
            until = time.monotonic() + SQUEEZED_S
            while not (died := set(children) - set(member.children())) and time.monotonic() < until:
                time.sleep(0.1)
        assert member.ended is None, f"{role} ended with its child: {member.tail()}"
        return {"children_that_died": float(len(died)), "by_the_kernel": float(by_kernel)}


@contextmanager
def grouped(children: Sequence[int]) -> Iterator[None]:
    """A group of memory in which they are, each of them, allowed `SPARE` more bytes together."""
    group = GROUPS / f"docfleet-faults-{os.getpid()}-{time.monotonic_ns()}"
    before = {pid: home for pid in children if (home := _group_of(pid)) is not None}
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(SPARE))
        for pid in before:
            _move(pid, group)
        yield
    finally:
        for pid, home in before.items():
            _move(pid, home)
        _gone(group)


@contextmanager
def squeezed(children: Sequence[int]) -> Iterator[None]:
    """Limits of each by itself; as before afterwards."""
    limited = {pid: before for pid in children if (before := _squeeze(pid))}
    if not limited:
        raise NotInjected("the children are gone")
    try:
        yield
    finally:
        for pid, limits in limited.items():
            _let_go(pid, limits)


def _can_group() -> bool:
    return (GROUPS / "memory.limit_in_bytes").exists() and os.access(GROUPS, os.W_OK)


def _group_of(pid: int) -> Path | None:
    try:
        told = re.search(r"^\d+:memory:/(.*)$", Path(f"/proc/{pid}/cgroup").read_text(), re.M)
    except OSError:
        return None
    return GROUPS / told[1] if told else None


def _move(pid: int, group: Path) -> None:
    """A process that has ended is in no group any more."""
    try:
        (group / "cgroup.procs").write_text(str(pid))
    except OSError:
        if Path(f"/proc/{pid}").exists() and _alive(pid):
            raise


def _alive(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def _gone(group: Path) -> None:
    """Remove a group, once the kernel has let go of the dead in it."""
    for _ in range(50):
        try:
            group.rmdir()
        except OSError:
            time.sleep(0.1)
        else:
            return


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


def _let_go(pid: int, before: list[tuple[int, int]]) -> None:
    try:
        for kind, limits in zip(LIMITS, before, strict=True):
            resource.prlimit(pid, kind, limits)
    except OSError:
        return


INJECTIONS: list[Injection] = [OutOfMemory()]
