"""Pages of a document as they are composed, on the embedded fleet: long before the document has ended."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pymupdf
import pytest

from docfleet import Client
from docfleet.embedded import EmbeddedFleet, environment
from shared.contracts.options import Options

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PAGES = 60


@pytest.fixture
def fleet() -> Iterator[EmbeddedFleet]:
    with EmbeddedFleet(overrides={"join": {"window": 3}}) as running:
        yield running


def test_pages_are_read_while_the_rest_is_still_being_read(
    fleet: EmbeddedFleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = pymupdf.open()
    for number in range(1, PAGES + 1):
        document.new_page().insert_text((72, 72), f"This is page {number} of a long document.")
    document.save(tmp_path / "long.pdf")
    for name, value in environment(
        {"kafka": {"embedded": True, "bootstrap_servers": fleet.settings.kafka.bootstrap_servers}}
    ).items():
        monkeypatch.setenv(name, value)
    for name in ("kind", "folder", "bucket"):
        monkeypatch.setenv(f"DOCFLEET_OBJECTS__{name.upper()}", str(getattr(fleet.settings.objects, name)))
    watch = [sys.executable, "-m", "docfleet.cli.main", "watch", "long", "--pages", "--json"]
    with Client(fleet.settings) as client:
        # On the in-process broker a watcher hears everything from the beginning.
        client.submit(tmp_path / "long.pdf", document_id="long", options=Options(layout="fast", pages="2-"))
        output = tmp_path / "watched.jsonl"  # a pipe that nobody reads would hold the watcher up
        with output.open("wb") as file, subprocess.Popen(watch, stdout=file) as watcher:
            try:
                early, seen = 0, []
                for page in client.pages("long", timeout_s=90):
                    assert f"page {page.page.page_no} of" in page.blocks[0].text
                    seen.append(page.page.page_no)
                    progress = client.progress("long")
                    early += progress is None or progress.state == "open"
                assert client.wait("long", timeout_s=30).status == "success"
                assert watcher.wait(60) == 0
            finally:
                watcher.kill()
    told = [json.loads(line)["page"]["page_no"] for line in output.read_text().splitlines()]
    assert sorted(seen) == list(range(2, PAGES + 1)), "each once"
    assert sorted(told) == sorted(seen), "the watcher saw the same"
    assert early > PAGES // 3, f"{early} of {PAGES} pages came before the last was composed"
