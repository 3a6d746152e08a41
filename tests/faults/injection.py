"""What an injection is: one way to break one role of a living fleet, and what it may leave behind.

A kind of fault is one class here or in `tests.faults.infra`; `tests.faults.matrix` makes the cells of it. `inject` does everything
there is to the fault, its end included, while the load goes on. Processes that end are started again by the fleet, as a Deployment would.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from tests.faults.roles import Role

if TYPE_CHECKING:
    from tests.faults.fleet import Fleet

ANY = -1
"""As many as may be."""


class Allowance(msgspec.Struct, frozen=True, kw_only=True):
    """What a fault may leave behind besides what a calm run leaves. Everything not named here is a violation."""

    deaths: int = 0
    """Processes of the role that end and are not asked to; `ANY`: the fault ends others too."""
    exits: frozenset[int] = frozenset()
    """Exit codes that those may have (-9: SIGKILL)."""
    codes: frozenset[str] = frozenset()
    """Typed errors with which pages may fail, each with its dead letter."""
    doubles: bool = False
    """A second terminal record of a document: only where a join was frozen for longer than its session, which is not promised."""
    fallbacks: bool = False
    """Results with regions that small models read in the VL model's place, and say so (`vl_fallback`): where a model server fails at some
    requests again and again and answers others, nobody can tell whether a region is the reason."""
    redone: Literal["any", "in flight", "nothing"] = "any"
    """Work on records of the stages that may be done again: bounded by what was in flight in who died, or none at all, but for what the
    vl_worker lets go of (`tests.faults.redone.Work.moved`)."""


NOTHING = Allowance()


class Injection(Protocol):
    """One kind of fault."""

    @property
    def name(self) -> str:
        """Its name in cells, journal and command line: lower case with hyphens."""
        ...

    @property
    def servers(self) -> str:
        """What it needs under the fleet, a key of `tests.faults.matrix.servers`; `plain` runs on any."""
        ...

    @property
    def allowance(self) -> Allowance:
        """What it may leave behind."""
        ...

    def inapplicable(self, role: Role, replicas: int) -> str | None:
        """Why there is no such cell, in words; none where there is one."""
        ...

    def inject(self, fleet: Fleet, role: Role, random: random.Random) -> dict[str, float]:
        """Break it, and end the fault. Returns what was measured on the way, by name (seconds, counts); may be empty.

        Raises `NotInjected` where the fault did not take place, so that a run which broke nothing is not counted as one.
        """
        ...


class NotInjected(Exception):
    """The fault did not take place; the message says why."""
