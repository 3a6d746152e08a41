"""What a troubled S3 does to a role's requests, and a folder store whose disk is full."""

from __future__ import annotations

import random as rand
import time
import urllib.error
from collections.abc import Callable

import msgspec

from tests.faults.fleet import Fleet
from tests.faults.infra.links import stands_on_links
from tests.faults.infra.servers import FolderServers
from tests.faults.injection import NOTHING, Allowance, Injection, NotInjected
from tests.faults.process import Member
from tests.faults.roles import Role
from tests.support.s3_faults import S3Faults

SECONDS = (2.0, 5.0)
NO_STORE = "the join holds identities only and never talks to the store"


class S3Fault(msgspec.Struct, frozen=True):
    """Requests of a role are refused, answered late, or cut, for a while."""

    name: str
    act: Callable[[S3Faults], None]
    counted: tuple[str, ...]
    """Of `S3Faults.counts`: what must have happened at least once."""
    allowance: Allowance = NOTHING
    servers: str = "links"

    def inapplicable(self, role: Role, replicas: int) -> str | None:
        return NO_STORE if role == "join" else None

    def inject(self, fleet: Fleet, role: Role, random: rand.Random) -> dict[str, float]:
        with stands_on_links(fleet).through_faults(role) as faults:
            before = faults.counts.copy()
            self.act(faults)
            until = time.monotonic() + random.uniform(*SECONDS)
            while time.monotonic() < until:
                time.sleep(0.05)
            met = faults.counts - before
        hit = sum(met[name] for name in self.counted)
        if not hit:
            raise NotInjected(f"no request of {role} met it: {dict(met)}")
        return {"requests": float(hit)}


class DiskFull(msgspec.Struct, frozen=True):
    """The disk of a folder store is full for a while. It is everybody's disk."""

    name: str = "disk-full"
    allowance: Allowance = NOTHING
    servers: str = "folder"

    def inapplicable(self, role: Role, replicas: int) -> str | None:
        if role == "join":
            return NO_STORE
        return None if role == "compose" else "the disk is everybody's: counted once, under compose, which writes most"

    def inject(self, fleet: Fleet, role: Role, random: rand.Random) -> dict[str, float]:
        assert isinstance(fleet.servers, FolderServers), "this fault needs a folder store"
        ballast = fleet.servers.fill()
        try:
            fleet.wait_until(
                lambda: any("objects" in why_not_ready(member) for role in STORING for member in fleet.of(role)),
                30,
                "nobody met the full disk",
            )
            time.sleep(random.uniform(*SECONDS))
        except AssertionError as error:
            raise NotInjected(str(error)) from error
        finally:
            ballast.unlink(missing_ok=True)
        return {}


STORING: tuple[Role, ...] = ("ingest", "layout_worker", "rec_worker", "vl_worker", "compose")


def why_not_ready(member: Member) -> str:
    """What /readyz of a process says while it is not ready; empty while it is, or where nobody answers."""
    try:
        member.get("/readyz")
    except urllib.error.HTTPError as error:
        return str(error.read().decode())
    except OSError:
        return ""
    return ""


INJECTIONS: list[Injection] = [
    S3Fault("s3-503", lambda faults: faults.refuse(0.7), ("refused",)),
    S3Fault("s3-slow", lambda faults: faults.slow(1.0), ("passed",)),
    S3Fault("s3-reset", lambda faults: faults.cut(0.5), ("cut_answer", "cut_upload", "lost_answer")),
    DiskFull(),
]
