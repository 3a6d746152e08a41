"""Leaders change on three brokers while documents are parsed: `./dev test -m nodes tests/faults/infra/test_leaders.py`.

DOCFLEET_FAULTS_SEED: which; it is printed.
"""

from __future__ import annotations

import pytest

from tests.faults.campaign import Plan
from tests.faults.infra import INJECTIONS
from tests.faults.infra.test_infra import SEED, inject
from tests.faults.matrix import places

pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.slow, pytest.mark.nodes, pytest.mark.timeout(1_800)]


def test_a_node_that_leaves_dies_or_freezes_loses_nothing_doubles_nothing_and_changes_nothing(tmp_path, capsys):
    kinds = [kind for kind in INJECTIONS if kind.servers == "three"]
    cells = [place for place in places(kinds) if place.reason is None and place.cell.replicas == 2]
    assert len(cells) == 3
    inject(cells, tmp_path, capsys, Plan(seed=SEED))
