"""Some minutes of the soak on a living fleet, two processes of each role; `./dev bench soak` runs an hour of it.

DOCFLEET_SOAK_MINUTES: minutes under load (1.5 unless given). DOCFLEET_FAULTS_SEED: which faults; it is printed.
"""

from __future__ import annotations

import os
import random

import pytest

from tests.conftest import without
from tests.faults.fleet import Fleet
from tests.faults.matrix import injections
from tests.faults.run import Arena
from tests.faults.servers import Servers
from tests.faults.soak.flat import verdicts
from tests.faults.soak.run import POOLS, Soak
from tests.faults.sources import light
from tests.support.processes import Missing

MINUTES = float(os.environ.get("DOCFLEET_SOAK_MINUTES", "1.5"))
SEED = int(os.environ.get("DOCFLEET_FAULTS_SEED") or random.randrange(1_000_000))
pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(60 * MINUTES + 900)]

SHORT = 0.5
"""So much may a thing rise in a few minutes: heaps and pools still fill. The hour is held to a tenth."""


def test_under_faults_for_minutes_nothing_is_lost_and_nothing_piles_up(tmp_path, capsys):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    lines: list[str] = [f"seed {SEED}"]
    try:
        servers = Servers(tmp_path).start()
    except Missing as missing:
        without(missing)
    try:
        with (
            Fleet(servers, tmp_path, replicas=2, env={"TMPDIR": str(temporary), **POOLS}) as fleet,
            Arena(fleet, light(), rate=1.0, patience_s=240) as arena,
        ):
            faults = [fault for fault in injections() if fault.servers == "plain"]
            soak = Soak(arena, faults, seed=SEED, every_s=20, told=lines.append)
            report = soak.run(MINUTES, sample_s=3, count_s=30, temporary=temporary)
            assert {member.ended for member in soak.veterans.values()} == {None}, "a veteran ended"
    finally:
        servers.stop()
    with capsys.disabled():
        print("\n" + "\n".join(lines))
    assert report.violations == [], lines
    assert [one for one in report.injected if one.trouble] == [], lines
    assert report.injected, "no fault was injected"
    assert report.documents >= len(light()), "every kind of document was there"
    risen = [verdict for verdict in verdicts(report.samples, 60 * MINUTES / 3, SHORT) if not verdict.flat]
    assert risen == []
