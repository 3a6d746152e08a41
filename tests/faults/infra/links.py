"""What happens to a role's network: to its way to the broker, to the store, to the model server. Every process of the role is behind it."""

from __future__ import annotations

import random as rand
import time
from collections.abc import Callable
from typing import Literal

import msgspec

from tests.faults.fleet import SESSION_MS, Fleet
from tests.faults.infra.servers import LinkedServers
from tests.faults.injection import NOTHING, Allowance, Injection
from tests.faults.roles import Role
from tests.support.toxiproxy import Link

Way = Literal["kafka", "s3", "vl"]

SHORT_S = (1.0, 4.0)
LONG_S = (1.2 * SESSION_MS / 1000, 1.6 * SESSION_MS / 1000)
"""Longer than a group's session: the others take over, and whoever comes back has lost its partitions."""


def stands_on_links(fleet: Fleet) -> LinkedServers:
    assert isinstance(fleet.servers, LinkedServers), "this fault needs links"
    return fleet.servers


class LinkFault(msgspec.Struct, frozen=True):
    """Break a way for a while, then mend it."""

    name: str
    way: Way
    act: Callable[[Link], None]
    seconds: tuple[float, float]
    allowance: Allowance = NOTHING
    servers: str = "links"

    def inapplicable(self, role: Role, replicas: int) -> str | None:
        if self.way == "vl" and role != "vl_worker":
            return "only vl_worker talks to the model server"
        if self.way == "s3" and role == "join":
            return "the join holds identities only and never talks to the store"
        return None

    def inject(self, fleet: Fleet, role: Role, random: rand.Random) -> dict[str, float]:
        link = self._link(stands_on_links(fleet), role)
        seconds = random.uniform(*self.seconds)
        self.act(link)
        try:
            time.sleep(seconds)
        finally:
            link.mend()
        return {"seconds": seconds}

    def _link(self, servers: LinkedServers, role: Role) -> Link:
        if self.way == "kafka":
            return servers.kafka_link(role)
        return servers.s3_link(role) if self.way == "s3" else servers.vl_link()


INJECTIONS: list[Injection] = [
    LinkFault("kafka-cut", "kafka", Link.cut, LONG_S),
    LinkFault("kafka-half-open", "kafka", Link.half_open, LONG_S),
    LinkFault("kafka-throttle", "kafka", lambda link: link.throttle(20), SHORT_S),
    LinkFault("kafka-reset", "kafka", lambda link: link.reset(50), SHORT_S),
    LinkFault("kafka-delay", "kafka", lambda link: link.slow(300, 150), SHORT_S),
    LinkFault("kafka-link-down", "kafka", Link.down, SHORT_S),
    LinkFault("s3-cut", "s3", Link.cut, SHORT_S),
    LinkFault("s3-away", "s3", Link.down, SHORT_S),
    LinkFault("vl-away", "vl", Link.down, SHORT_S),
    LinkFault("vl-cut", "vl", Link.cut, SHORT_S),
    LinkFault("vl-half-open", "vl", Link.half_open, SHORT_S),
    LinkFault("vl-reset", "vl", lambda link: link.reset(50), SHORT_S, Allowance(fallbacks=True)),
]
