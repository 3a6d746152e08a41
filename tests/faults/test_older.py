"""An upgrade without a pause: processes of an older version work beside those of this one, role by role, under load.

DOCFLEET_OLDER: the commit they are taken from, by `git archive`; the test skips where the history does not hold it. They run on the libraries
of this version. `./dev test -m endurance tests/faults/test_older.py`, some five minutes.
"""

from __future__ import annotations

import os
import random
import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from tests.conftest import without
from tests.faults.cell import Cell
from tests.faults.fleet import Fleet
from tests.faults.injections.rolling import OlderBeside
from tests.faults.process import ROOT
from tests.faults.roles import ROLES
from tests.faults.run import Arena
from tests.faults.servers import Servers
from tests.faults.sources import light
from tests.support.processes import Missing

OLDER = os.environ.get("DOCFLEET_OLDER", "a829bee0")
"""77 commits before this test was written."""
SEED = int(os.environ.get("DOCFLEET_FAULTS_SEED") or random.randrange(1_000_000))
pytestmark = [
    pytest.mark.endurance,
    pytest.mark.faults,
    pytest.mark.kafka,
    pytest.mark.slow,
    pytest.mark.timeout(3_600),
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("older")
    packed = subprocess.run(["git", "archive", OLDER], cwd=ROOT, capture_output=True, check=False)
    if packed.returncode:
        pytest.skip(f"no commit {OLDER} here: {packed.stderr.decode().strip()}")
    with tarfile.open(fileobj=BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def test_a_process_of_an_older_version_beside_each_role_loses_nothing_and_changes_nothing(tmp_path, capsys, tree):
    red = []
    try:
        servers = Servers(tmp_path).start()
    except Missing as missing:
        without(missing)
    try:
        with Fleet(servers, tmp_path, replicas=2) as fleet, Arena(fleet, light()) as arena:
            injection = OlderBeside(tree=tree)
            for seed, role in enumerate(ROLES, SEED):
                cell = Cell(injection=injection.name, role=role, replicas=2)
                outcomes, missed = arena.run([(injection, cell, seed)])
                assert not missed
                for outcome in outcomes:
                    with capsys.disabled():
                        print(
                            f"\n{outcome.cell.name} seed {outcome.seed}: {outcome.documents} documents, {outcome.violations}",
                            end="",
                        )
                    red += [] if outcome.green else [outcome]
    finally:
        servers.stop()
    assert red == []
