"""Field report C14: what a fleet holds does not grow with the documents it has parsed.

DOCFLEET_C14_DOCUMENTS: how many (120 unless given; the report's case is 500). `./dev test -m endurance`.

It found that decoded pages, which each hold a handle, were bounded by their bytes alone: small ones filled the worker's table of handles.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence

import pytest

from tests.conftest import without
from tests.faults.checker import check
from tests.faults.fleet import Fleet
from tests.faults.roles import ROLES
from tests.faults.run import Arena
from tests.faults.servers import Servers
from tests.faults.soak.flat import SHARE, verdicts
from tests.faults.soak.run import POOLS
from tests.faults.soak.sample import Sample, files_below, of_veterans
from tests.faults.sources import light
from tests.faults.submitting import Load
from tests.support.processes import Missing

DOCUMENTS = int(os.environ.get("DOCFLEET_C14_DOCUMENTS", "120"))
OPEN = 12
"""Documents under way at any moment."""
WARM_UP = 1 / 3
"""Share of the documents after which heaps and pools are taken for full."""
pytestmark = [
    pytest.mark.endurance,
    pytest.mark.faults,
    pytest.mark.kafka,
    pytest.mark.slow,
    pytest.mark.timeout(900 + 10 * DOCUMENTS),
]


def test_c14_what_a_fleet_holds_does_not_grow_with_what_it_has_parsed(tmp_path, capsys) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    try:
        servers = Servers(tmp_path).start()
    except Missing as missing:
        without(missing)
    try:
        with Fleet(servers, tmp_path, env={"TMPDIR": str(temporary), **POOLS}) as fleet, Arena(fleet, light()) as arena:
            veterans = {role: fleet.of(role)[0] for role in ROLES}
            samples: list[Sample] = []
            began = time.monotonic()

            def ended() -> int:
                return sum(name in arena.watch.parsed for name in list(load.submitted))

            load = Load(
                arena._submitter,
                arena.known,
                f"c14-{fleet.run}",
                random.Random(14),
                rate=20,
                most=DOCUMENTS,
                is_full=lambda: len(load.submitted) - ended() >= OPEN,
            )
            with load:
                until = began + 300 + 8 * DOCUMENTS
                while (count := ended()) < DOCUMENTS:
                    assert time.monotonic() < until, f"{count} of {DOCUMENTS} ended"
                    samples.append(
                        Sample(
                            at_s=time.monotonic() - began,
                            held=of_veterans(veterans.values()),
                            temporary_files=files_below(temporary),
                            submitted=len(load.submitted),
                            ended=count,
                            behind=0,
                        )
                    )
                    time.sleep(0.5)
            documents = list(load.submitted.values())
            arena._until_done(documents, raising=False)
            assert check(documents, arena._observed(documents)) == []
            assert {role: member.ended for role, member in veterans.items()} == dict.fromkeys(ROLES)
    finally:
        servers.stop()
    found = verdicts(samples, warm_up_s=warm_up(samples), share=SHARE)
    with capsys.disabled():
        for one in found:
            print(f"\n{one.what}: {one.first:g} to {one.last:g}{'' if one.flat else ', RISEN'}", end="")
    assert [one for one in found if not one.flat] == []


def warm_up(samples: Sequence[Sample]) -> float:
    """Seconds after which the warm-up is over."""
    return next(sample.at_s for sample in samples if sample.ended >= WARM_UP * DOCUMENTS)
