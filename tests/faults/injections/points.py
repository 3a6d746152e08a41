"""SIGKILL at a named point of the code (`shared.faultpoints`): where a random kill hits once in a thousand times."""

from __future__ import annotations

import random as rand
import signal
from typing import Literal

import msgspec

from shared.faultpoints import Point
from tests.faults.fleet import Fleet
from tests.faults.injection import Allowance, Injection, NotInjected
from tests.faults.injections.process import KILLED
from tests.faults.roles import STAGES, Role

REACHED_S = 120.0
"""Within so long under load a point must be reached."""
LATEST = 2
"""A point is armed for one of its next so many times."""


class KillAt(msgspec.Struct, frozen=True):
    """The process dies at the point.

    `when`: at work; as it starts, when a new process takes the place of one that was killed; or as it ends, after a SIGTERM.
    """

    point: Point
    roles: tuple[Role, ...]
    when: Literal["working", "starting", "ending"] = "working"
    servers: str = "plain"
    allowance: Allowance = KILLED

    @property
    def name(self) -> str:
        return "kill-" + self.point.replace("_", "-")

    def inapplicable(self, role: Role, replicas: int) -> str | None:
        return None if role in self.roles else "its code does not come to this point"

    def inject(self, fleet: Fleet, role: Role, random: rand.Random) -> dict[str, float]:
        if self.when == "starting":
            return self._starting(fleet, role, random)
        members = fleet.of(role)
        if self.when == "ending":
            members = [random.choice(members)]
        seldom = self.when == "ending" or self.point == "after_failure_before_letter"
        at = 1 if seldom else random.randint(1, LATEST)
        # With others beside it, one process may get no work of this kind for a while: the first to come to the point dies.
        file = fleet.folder / f"{self.name}-{role}.armed"
        file.write_text(f"{self.point}:kill@{at}")
        for one in members:
            one.arm(file)
        try:
            if self.when == "ending":
                members[0].send(signal.SIGTERM)
            fleet.wait_until(lambda: any(one.ended is not None for one in members), REACHED_S, "it was not reached")
        except AssertionError as error:
            raise NotInjected(f"{self.name}: {error}") from error
        finally:
            file.unlink(missing_ok=True)
            for one in members:
                one.disarm()
        ended = [one.ended for one in members if one.ended is not None]
        assert ended == [-signal.SIGKILL], f"{role} ended with {ended} at {self.point}"
        return {"at": float(at)}

    def _starting(self, fleet: Fleet, role: Role, random: rand.Random) -> dict[str, float]:
        """Kill one, and have the one that takes its place die at the point."""
        with fleet.holding(role):
            random.choice(fleet.of(role)).kill()
            member = fleet.start(role, armed=f"{self.point}:kill@1")
            code = member.wait(REACHED_S)
        if code is None:
            member.disarm()
            raise NotInjected(f"{self.name}: it was not reached")
        assert code == -signal.SIGKILL, f"{role} ended with {code} at {self.point}: {member.tail()}"
        return {}


TWICE = Allowance(deaths=2, exits=frozenset({-signal.SIGKILL}), redone="in flight")
"""One is killed, and the one that takes its place dies at the point."""

INJECTIONS: list[Injection] = [
    KillAt("after_store_before_produce", STAGES),
    KillAt("after_produce_before_commit", (*STAGES, "join")),
    KillAt("after_failure_before_letter", ("ingest",)),
    KillAt("after_envelope_before_inspection", ("ingest",)),
    KillAt("after_picture_before_layout", ("layout_worker",)),
    KillAt("after_markdown_before_document", ("compose",)),
    KillAt("between_page_and_join", ("join",)),
    KillAt("after_state_before_work", ("join",)),
    KillAt("after_parsed_before_closed", ("join",)),
    KillAt("after_drain_before_commit", STAGES, "ending"),
    KillAt("after_assign_before_claim", STAGES, "starting", allowance=TWICE),
    KillAt("after_recovery_before_events", ("join",), "starting", allowance=TWICE),
]
