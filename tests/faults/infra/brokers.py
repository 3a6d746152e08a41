"""What happens to the broker, or to one of three. It is everybody's, so its cells are counted once, under the join, which holds state in it."""

from __future__ import annotations

import os
import random as rand
import time

import msgspec

from shared.streams.catalog import load
from tests.faults.fleet import SESSION_MS, Fleet
from tests.faults.infra.servers import ThreeNodes
from tests.faults.injection import NOTHING, Allowance, Injection
from tests.faults.roles import Role
from tests.support.clusters import Way

AWAY_S = float(os.environ.get("DOCFLEET_AWAY_S", "12"))
"""The long absence; a full run sets 60."""
EVERYBODYS = "the broker is everybody's: counted once, under the join"


class Restart(msgspec.Struct, frozen=True):
    """The only broker ends, by SIGTERM or SIGKILL, stays away, and comes back with what it held."""

    name: str
    hard: bool
    away_s: float
    allowance: Allowance = NOTHING
    servers: str = "links"

    def inapplicable(self, role: Role, replicas: int) -> str | None:
        return None if role == "join" else EVERYBODYS

    def inject(self, fleet: Fleet, role: Role, random: rand.Random) -> dict[str, float]:
        broker = fleet.servers.kafka
        began = time.monotonic()
        broker.kill() if self.hard else broker.pause()
        time.sleep(self.away_s)
        broker.start()
        return {"away_s": time.monotonic() - began}


class NodeFault(msgspec.Struct, frozen=True):
    """One of three brokers ends by SIGTERM (its leaders move first), by SIGKILL, or freezes; the others lead. Then it comes back, every
    replica is in sync again, and leadership returns."""

    name: str
    how: Way
    allowance: Allowance = NOTHING
    servers: str = "three"

    def inapplicable(self, role: Role, replicas: int) -> str | None:
        return None if role == "join" else EVERYBODYS

    def inject(self, fleet: Fleet, role: Role, random: rand.Random) -> dict[str, float]:
        assert isinstance(fleet.servers, ThreeNodes), "this fault needs three nodes"
        led = load().names()
        return fleet.servers.cluster.change_leaders(self.how, random, *led, still_s=SESSION_MS / 1000)


INJECTIONS: list[Injection] = [
    Restart("broker-restart", hard=False, away_s=0.0),
    Restart("broker-killed", hard=True, away_s=0.0),
    Restart("broker-away", hard=False, away_s=AWAY_S),
    NodeFault("leader-change", "pause"),
    NodeFault("leader-killed", "kill"),
    NodeFault("leader-frozen", "freeze"),
]
