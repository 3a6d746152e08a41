"""A sample of the faults of what the fleet stands on (`python -m tests.faults run --only '^(kafka|s3|vl|broker|leader|disk)-'` has the whole).

DOCFLEET_FAULTS_INFRA_MINUTES: minutes for the network, the store and the single broker, their start included (2 unless given); a full disk
comes beside that. DOCFLEET_FAULTS_SEED: which sample; it is printed. Three brokers: tests/kafka/test_three_nodes.py.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import without
from tests.faults.campaign import Campaign, Plan
from tests.faults.cell import Place
from tests.faults.infra import INJECTIONS
from tests.faults.journal import Journal
from tests.faults.matrix import places

MINUTES = float(os.environ.get("DOCFLEET_FAULTS_INFRA_MINUTES", "2"))
SEED = int(os.environ.get("DOCFLEET_FAULTS_SEED") or random.randrange(1_000_000))
pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(60 * MINUTES + 900)]


def sample(servers: str) -> list[Place]:
    """Cells of one process a role, one of every kind first."""
    found = [
        place for place in places([kind for kind in INJECTIONS if kind.servers == servers]) if place.reason is None
    ]
    found = [place for place in found if place.cell.replicas == 1]
    random.Random(SEED).shuffle(found)
    seen: set[str] = set()
    first = [place for place in found if place.cell.injection not in seen and not seen.add(place.cell.injection)]  # type: ignore[func-returns-value]
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


def test_faults_of_network_store_and_broker_lose_nothing_double_nothing_and_change_nothing(tmp_path, capsys):
    inject(sample("links"), tmp_path, capsys, Plan(seed=SEED, until=time.monotonic() + 60 * MINUTES))


def test_a_full_disk_loses_nothing_doubles_nothing_and_changes_nothing(tmp_path, capsys):
    inject(sample("folder"), tmp_path, capsys, Plan(seed=SEED, at_most=1))
