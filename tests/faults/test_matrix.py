"""A sample of the matrix of faults on a living fleet: as many injections as fit into the minutes given (`tests.faults` has the whole).

DOCFLEET_FAULTS_MINUTES: minutes for it, the start of the fleet included (5 unless given). DOCFLEET_FAULTS_SEED: which sample; it is printed.
"""

from __future__ import annotations

import os
import random
import time

import pytest

from tests.conftest import without
from tests.faults.campaign import Campaign, Plan
from tests.faults.journal import Journal
from tests.faults.matrix import injections, places

MINUTES = float(os.environ.get("DOCFLEET_FAULTS_MINUTES", "5"))
SEED = int(os.environ.get("DOCFLEET_FAULTS_SEED") or random.randrange(1_000_000))
pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(60 * MINUTES + 900)]


def test_faults_into_a_living_fleet_lose_nothing_double_nothing_and_change_nothing(tmp_path, capsys):
    began = time.monotonic()
    kinds = injections()
    sample = [
        place
        for place in places([kind for kind in kinds if kind.servers == "plain"])
        if place.reason is None and place.cell.replicas == 2
    ]
    random.Random(SEED).shuffle(sample)
    journal = Journal(tmp_path / "journal")
    campaign = Campaign(kinds, journal, tmp_path / "fleets", Plan(seed=SEED, until=began + 60 * MINUTES))
    red = []
    for outcome in campaign.run(sample):
        with capsys.disabled():
            print(
                f"\n{outcome.cell.name} seed {outcome.seed}: {'green' if outcome.green else outcome.violations}", end=""
            )
        if not outcome.green:
            red.append(outcome)
    if campaign.missing:
        without(campaign.missing)
    assert not red, [f"python -m tests.faults again {one.cell.name} --seed {one.seed}: {one.violations}" for one in red]
    assert not campaign.red, campaign.left_out
    assert journal.read(), f"nothing was injected within {MINUTES:g} minutes: {campaign.left_out}"
