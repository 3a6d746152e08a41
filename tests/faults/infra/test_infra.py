"""A sample of the faults of what the fleet stands on (`python -m tests.faults run --only '^(kafka|s3|vl|broker|leader|disk)-'` has the whole).

DOCFLEET_FAULTS_INFRA: how many injections (6 unless given). DOCFLEET_FAULTS_SEED: which sample; it is printed.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import without
from tests.faults.campaign import Campaign, Plan
from tests.faults.cell import Place
from tests.faults.infra import INJECTIONS
from tests.faults.journal import Journal
from tests.faults.matrix import places

COUNT = int(os.environ.get("DOCFLEET_FAULTS_INFRA", "6"))
KINDS = ("kafka-cut", "kafka-half-open", "kafka-reset", "kafka-throttle", "s3-503", "vl-away")
"""One cell of each comes first."""
SEED = int(os.environ.get("DOCFLEET_FAULTS_SEED") or random.randrange(1_000_000))
pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(900 + 200 * COUNT)]


def sample() -> list[Place]:
    """Cells of one process a role: one of each kind, then the rest of them."""
    found = [
        place
        for place in places([kind for kind in INJECTIONS if kind.name in KINDS])
        if place.reason is None and place.cell.replicas == 1
    ]
    random.Random(SEED).shuffle(found)
    first = [next(place for place in found if place.cell.injection == name) for name in KINDS]
    return first + [place for place in found if place not in first]


def inject(cells: Sequence[Place], folder: Path, capsys: pytest.CaptureFixture[str], plan: Plan) -> None:
    journal = Journal(folder / "journal")
    campaign = Campaign(INJECTIONS, journal, folder / "fleets", plan)
    red = []
    for outcome in campaign.run(cells):
        with capsys.disabled():
            state = "green" if outcome.green else outcome.violations
            print(f"\n{outcome.cell.name} seed {outcome.seed}: {state}", end="")
        if not outcome.green:
            red.append(outcome)
    if campaign.missing:
        without(campaign.missing)
    assert not red, [f"python -m tests.faults again {one.cell.name} --seed {one.seed}: {one.violations}" for one in red]
    assert not campaign.red, campaign.left_out
    assert journal.read(), f"nothing was injected: {campaign.left_out}"


def test_faults_of_network_and_servers_lose_nothing_double_nothing_and_change_nothing(tmp_path, capsys):
    inject(sample(), tmp_path, capsys, Plan(seed=SEED, at_most=COUNT))
