"""What operators do: more and fewer workers, all of them anew, two at once, a new version beside the old."""

from __future__ import annotations

import random as rand
import time
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import msgspec

from tests.faults.fleet import Fleet
from tests.faults.injection import Allowance, Injection
from tests.faults.light.worker import NEXT_SCHEMA
from tests.faults.process import Member
from tests.faults.roles import ROLES, Role
from tests.faults.watch import Watch

QUIET = Allowance(redone="nothing")
CALM_S = 10.0
"""Before a rolling restart the outputs are watched for so long: the load itself has gaps."""


class Scale(msgspec.Struct, frozen=True):
    """One worker, three, one."""

    name: str = "scale-1-3-1"
    servers: str = "plain"
    allowance: Allowance = QUIET

    def inapplicable(self, role: Role, replicas: int) -> str | None:
        return None if replicas == 1 else "it begins with one"

    def inject(self, fleet: Fleet, role: Role, random: rand.Random) -> dict[str, float]:
        fleet.scale(role, 3)
        fleet.scale(role, 1)
        return {}


class StartTogether(msgspec.Struct, frozen=True):
    """All of the role leave, then all start in the same moment while records wait."""

    name: str = "start-together"
    servers: str = "plain"
    allowance: Allowance = QUIET

    def inapplicable(self, role: Role, replicas: int) -> str | None:
        return None if replicas > 1 else "one alone starts with nobody"

    def inject(self, fleet: Fleet, role: Role, random: rand.Random) -> dict[str, float]:
        with fleet.holding(role):
            for member in fleet.of(role):
                member.terminate()
        return {}


class RollingRestart(msgspec.Struct, frozen=True):
    """Every process of every role, one after the other: its successor starts first, then it gets SIGTERM; the join, whose partitions
    move as a whole, ends first."""

    name: str = "rolling-restart"
    servers: str = "plain"
    allowance: Allowance = QUIET

    def inapplicable(self, role: Role, replicas: int) -> str | None:
        return None if role == "join" else "it is about all roles: counted once, under the join"

    def inject(self, fleet: Fleet, role: Role, random: rand.Random) -> dict[str, float]:
        windows = {}
        joins = []
        with Watch(fleet.servers) as watch:
            calm = time.time(), time.time() + CALM_S
            time.sleep(CALM_S)
            for each in ROLES:
                began = time.time()
                for member in fleet.of(each):
                    if each == "join":
                        joins.append(self._anew(fleet, member))
                    else:
                        replace(fleet, member.role)
                        fleet.wait_ready(each)
                windows[each] = began, time.time()
            fleet.wait_until(
                lambda: all(any(at > windows[each][1] for at in self._moments(watch, each)) for each in ROLES),
                120,
                "a role has had no output since its restart",
            )
            told = {f"gap_{each}_s": gap(self._moments(watch, each), *windows[each]) for each in ROLES}
            told |= {f"calm_{each}_s": gap(self._moments(watch, each), *calm) for each in ROLES}
            return told | {"join_start_s": max(joins)}

    def _anew(self, fleet: Fleet, member: Member) -> float:
        """End a process and wait until its role is whole again: seconds from its end on, which are the successor's start and recovery."""
        code = member.terminate()
        assert code == 0, f"{member.role} ended with {code} after SIGTERM: {member.tail()}"
        gone = time.monotonic()
        fleet.wait_ready(member.role)
        return time.monotonic() - gone

    def _moments(self, watch: Watch, role: Role) -> list[float]:
        """When the role had an output; those of the join that users see are the ends of documents."""
        if role == "join":
            return watch.parsed_at
        return [result.at for result in list(watch.results) if result.source == f"docfleet/{role}"]


def replace(fleet: Fleet, role: Role, tree: Path | None = None, **env: str) -> None:
    """Start a successor, wait until it takes part, and let the oldest go by SIGTERM. `tree`: of another version, that it is started from."""
    oldest = fleet.of(role)[0]
    with fleet.holding(role):
        successor = fleet.start(role, env, tree=tree)
        try:
            fleet.wait_until(successor.ready, 300, f"the successor of {role} is not ready")
        except AssertionError as error:
            raise AssertionError(f"{error}: {successor.tail()}") from error
        code = oldest.terminate()
        assert code == 0, f"{role} ended with {code} after SIGTERM: {oldest.tail()}"


def beside(fleet: Fleet, role: Role, seconds: float, tree: Path | None = None, **env: str) -> None:
    """Let a process of another version, as for `replace`, work for so long, until one of this version takes its place."""
    replace(fleet, role, tree, **env)
    other = fleet.of(role)[-1]
    time.sleep(seconds)
    code = other.terminate()
    assert code == 0, f"{role} ended with {code} after SIGTERM: {other.tail()}"


def gap(moments: Iterable[float], began: float, ended: float) -> float:
    """The longest time between two outputs of which one lies between `began` and `ended`, seconds; 0 where there are none."""
    times = sorted(moments)
    return max((b - a for a, b in pairwise(times) if b > began and a < ended), default=0.0)


class NewerBeside(msgspec.Struct, frozen=True):
    """A process of the next version works beside the others: its records and objects have the next minor version and unknown fields."""

    name: str = "newer-beside"
    servers: str = "plain"
    allowance: Allowance = QUIET

    def inapplicable(self, role: Role, replicas: int) -> str | None:
        return None

    def inject(self, fleet: Fleet, role: Role, random: rand.Random) -> dict[str, float]:
        beside(fleet, role, random.uniform(3.0, 6.0), **{NEXT_SCHEMA: "1"})
        return {}


class OlderBeside(msgspec.Struct, frozen=True):
    """A process of an older version, from its `tree`, works beside the others, until one of this version takes its place."""

    tree: Path
    name: str = "older-beside"
    servers: str = "plain"
    allowance: Allowance = QUIET

    def inapplicable(self, role: Role, replicas: int) -> str | None:
        return None

    def inject(self, fleet: Fleet, role: Role, random: rand.Random) -> dict[str, float]:
        beside(fleet, role, random.uniform(6.0, 12.0), self.tree)
        return {}


INJECTIONS: list[Injection] = [Scale(), StartTogether(), RollingRestart(), NewerBeside()]
