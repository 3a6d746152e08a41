"""The whole fleet with its networks on an NPU, which is a double here: `./dev bench ascend_double [--memory [--pages 2000] [--without 200]]`.

No NPU can be had here. The double (`tests/support/aclruntime_double`, a simulator) runs the ONNX files on the CPU behind the names of the
runtime, takes the gears of an `om` only, and counts device memory: what a network holds, and, for shapes without gears, what the published
case lost with every new one. Times say nothing about a card. `docfleet fleet` runs on Apache Kafka and an S3 server.

Without `--memory`: all scans of the bench, on the double and on ONNX Runtime (f32, batches as on the NPU). Wanted: the same documents, every gear
warm before the first work, no call outside of the gears, no session failed, no partition lost.
With it: pages of all sizes (`benchmarks/lib/mixed_scans.py`). Wanted: with gears no session holds another amount than at its first work, over
`--pages` pages; without them (`GE_USE_STATIC_MEMORY=0`, no memory mark) each session whose shapes vary holds more in the end, over `--without`.
How much more is told and not judged: lines still come in steps of 16 to 64 px there, as on ONNX Runtime, so that the reader has some
40 widths to meet and not 3,000.
The double computes each shape once here and answers every later call of it the same: the text means nothing, and thousands of pages are affordable.
One document in ten of these is looked at by the layout network, which has one shape only and would cost most of the time.

The bench is a folder of scans (`*_scan.pdf`), `../shared/bench` unless given. Exit code 1 when something wanted is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.lib import mixed_scans, npu_calls
from benchmarks.lib.machine import ROOT, Report, header
from benchmarks.lib.npu_fleet import Running, ended, submit
from docfleet.differences import differences
from shared.contracts.document import ParsedDocument
from shared.models.install import install
from shared.settings import Settings
from tests.support.ascend import Card, build_all
from tests.support.fleet import Fleet
from tests.support.kafka import KafkaServer
from tests.support.processes import Missing
from tests.support.s3 import S3Server

BENCH = ROOT.parent / "shared" / "bench"
DOCUMENT = 50
"""Pages of a document of mixed sizes."""
ROUND = 100
"""Pages submitted at once; memory is told after each."""
LOOKED_AT = 10 * DOCUMENT
"""Pages from one document that the layout network looks at to the next."""
WITHOUT = 200
LOST = r'docfleet_rebalances_total\{event="lost"\}'
FAILED = r'docfleet_child_restarts_total\{child="npu-[^"]+",reason="(?:failed|died|stalled)"\}'
ON_DOUBLE = {"DOCFLEET_ENGINES__KIND": "ascend", "DOCFLEET_ENGINES__ASCEND_CALL_TIMEOUT_S": "300"}
"""The card of the double is a core that others use too: a call that takes longer than one of a card has not hung."""
FREE = {
    "DOCFLEET_ENGINES__PROFILE": "onnxruntime",
    "DOCFLEET_ENGINES__ASCEND_ENVIRONMENT": '{"GE_USE_STATIC_MEMORY": "0"}',
    "DOCFLEET_ENGINES__ASCEND_RECYCLE_BYTES": str(2**50),
}
"""Of a fleet without the cures."""


class Place:
    """Servers, models and card of a run."""

    def __init__(self, folder: Path, kafka: KafkaServer, s3: S3Server) -> None:
        self.folder = folder
        self._kafka = kafka
        self._s3 = s3
        self.installed = Settings().engines.models
        install(self.installed)

    @contextmanager
    def fleet(self, name: str) -> Iterator[Fleet]:
        """Of empty topics. Files of what runs on it are in a folder of this name."""
        folder = self.folder / name
        folder.mkdir()
        self._kafka.reset()
        key, secret = self._s3.access_key, self._s3.secret_key
        with Fleet(folder, self._kafka.bootstrap, self._s3.endpoint, key, secret) as fleet:
            yield fleet

    @contextmanager
    def on_double(
        self, name: str, plan: dict[str, str], *, gears: bool = True, **env: str
    ) -> Iterator[tuple[Fleet, Running, Card]]:
        """A fleet whose card is new, with a plan of `tests/support/aclruntime_double/device_double.py`."""
        card = Card(self.folder / f"{name}-card")
        card.plan(**plan)
        before = dict(os.environ)
        os.environ.update(card.environment())
        try:
            models = build_all(self.installed, self.folder / f"{name}-models", gears=gears)
            env = {**ON_DOUBLE, "DOCFLEET_ENGINES__MODELS": str(models), **env}
            with self.fleet(name) as fleet, Running(fleet, "fleet", **env) as running:
                yield fleet, running, card
        finally:
            os.environ.clear()
            os.environ.update(before)


def parse(fleet: Fleet, paths: list[Path], run: str) -> list[ParsedDocument]:
    """Each file's document, in order."""
    for path in paths:
        submit(fleet, path, f"{run}-{path.stem}")
    found = ended(fleet, len(paths), 1_800)
    documents = [document for path in paths if (document := found.get(f"{run}-{path.stem}")) is not None]
    assert len(documents) == len(paths), (
        f"no result: {[path.name for path in paths if not found.get(f'{run}-{path.stem}')]}"
    )
    return documents


def text(report: Report, place: Place, bench: Path) -> bool:
    """The bench on both; whether all that is wanted is so."""
    paths = sorted(bench.glob("*_scan.pdf"))
    assert paths, f"no scans in {bench}"
    with place.on_double("text", {}) as (fleet, running, card):
        on_npu = parse(fleet, paths, "npu")
        lost, failed = running.count(LOST), running.count(FAILED)
        sessions = npu_calls.sessions(card.calls(), npu_calls.gears())
    env = {"DOCFLEET_ENGINES__KIND": "onnxruntime", "DOCFLEET_ENGINES__PROFILE": "ascend"}
    with place.fleet("cpu") as fleet, Running(fleet, "fleet", **env):
        on_cpu = parse(fleet, paths, "cpu")
    report.say(
        "## Text",
        "",
        "| scan | status | pages | blocks | characters | pages that differ |",
        "|---|---|---|---|---|---|",
    )
    same = True
    for path, one, other in zip(paths, on_npu, on_cpu, strict=True):
        found = differences(other, one)
        equal = not found.any and [b.text for b in one.blocks] == [b.text for b in other.blocks]
        same = same and equal and one.status == "success"
        characters = sum(len(block.text) for block in one.blocks)
        report.say(
            f"| {path.name} | {one.status} | {len(one.pages)} | {len(one.blocks)} | {characters} | {len(found.pages) or ('' if equal else 'text')} |"
        )
        for page in found.pages:
            for block in page.blocks:
                words = " ".join(f"{kind}{word}" for kind, word in block.text if kind != "=")
                report.say(f"    page {page.page_no}: {block.kind} {block.label} {words:.200}")
    report.say("")
    told(report, sessions)
    warm = all(session.warm == session.gears for session in sessions)
    outside = sum(session.outside for session in sessions)
    return all(
        [
            verdict(report, same, "the same documents as on ONNX Runtime"),
            verdict(report, warm, "every gear ran before the first work of its session"),
            verdict(report, outside == 0, f"{outside} calls outside of the gears"),
            verdict(report, failed == 0, f"{failed} sessions failed"),
            verdict(report, lost == 0, f"{lost} partitions lost"),
        ]
    )


def told(report: Report, sessions: list[npu_calls.Session]) -> None:
    """The table of sessions."""
    report.say(
        "| network | sessions | gears warm | calls | shapes | MB at the first work | most | at the end |",
        "|---|---|---|---|---|---|---|---|",
    )
    for model in sorted({session.model for session in sessions}):
        own = [session for session in sessions if session.model == model]
        least = min(session.warm for session in own)
        sizes = [max(getattr(session, name) for session in own) / 1e6 for name in ("first", "most", "last")]
        report.say(
            f"| {model.rsplit('-', 2)[0]} | {len(own)} | {least} of {own[0].gears} | {sum(session.work for session in own)} "
            f"| {max(session.shapes for session in own)} | {sizes[0]:.0f} | {sizes[1]:.0f} | {sizes[2]:.0f} |"
        )
    report.say("")


def many(report: Report, fleet: Fleet, card: Card, pages: int, minutes: float) -> int:
    """Parse mixed pages in rounds, and tell memory after each; pages of documents that succeeded when they, or the minutes, were over."""
    limit = time.monotonic() + 60 * minutes
    names: list[str] = []
    good = 0
    report.say(
        "| pages | pages of documents that succeeded | device MB by network, the largest session | seconds |",
        "|---|---|---|---|",
    )
    began = time.monotonic()
    for begin in range(0, pages, ROUND):
        for first in range(begin, min(begin + ROUND, pages), DOCUMENT):
            path = fleet.folder / "mixed.pdf"
            mixed_scans.write(path, first, min(DOCUMENT, pages - first))
            names.append(f"{fleet.folder.name}-{first:05d}")  # the store still holds what an earlier fleet made
            submit(fleet, path, names[-1], layout="fast" if first % LOOKED_AT else "auto")
        found = ended(fleet, len(names), max(1.0, limit - time.monotonic()))
        good = sum(len(one.pages) for one in found.values() if one is not None and one.status == "success")
        held: Counter[str] = Counter()
        for session in npu_calls.sessions(card.calls(), npu_calls.gears()):
            held[session.model.rsplit("-", 2)[0]] = max(held[session.model.rsplit("-", 2)[0]], session.last)
        sizes = ", ".join(f"{name} {size / 1e6:.0f}" for name, size in sorted(held.items()) if size)
        report.say(f"| {min(begin + ROUND, pages)} | {good} | {sizes} | {time.monotonic() - began:.0f} |")
        if len(found) < len(names):
            break
    report.say("")
    return good


def with_gears(report: Report, place: Place, pages: int, minutes: float) -> bool:
    """Mixed pages, with gears; whether all that is wanted is so."""
    report.say("## Device memory over pages of all sizes, with gears", "")
    with place.on_double("gears", {"answers": "first"}) as (fleet, running, card):
        good = many(report, fleet, card, pages, minutes)
        failed = running.count(FAILED)
        sessions = npu_calls.sessions(card.calls(), npu_calls.gears())
    told(report, sessions)
    outside = sum(session.outside for session in sessions)
    return all(
        [
            verdict(report, good == pages, f"{good} of {pages} pages in documents that succeeded"),
            verdict(report, npu_calls.flat(sessions), "no session holds another amount than at its first work"),
            verdict(report, outside == 0, f"{outside} calls outside of the gears"),
            verdict(report, failed == 0, f"{failed} sessions failed"),
        ]
    )


def without_gears(report: Report, place: Place, pages: int, minutes: float) -> bool:
    """Mixed pages without the cures; whether the fault that they cure is there."""
    report.say("", "## The same without gears, static memory and the memory mark", "")
    with place.on_double("free", {"answers": "first"}, gears=False, **FREE) as (fleet, _, card):
        good = many(report, fleet, card, pages, minutes)
        sessions = npu_calls.sessions(card.calls(), npu_calls.gears())
    told(report, sessions)
    times = npu_calls.grown(sessions)
    said = ", ".join(f"{name.rsplit('-', 2)[0]} {number:.1f}" for name, number in sorted(times.items()))
    return all(
        [
            verdict(report, good == pages, f"{good} of {pages} pages in documents that succeeded"),
            verdict(
                report,
                bool(times) and min(times.values()) > 1.0,
                f"every network of several shapes holds more than at its first work, times as much: {said}",
            ),
        ]
    )


def verdict(report: Report, good: bool, what: str) -> bool:
    report.say(f"{'ok    ' if good else 'MISSED'} {what}")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memory", action="store_true", help="pages of all sizes in place of the bench")
    parser.add_argument("--pages", type=int, default=2_000, help="of mixed sizes, with gears; 0 leaves that run out")
    parser.add_argument("--without", type=int, default=WITHOUT, help="pages without gears; 0 leaves that run out")
    parser.add_argument("--minutes", type=float, default=240.0, help="that each run of mixed pages may take")
    parser.add_argument("--bench", type=Path, default=BENCH, metavar="DIR", help="the scans")
    parser.add_argument("--quick", action="store_true", help="100 pages of mixed sizes, and as many without gears")
    parser.add_argument("--out", type=Path, help="file of the raw result")
    args = parser.parse_args()
    pages, without = (min(100, args.pages), min(100, args.without)) if args.quick else (args.pages, args.without)
    name = "ascend_double_memory" if args.memory else "ascend_double"
    report = Report(name, quick=args.quick, out=args.out)
    report.say(*header(name, quick=args.quick, packages=("onnxruntime", "numpy", "confluent-kafka")))
    report.say("", "A simulator of the runtime: no NPU was used, and times say nothing about one.", "")
    good = False
    try:
        with (
            tempfile.TemporaryDirectory(prefix="docfleet-double-") as folder,
            KafkaServer() as kafka,
            S3Server() as s3,
        ):
            place = Place(Path(folder), kafka, s3)
            if not args.memory:
                good = text(report, place, args.bench)
            else:
                good = pages == 0 or with_gears(report, place, pages, args.minutes)
                if without:
                    good = without_gears(report, place, without, args.minutes) and good
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 2
    finally:
        report.write()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
