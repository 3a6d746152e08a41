"""Workers that come and go while work is under way, as an autoscaler has it: layout_worker and rec_worker 1 to 3 and back to 1.

Real processes on Apache Kafka and an S3 server; synthetic are the networks of the two, with a second or two of sleep a page
(`tests.cluster.slow_worker`), so that whoever is asked to leave has something in flight. Faults are in `tests.faults`; here is none.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shared.settings import GROUPS
from tests.cluster.slow_worker import LOOK, READ
from tests.conftest import without
from tests.faults.fleet import Fleet
from tests.faults.observed import Expected
from tests.faults.process import Member
from tests.faults.redone import work_of
from tests.faults.roles import LIGHT, Role
from tests.faults.servers import Servers
from tests.faults.sources import Source, _scan
from tests.faults.submitting import Load, Submitter, upload
from tests.faults.watch import Watch
from tests.support.helm import Helm, minimal
from tests.support.kafka import KafkaServer
from tests.support.processes import Missing

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(900)]

SCALED: tuple[Role, ...] = ("layout_worker", "rec_worker")
MOST = 3
PAGES = 10
OPEN = 8
"""Documents under way at any moment: there is always something to do for six workers."""
EFFECT_S = 15.0
"""From the moment the group has a new member until that one works."""
TEN = Expected(document_id="", template="ten", status="success", pages=PAGES, digest=None, objects=frozenset())


@pytest.fixture
def grace_s() -> int:
    """What the chart gives a pod of these stages between SIGTERM and SIGKILL."""
    try:
        with Helm() as helm:
            rendered = helm.render(minimal())
    except Missing as missing:
        without(missing)
    found = {
        rendered.get("Deployment", f"fleet-docfleet-{role.replace('_', '-')}")["spec"]["template"]["spec"][
            "terminationGracePeriodSeconds"
        ]
        for role in SCALED
    }
    (grace,) = found
    return int(grace)


@pytest.fixture
def fleet(tmp_path: Path, fresh_kafka: KafkaServer) -> Iterator[Fleet]:
    modules = {**LIGHT, **{role: ("tests.cluster.slow_worker", role) for role in SCALED}}
    env = {LOOK: "1", READ: "2", "DOCFLEET_INGEST__BULK_PAGES": str(PAGES + 1)}
    try:
        with Servers(tmp_path, kafka=fresh_kafka) as servers:
            upload(servers, [Source("ten", _scan([False] * PAGES))])
            with Fleet(servers, tmp_path, modules=modules, env=env) as started:
                yield started
    except Missing as missing:
        without(missing)


def until(condition: Callable[[], Any], what: str, seconds: float = 240) -> None:
    """AssertionError naming `what` after `seconds`."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, what
        time.sleep(0.1)


def first_record_at(fleet: Fleet, member: Member) -> float | None:
    """When a process began its first record, seconds since the epoch."""
    path = fleet.folder / f"{member.role}-{member.pid}.work"
    line = path.read_text().partition("\n")[0] if path.exists() else ""
    return float(line.split()[-1]) if line else None


def in_flight(fleet: Fleet, member: Member) -> int:
    return work_of(fleet.folder).in_flight.get(f"{member.role}-{member.pid}", 0)


def members(fleet: Fleet) -> dict[str, int]:
    """Members of each scaled role's group; a process is more than one (`shared.streams.member`)."""
    admin = KafkaServer(external=fleet.servers.bootstrap).admin()
    asked = admin.describe_consumer_groups([GROUPS[role] for role in SCALED], request_timeout=20)
    return {role: len(asked[GROUPS[role]].result(30).members) for role in SCALED}


def come(fleet: Fleet) -> dict[str, float]:
    """Bring the scaled roles to `MOST`; by role, the seconds from the group's having all members to the last one's first record."""
    of_one = members(fleet)
    new = {}
    for role in SCALED:
        with fleet.holding(role):  # else its keeper may start them first
            fleet.replicas[role] = MOST
            new[role] = [fleet.start(role) for _ in range(MOST - len(fleet.of(role)))]
    seen: dict[str, float] = {}

    def all_work() -> bool:
        for role, count in members(fleet).items():
            if count == MOST * of_one[role]:
                seen.setdefault(role, time.time())
        return len(seen) == len(SCALED) and all(first_record_at(fleet, one) for role in SCALED for one in new[role])

    until(all_work, "a new process is not seen or has nothing to do")
    return {role: max(first_record_at(fleet, one) or 0 for one in new[role]) - seen[role] for role in SCALED}


def go(fleet: Fleet, grace_s: int) -> list[float]:
    """Back to one process a role, one after the other, each while it works; seconds from SIGTERM to its end."""
    took = []
    for left in reversed(range(1, MOST)):
        for role in SCALED:
            member = fleet.of(role)[-1]
            until(lambda one=member: in_flight(fleet, one) > 0, f"{role} has nothing in flight")
            fleet.replicas[role] = left
            began = time.monotonic()
            code = member.terminate(grace_s)  # Kubernetes would kill it then
            took.append(time.monotonic() - began)
            assert code == 0, f"{role} ended with {code}: {member.tail()}"
    return took


def test_workers_come_and_go_under_load_and_nothing_is_lost_or_done_twice(fleet, grace_s, capsys):
    with Watch(fleet.servers) as watch:
        load = Load(
            Submitter(fleet.servers),
            {"ten": TEN},
            "load",
            random.Random(7),
            rate=5.0,
            is_full=lambda: len(load.submitted) - len(watch.parsed) >= OPEN,
        )
        with load:
            first = [fleet.of(role)[0] for role in SCALED]
            until(lambda: all(in_flight(fleet, one) for one in first), "nothing is under way")
            effect = come(fleet)
            took = go(fleet, grace_s)
        names = list(load.submitted)
        until(lambda: set(names) <= set(watch.parsed), "not every document is parsed", 600)
        until(lambda: watch.behind() == 0, "records are left", 120)
        records = {name: [record["status"] for record in watch.parsed[name]] for name in names}
        assert records == {name: ["success"] for name in names}, "each document once"
        assert {record["totals"]["pages"] for name in names for record in watch.parsed[name]} == {PAGES}
        assert watch.letters == []
        assert watch.broken is None
    assert fleet.deaths == []
    work = work_of(fleet.folder)
    said = {
        "pages": len(names) * PAGES,
        "records": work.records,
        "redone": work.redone,
        "effect_s": {role: round(seconds, 1) for role, seconds in effect.items()},
        "sigterm_to_end_s": [round(seconds, 1) for seconds in took],
        "grace_s": grace_s,
    }
    with capsys.disabled():
        print(f"\n{said}", end="")
    assert work.records >= 2 * PAGES * len(names)
    assert work.redone == 0, said
    assert max(took) < grace_s, said
    assert max(effect.values()) < EFFECT_S, said
