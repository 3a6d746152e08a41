"""Every file of a corpus through the fleet on Apache Kafka and an S3 server: `./dev bench corpus [FOLDER]`.

Prints, as JSON lines and then a summary: how each file ended, whether every page is listed, and where the outcome is not the one the
corpus's manifest.json expects. Fails (exit 1) when a file has no record, more than one, or a service died.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.fleet import Fleet
from tests.support.kafka import KafkaServer
from tests.support.s3 import S3Server

EXPECTED_CODES = {
    "encrypted": {"encrypted"},
    "corrupt": {"corrupt"},
    "empty": {"empty_file"},
    "too-large": {"too_large", "resource_limit"},
    "unsupported": {"unsupported_type"},
}


def outcome(record: dict) -> str:
    """`ok`, or the code of the first error."""
    if record["status"] in ("success", "partial_success"):
        return "ok"
    return record["errors"][0]["code"] if record["errors"] else record["status"]


def agrees(record: dict, truth: dict) -> bool:
    """Whether the outcome is one that the manifest allows."""
    allowed = [truth.get("expected", "ok"), *truth.get("also_acceptable", [])]
    got = outcome(record)
    return any(got == "ok" if want == "ok" else got in EXPECTED_CODES.get(want, {want}) for want in allowed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parents[2] / "shared" / "corpus")
    parser.add_argument("--seconds", type=float, default=1500, help="give up after this long")
    args = parser.parse_args()
    entries = json.loads((args.folder / "manifest.json").read_text())
    entries = entries["files"] if isinstance(entries, dict) else entries
    with tempfile.TemporaryDirectory() as scratch, KafkaServer() as kafka, S3Server() as s3:
        folder = Path(scratch)
        with Fleet(folder, kafka.bootstrap, s3.endpoint, s3.access_key, s3.secret_key) as fleet:
            fleet.start_all()
            started = time.monotonic()
            for entry in entries:
                fleet.upload(args.folder / entry["file"], entry["file"])
                fleet.submit(entry["id"], entry["file"])
            parsed = fleet.parsed(len(entries), seconds=args.seconds)
            elapsed = time.monotonic() - started
            dead = [service.part for service in fleet.services if service.process.poll() is not None]
            restarts = sum(
                float(line.rsplit(" ", 1)[1])
                for service in fleet.services
                if service.ready()
                for line in service.get("/metrics").splitlines()
                if line.startswith("docfleet_child_restarts_total{")
            )
            wrong = report(fleet, entries, parsed)
    print(
        f"{len(entries)} files in {elapsed:.0f} s; child processes replaced: {restarts:.0f}; services that died: {dead}"
    )
    return 1 if wrong or dead else 0


def report(fleet: Fleet, entries: list[dict], parsed: dict[str, list[dict]]) -> int:
    """Print what became of each file; the number of files without exactly one record or with pages missing."""
    wrong = 0
    states: Counter[str] = Counter()
    disagree: list[str] = []
    for entry in entries:
        records = parsed.get(entry["id"], [])
        if len(records) != 1:
            wrong += 1
            print(json.dumps({"file": entry["file"], "records": len(records)}))
            continue
        record = records[0]
        states[record["status"]] += 1
        pages = None
        if record["result"] is not None:
            document = json.loads(fleet.read(record["result"]))
            pages = len(document["pages"])
            if [page["page_no"] for page in document["pages"]] != list(range(1, pages + 1)):
                wrong += 1
        line = {"file": entry["file"], "status": record["status"], "outcome": outcome(record), "pages": pages}
        truth = entry.get("truth") or {}
        expected_pages = truth.get("expected_pages") or entry.get("pages")
        if not agrees(record, truth):
            disagree.append(f"{entry['file']}: {outcome(record)}, expected {truth.get('expected', 'ok')}")
        elif pages is not None and isinstance(expected_pages, int) and pages != expected_pages:
            disagree.append(f"{entry['file']}: {pages} pages, expected {expected_pages}")
        print(json.dumps(line))
    print(f"status: {dict(states)}; without exactly one whole record: {wrong}")
    print(f"disagree with the manifest ({len(disagree)}):")
    for text in disagree:
        print("  " + text)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
