"""Four documents that harm whoever works on them, among sound ones: each is named, quarantined, and all else goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import without
from tests.faults.fleet import Fleet
from tests.faults.light.worker import HARM
from tests.faults.poison.planted import PAGE, Harm, planted
from tests.faults.poison.worker import WORKER
from tests.faults.roles import Role
from tests.faults.run import Arena
from tests.faults.servers import Servers
from tests.faults.sources import Source, _scan, light
from tests.faults.submitting import Submitter, upload
from tests.support.processes import Missing

pytestmark = [pytest.mark.kafka, pytest.mark.faults, pytest.mark.timeout(900)]

WAIT_S = 300.0
"""Everything has ended by then, on two busy cores; it takes some 40 s on two idle ones."""
PAGES = 3
CODES: dict[Harm, str] = {
    "segfault": "crashed",
    "loop": "stalled",
    "memory": "resource_limit",
    "worker": "crashed",
}
PLACES: dict[Harm, str] = {
    "segfault": "docs.pages",
    "loop": "docs.pages",
    "memory": "docs.pages",
    "worker": "docs.rec",
}
ENV = {
    HARM: "1",
    "DOCFLEET_LIMITS__PAGE_TIMEOUT_S": "10",  # a sound page takes some 20 ms, on a busy machine up to a second
    "DOCFLEET_LIMITS__CHILD_MEMORY_BYTES": str(700 * 2**20),
}


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    folder = tmp_path_factory.mktemp("poison")
    try:
        servers = Servers(folder).start()
    except Missing as missing:
        without(missing)
    try:
        with Fleet(servers, folder, env=ENV) as fleet:
            sound = [source for source in light() if source.name in ("native", "scan", "mixed")]
            with Arena(fleet, sound, patience_s=WAIT_S) as arena:
                yield arena
    finally:
        servers.stop()


def test_each_poison_is_named_and_quarantined_and_the_rest_goes_on(arena: Arena) -> None:
    fleet, watch = arena.fleet, arena.watch
    pdf = _scan([False] * PAGES)
    upload(fleet.servers, [Source(f"poison-{harm}", planted(pdf, harm)) for harm in CODES])
    submitter = Submitter(fleet.servers)
    poisons: dict[Harm, str] = {harm: f"poison-{harm}-{fleet.run}" for harm in CODES}
    poisons["worker"] = f"{WORKER}-{fleet.run}"
    sound = {f"sound-{fleet.run}-{n}": list(arena.known)[n % len(arena.known)] for n in range(12)}
    restarts = {role: restarted(fleet, role) for role in ("layout_worker", "rec_worker")}
    fleet.deaths.clear()
    names = list(sound)
    for at, (harm, document) in enumerate(poisons.items()):
        for name in names[3 * at : 3 * at + 3]:
            submitter.submit(name, sound[name])
        submitter.submit(document, f"poison-{harm}")
    submitter.flush()

    documents = [*sound, *poisons.values()]
    fleet.wait_until(lambda: all(name in watch.parsed for name in documents), WAIT_S, "documents have not ended")
    fleet.wait_until(lambda: watch.behind() == 0, WAIT_S, "records are not committed")

    for harm, document in poisons.items():
        (terminal,) = watch.terminals([document])
        assert terminal.status == "partial_success", (harm, terminal)
        assert terminal.codes == {CODES[harm]}, (harm, terminal)
        assert terminal.pages == tuple("failed" if n == PAGE else "ok" for n in range(1, PAGES + 1)), (
            harm,
            terminal,
        )
    letters = {(letter.document_id, letter.place[0].removesuffix(".bulk"), letter.code) for letter in watch.letters}
    assert letters == {(poisons[harm], PLACES[harm], CODES[harm]) for harm in CODES}
    for name, source in sound.items():
        (terminal,) = watch.terminals([name])
        assert (terminal.status, terminal.digest) == (arena.known[source].status, arena.known[source].digest), name

    # The worker dies once in company and twice alone; the children's deaths end no worker.
    assert [(death.role, death.exit) for death in fleet.deaths] == [("rec_worker", -9)] * len(fleet.deaths)
    assert 2 <= len(fleet.deaths) <= 3, fleet.deaths
    assert restarted(fleet, "layout_worker") - restarts["layout_worker"] >= 4, "two deaths and two stalls, at least"
    fleet.wait_ready(seconds=WAIT_S)
    listed = fleet.docfleet("dlq", "list")
    assert all(document in listed for document in poisons.values())


def test_work_goes_on_beside_and_after_a_poison(arena: Arena) -> None:
    submitter = Submitter(arena.fleet.servers)
    names = [f"after-{arena.fleet.run}-{n}" for n in range(6)]
    for name in names:
        submitter.submit(name, "mixed")
    submitter.flush()
    limit = time.monotonic() + WAIT_S
    while not all(name in arena.watch.parsed for name in names):
        assert time.monotonic() < limit, "not parsed after the poisons"
        time.sleep(0.1)
    assert {terminal.status for terminal in arena.watch.terminals(names)} == {"success"}


def restarted(fleet: Fleet, role: Role) -> float:
    """Children of a role that were started again, by its own count."""
    total = 0.0
    for member in fleet.of(role):
        for line in member.get("/metrics").splitlines():
            if line.startswith("docfleet_child_restarts_total"):
                total += float(line.rpartition(" ")[2])
    return total


def test_the_remark_is_found_and_a_sound_file_has_none(tmp_path: Path) -> None:
    from tests.faults.poison.planted import harm_of

    path = tmp_path / "one.pdf"
    path.write_bytes(planted(b"%PDF-1.7 ...", "loop"))
    assert harm_of(path) == "loop"
    path.write_bytes(b"%PDF-1.7 ...")
    assert harm_of(path) is None
