"""Dead letters of a real fleet, of every kind that can be repaired; repaired and sent again: each document is parsed once, none twice.

`DOCFLEET_DEAD_LETTERS=100` is the number of documents that is asked for; without it a fifth.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from collections import Counter
from typing import Any

import pytest

from tests.support.fleet import Fleet
from tests.support.pdfs import contents

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(600)]

COUNT = int(os.environ.get("DOCFLEET_DEAD_LETTERS", "20"))
LONG, HEAVY, TOLD, WIDE = COUNT * 3 // 10, COUNT // 10, COUNT // 10, COUNT // 10
GONE = COUNT - LONG - HEAVY - TOLD - WIDE
FAST = {"layout": "fast", "ocr": "off"}
BROKEN = {
    "DOCFLEET_LIMITS__MAX_PAGES": "2",
    "DOCFLEET_LIMITS__MAX_FILE_BYTES": "20000",
    "DOCFLEET_LIMITS__MAX_RECORD_BYTES": "20000",
}
REPAIRED = {"DOCFLEET_LIMITS__MAX_PAGES": "4"}


class Poisons:
    """Submits documents that die, and says what they were."""

    def __init__(self, fleet: Fleet, run: str) -> None:
        self.fleet, self.run = fleet, run
        self.sources: dict[str, bytes] = {}
        self.ids: list[str] = []
        self.told: list[str] = []

    def put(self, name: str, pages: int, padding: int = 0) -> str:
        """A source of its own content; its key."""
        data = contents([f"Page {page} of {name}" for page in range(pages)]) + b"\n%" + b"x" * padding
        key = f"{name}.pdf"
        self.sources[key] = data
        self.fleet.store.put_object("incoming", key, io.BytesIO(data), len(data))
        return key

    def names(self, kind: str, count: int) -> list[str]:
        found = [f"{kind}-{self.run}-{number}" for number in range(count)]
        self.ids += found
        return found

    def submit(self) -> None:
        """Four kinds that ingest does not take, and documents that it opens (`gone`)."""
        for name in self.names("long", LONG):
            self.fleet.submit(name, self.put(name, pages=3), options=FAST)
        for name in self.names("heavy", HEAVY):
            self.fleet.submit(name, self.put(name, pages=1, padding=30_000), options=FAST)
        for name in self.names("wide", WIDE):
            self.fleet.submit(name, self.put(name, pages=1), options=FAST, note="x" * 30_000)
        for name in self.names("gone", GONE):
            self.fleet.submit(name, self.put(name, pages=2), options=FAST)
        for number in range(TOLD):
            key = self.put(f"told-{self.run}-{number}", pages=1, padding=30_000)
            self.told.append(key)
            s3 = {"bucket": {"name": "incoming"}, "object": {"key": key, "eTag": self.etag(key)}}
            event = {"Records": [{"eventVersion": "2.1", "eventName": "ObjectCreated:Put", "s3": s3}]}
            self.fleet._producer.produce("docs.incoming", json.dumps(event).encode(), f"incoming/{key}".encode())
        self.fleet._producer.flush(30)

    def etag(self, key: str) -> str:
        return str(self.fleet.store.stat_object("incoming", key).etag)

    def gone(self) -> list[str]:
        return [name for name in self.ids if name.startswith("gone-")]

    def remove(self) -> None:
        """The sources of the documents that were opened vanish."""
        for name in self.gone():
            self.fleet.store.remove_object("incoming", f"{name}.pdf")

    def restore(self) -> None:
        """They are back, byte for byte."""
        for name in self.gone():
            data = self.sources[f"{name}.pdf"]
            self.fleet.store.put_object("incoming", f"{name}.pdf", io.BytesIO(data), len(data))


def lines(said: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.splitlines()]


def until(found: Any, wanted: Any, seconds: float = 90) -> None:
    """Wait until `found()` is `wanted`."""
    deadline = time.monotonic() + seconds
    while (now := found()) != wanted:
        assert time.monotonic() < deadline, f"{now} is not {wanted}"
        time.sleep(0.5)


def submitted(fleet: Fleet) -> int:
    return sum(len(fleet.records(t, 0, 10, 1)) for t in ("docs.incoming", "docs.incoming.bulk"))


def ends(fleet: Fleet, count: int) -> Counter[tuple[str, int, str]]:
    """Terminal records by key of the source, generation and status."""
    found = fleet.parsed(count, seconds=60 + 2 * COUNT, idle_s=4)
    return Counter((r["source"]["key"], r["generation"], r["status"]) for records in found.values() for r in records)


def test_what_died_is_repaired_and_sent_again_and_parsed_once(tmp_path, fresh_kafka, s3):
    keys = s3.access_key.get_secret_value(), s3.secret_key.get_secret_value()
    rule = {"name": "incoming", "bucket": "incoming", "options": FAST}
    rules = {"DOCFLEET_INGEST__RULES": json.dumps([rule])}
    with Fleet(tmp_path, fresh_kafka.bootstrap, s3.endpoint, *keys, **rules) as fleet:
        poisons = Poisons(fleet, f"{time.time_ns():x}")
        ingest = fleet.start("ingest", **BROKEN)
        fleet.start_all("join", "compose")
        fleet.wait_ready(ingest)
        poisons.submit()
        hopeless = f"hopeless-{poisons.run}"
        fleet.submit(hopeless, poisons.put(hopeless, pages=9), options=FAST)
        until(lambda: len(fleet.records("docs.pages", 2 * GONE, 60, 0.5)), 2 * GONE)
        poisons.remove()
        fleet.start_all("layout_worker")
        rejected = LONG + HEAVY + TOLD + 1
        first = ends(fleet, rejected + GONE)
        assert {status for _, _, status in first} == {"failure"}
        assert first.total() == len(first) == rejected + GONE

        listed = lines(fleet.run("dlq", "list", "--json"))
        assert Counter(one["code"] for one in listed) == {
            "too_large": rejected,
            "invalid_message": WIDE,
            "source_missing": 2 * GONE,
        }
        assert {one["state"] for one in listed} == {"open"}
        assert {one["document_id"] for one in listed if one["topic"] == "docs.pages"} == set(poisons.gone())
        assert len(lines(fleet.run("dlq", "list", "--json", "--topic", "docs.pages", "--code", "too_large"))) == 0

        ingest.terminate()
        fleet.wait_ready(fleet.start("ingest", **REPAIRED))
        poisons.restore()
        before = submitted(fleet)
        plan: list[dict[str, Any]] = []

        def actions() -> Counter[str]:
            plan[:] = lines(fleet.run("dlq", "replay", "--json"))
            return Counter(one["action"] for one in plan)

        until(actions, {"envelope": LONG + 1 + GONE, "with": GONE, "bytes": HEAVY + TOLD + WIDE})
        assert submitted(fleet) == before, "a dry run sends nothing"

        # Two people at once: the same letters ask for the same generations.
        command = [sys.executable, "-m", "docfleet.cli.main", "dlq", "replay", "--send"]
        both = [subprocess.Popen(command, env={**os.environ, **fleet.env}, stdout=subprocess.PIPE) for _ in range(2)]
        assert [process.wait(120) for process in both] == [0, 0]
        for process in both:
            assert process.stdout is not None
            process.stdout.close()

        last = ends(fleet, rejected + GONE + COUNT + 1)
        assert max(last.values()) == 1, "none twice"
        again = last - first
        assert again.pop((f"{hopeless}.pdf", 1, "failure")) == 1
        assert {status for _, _, status in again} == {"success"}
        names = {f"{name}.pdf" for name in poisons.ids} | set(poisons.told)
        assert {key for key, _, _ in again} == names
        assert again.total() == len(again) == len(names) == COUNT
        assert {generation for key, generation, _ in again if key.startswith("wide-")} == {0}
        assert {generation for key, generation, _ in again if not key.startswith("wide-")} == {1}

        # What failed again is marked, and not sent again by itself. It died once for each of the two who had sent it.
        failed = lines(fleet.run("dlq", "list", "--json"))
        assert {(one["document_id"], one["generation"], one["replays"]) for one in failed} == {(hopeless, 1, 1)}
        assert len(lines(fleet.run("dlq", "list", "--json", "--again"))) == len(failed)
        before = submitted(fleet)
        assert "0 to send again" in fleet.run("dlq", "replay", "--send")
        assert submitted(fleet) == before
        assert ", 1 to send again" in fleet.run("dlq", "replay", "--again")
        assert "letters dropped" in fleet.run("dlq", "drop", "--document", hopeless, "--send")
        assert fleet.run("dlq", "list", "--json") == ""
        shown = fleet.run("dlq", "show", failed[0]["letter"])
        assert "too_large" in shown
        assert "dropped" in shown
