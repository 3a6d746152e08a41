"""Submitting many documents: each once, also after a run that broke off, and without memory that grows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from docfleet.sending import Sender
from docfleet.sources import Given, listed, named
from docfleet.submitting import Journal, submit
from shared.contracts import ids
from shared.contracts.codec import decode
from shared.contracts.options import Options
from shared.contracts.records import DocumentSubmitted
from shared.objects.folder import FolderStore
from shared.settings import Settings
from shared.streams.clients import reader_config
from shared.streams.local import LocalBroker

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[2]
KEYS, SECONDS, BYTES = 100_000, 60, 200 * 2**20


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    with LocalBroker() as broker:
        yield Settings(
            kafka={"embedded": True, "bootstrap_servers": broker.bootstrap_servers},  # type: ignore[arg-type]
            objects={"kind": "folder", "folder": tmp_path / "objects"},  # type: ignore[arg-type]
        )


def sent(settings: Settings, topic: str, count: int) -> list[DocumentSubmitted]:
    """Exactly so many records of a topic."""
    consumer = Consumer({**reader_config(settings, f"test-{topic}"), "enable.partition.eof": False})
    try:
        consumer.subscribe([topic])
        found = consumer.consume(count, timeout=15) + consumer.consume(1, timeout=1)
        return [decode(message.value(), DocumentSubmitted) for message in found]
    finally:
        consumer.close()


async def test_a_list_of_files_and_objects_with_options_of_their_own(settings: Settings, tmp_path: Path) -> None:
    store = FolderStore(settings.objects.folder)
    stat = await store.put("inbox", "a.pdf", b"a")
    (tmp_path / "b.pdf").write_bytes(b"bb")
    (tmp_path / "list.csv").write_text("source,pages,priority\ns3://inbox/a.pdf,1-2,\nb.pdf,,bulk\n")
    fields = {
        "options": Options(ocr="force"),
        "tenant": "t",
        "priority": "normal",
        "generation": 0,
        "document_id": None,
    }
    with Sender(settings, "test") as sender:
        done = await submit(store, sender, listed(tmp_path / "list.csv"), uploads="uploads", fields=fields)
    assert (done.submitted, sender.sent) == (2, 2)
    (first,) = sent(settings, "docs.incoming", 1)
    (second,) = sent(settings, "docs.incoming.bulk", 1)
    assert first.document_id == ids.document_id_of_object("inbox", "a.pdf", stat.etag), (
        "as its notification would have it"
    )
    assert (first.source.etag, first.source.size, first.tenant) == (stat.etag, 1, "t")
    assert (first.options.ocr, first.options.pages) == ("force", "1-2")
    assert (second.options.ocr, second.options.pages) == ("force", None)
    assert await store.get("uploads", second.source.key, etag=second.source.etag) == b"bb"


async def test_a_run_that_broke_off_is_taken_up(settings: Settings, tmp_path: Path) -> None:
    store = FolderStore(settings.objects.folder)
    for number in range(50):
        (tmp_path / f"{number:02d}.pdf").write_bytes(b"%d" % number)
    path = tmp_path / "journal.tsv"

    def broken() -> Iterator[Given]:
        for number in range(40):
            yield Given(str(tmp_path / f"{number:02d}.pdf"), tmp_path / f"{number:02d}.pdf")
        raise OSError("the list came over a network")

    journal = Journal(path)
    with pytest.raises(OSError, match="network"), Sender(settings, "test") as sender:
        await submit(store, sender, broken(), uploads="uploads", fields={}, journal=journal)
    journal.close()
    assert len(path.read_text().splitlines()) == 32, "what was handed over by then"
    with path.open("a") as file:
        file.write("half a li")  # killed while it wrote
    again = Journal(path)
    with Sender(settings, "test") as sender:
        done = await submit(
            store, sender, named(store, [f"{tmp_path}/*.pdf"]), uploads="uploads", fields={}, journal=again
        )
    again.close()
    assert (done.submitted, done.skipped) == (18, 32)
    keys = [one.source.key.rpartition("/")[2] for one in sent(settings, "docs.incoming", 50)]
    assert sorted(keys) == [f"{number:02d}.pdf" for number in range(50)]
    third = Journal(path)
    assert all(str(tmp_path / f"{number:02d}.pdf") in third for number in range(50))
    third.close()


@pytest.mark.slow
def test_a_hundred_thousand_keys_in_a_minute_and_little_memory(settings: Settings, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.support.long_listing", str(KEYS)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            env = {
                **os.environ,
                "DOCFLEET_KAFKA__EMBEDDED": "true",
                "DOCFLEET_KAFKA__BOOTSTRAP_SERVERS": settings.kafka.bootstrap_servers,
                "DOCFLEET_OBJECTS__ENDPOINT": f"127.0.0.1:{server.stdout.readline().strip()}",
                "DOCFLEET_OBJECTS__ACCESS_KEY": "a",
                "DOCFLEET_OBJECTS__SECRET_KEY": "b",
            }
            # VmHWM, because ru_maxrss would begin with the memory of the process that forked this one.
            code = (
                "import sys; from docfleet.cli.main import app\n"
                "try: app(sys.argv[1:])\n"
                "finally: print(open('/proc/self/status').read(), file=sys.stderr)"
            )
            began = time.monotonic()
            done = subprocess.run(
                [sys.executable, "-c", code, "submit", "s3://bucket/in/", "--quiet", "--journal", tmp_path / "j"],
                env=env,
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=280,
                check=False,
            )
            took = time.monotonic() - began
        finally:
            server.terminate()
    assert done.returncode == 0, done.stderr
    assert f"{KEYS} submitted" in done.stderr
    assert len((tmp_path / "j").read_text().splitlines()) == KEYS
    peak = int(re.findall(r"VmHWM:\s+(\d+)", done.stderr)[-1]) * 1024
    print(f"{KEYS} keys: {took:.1f} s, {peak / 2**20:.0f} MB")
    assert took < SECONDS
    assert peak < BYTES
