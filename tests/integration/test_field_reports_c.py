"""Field reports C13, C15 and C19, on documents that stand in the way of others, and on results that go too early."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from docfleet import Client
from docfleet.embedded import EmbeddedFleet
from docfleet.removal import Removal
from shared.contracts.codec import encode
from shared.contracts.layout import DoneMark
from shared.contracts.options import Options
from shared.contracts.records import Status
from shared.objects import keys
from shared.objects.folder import FolderStore
from shared.settings import GROUPS, Settings
from shared.streams.cluster import Cluster
from tests.support.pdfs import contents

OPTIONS = Options(layout="fast", ocr="off")
LONG, SHORTS = 1_400, 20
CANCELLED = 2_000


@pytest.fixture(scope="module")
def fleet() -> Iterator[EmbeddedFleet]:
    with EmbeddedFleet() as one:
        yield one


@pytest.fixture
def client(fleet: EmbeddedFleet) -> Iterator[Client]:
    with Client(fleet.settings) as one:
        yield one


@pytest.fixture
def document(tmp_path: Path) -> Callable[[str, int], Path]:
    def made(name: str, pages: int) -> Path:
        path = tmp_path / f"{name}.pdf"
        path.write_bytes(contents([f"{name} {number}" for number in range(pages)]))
        return path

    return made


def pages_done(client: Client, document_id: str, at_least: int) -> int:
    deadline = time.monotonic() + 120
    while (progress := client.progress(document_id)) is None or progress.pages_done < at_least:
        assert time.monotonic() < deadline, progress
        client.poll(0.05)
    return progress.pages_done


@pytest.mark.integration
@pytest.mark.slow
def test_c13_a_cancelled_document_ends_between_pages_and_leaves_nothing_in_a_queue(fleet, client, document) -> None:
    long = client.submit(document("cancelled", CANCELLED), options=OPTIONS).document_id
    pages_done(client, long, 3)
    client.cancel(long)
    parsed = client.wait(long, timeout_s=60)
    assert parsed.status == "cancelled"
    assert parsed.totals.pages_ok < CANCELLED
    after = client.wait(client.submit(document("after", 1), options=OPTIONS).document_id, timeout_s=60)
    assert after.status == "success"
    with Cluster(fleet.settings) as cluster:
        deadline = time.monotonic() + 30
        queues = [(GROUPS["layout_worker"], topic) for topic in ("docs.pages", "docs.pages.bulk")]
        while any(cluster.lag(group, topic) for group, topic in queues):
            assert time.monotonic() < deadline, "pages of a cancelled document still count as queued"
            time.sleep(0.2)
    work = fleet.settings.objects.folder / fleet.settings.objects.bucket / "work" / long
    looked_at = len(list(work.rglob("*.layout.json")))
    assert looked_at < CANCELLED, "what had not begun was not worked on"


@pytest.mark.integration
@pytest.mark.slow
def test_c15_twenty_short_documents_pass_a_long_one(client, document) -> None:
    long = client.submit(document("long", LONG), options=OPTIONS, tenant="a").document_id
    pages_done(client, long, LONG // 20)
    shorts = [
        client.submit(document(f"short{number}", 1), options=OPTIONS, tenant="b").document_id
        for number in range(SHORTS)
    ]
    assert {client.wait(short, timeout_s=120).status for short in shorts} == {"success"}
    progress = client.progress(long)
    assert progress is not None
    assert progress.pages_done < LONG // 2, "most of the long document is still to come"
    parsed = client.wait(long, timeout_s=300)
    assert (parsed.status, parsed.totals.pages_ok) == ("success", LONG), "and it is not starved"


@pytest.mark.unit
async def test_c19_results_are_kept_for_a_time_after_their_end_whatever_it_was(tmp_path: Path) -> None:
    settings = Settings(objects={"kind": "folder", "folder": tmp_path / "objects"})
    store, bucket = FolderStore(settings.objects.folder), settings.objects.bucket
    statuses: list[Status] = ["success", "partial_success", "failure", "cancelled"]
    now = time.time()

    async def ended(document_id: str, status: Status, seconds_ago: float) -> None:
        """A document that was submitted yesterday."""
        for key in (keys.envelope(document_id, 0), keys.document(document_id, 0)):
            await store.put(bucket, key, b"{}")
            os.utime(settings.objects.folder / bucket / key, (now - 86_400,) * 2)
        mark = keys.done(document_id)
        await store.put(bucket, mark, encode(DoneMark(document_id=document_id, generation=0, status=status)))
        os.utime(settings.objects.folder / bucket / mark, (now - seconds_ago,) * 2)

    for status in statuses:
        await ended(f"just-{status}", status, 30)
        await ended(f"long-{status}", status, 90)
    told: list[str] = []
    removed = await Removal(settings, store, "uploads").purge(60, None, lambda name, objects: told.append(name))
    assert sorted(told) == sorted(f"long-{status}" for status in statuses)
    assert removed.documents == len(statuses)
