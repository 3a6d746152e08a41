"""What tracing costs: `./dev bench tracing [--quick]`.

Three embedded fleets side by side, one without traces, one that traces a tenth of the documents (the default share), one that traces all.
They get the same documents in turns, in another order each round, and the CPU time of each fleet's processes during its turn is
compared: CPU and not wall time, because other work on the machine shows less in it. Documents are one native page (the cheapest
there is, so that the share of tracing is largest) and one scanned page in turn. Spans go to a simulated collector outside of what is
measured. Target: at most 3 % more CPU at 10 %. Exit code 1 when it is missed.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pymupdf

from benchmarks.lib.machine import ROOT, Report, header
from benchmarks.lib.processes import cpu_s
from benchmarks.lib.recpath import without_caches
from docfleet.client import Client
from docfleet.embedded import EmbeddedFleet
from docfleet.processes import Processes
from shared.contracts.options import Options
from tests.support.otlp import Collector

TARGET = 0.03
PATIENCE_S = 600.0
RATIOS = {"off": None, "10 %": 0.1, "100 %": 1.0}


class Side(NamedTuple):
    """A fleet under test."""

    client: Client
    root: int
    """Process id that all its services descend from."""


@contextmanager
def side(ratio: float | None, endpoint: str) -> Iterator[Side]:
    telemetry = (
        {"format": "text"} if ratio is None else {"format": "text", "otlp_endpoint": endpoint, "trace_ratio": ratio}
    )
    processes = Processes()
    with EmbeddedFleet(overrides={"rec": without_caches(), "telemetry": telemetry}, processes=processes) as fleet:
        # The client records nothing, so that ingest decides; it is not measured.
        settings = fleet.settings.model_copy(
            update={"telemetry": fleet.settings.telemetry.model_copy(update={"otlp_endpoint": None})}
        )
        with Client(settings) as client:
            yield Side(client, processes.pid)


def cost_of_a_span(count: int) -> float:
    """CPU seconds of this process for one span with the attributes of a record's, made, encoded and sent."""
    with Collector() as collector, tempfile.TemporaryDirectory() as folder:
        code = (
            "import sys, time; from shared.settings import Telemetry; from shared.streams.traced import about\n"
            "from shared.telemetry import spans, tracing\n"
            "spans.configure(Telemetry(otlp_endpoint=sys.argv[1], trace_ratio=1.0), 'rec_worker')\n"
            "def some(many):\n"
            "    for number in range(many):\n"
            "        trace = spans.decided(tracing.new())\n"
            "        spans.begin('process RecTask', trace.child(), trace, 'consumer', about(None, 'docs.rec', 3, number, 'g')).end()\n"
            "        if number % 1000 == 999: spans.flush()\n"
            "some(1000); began = time.process_time(); some(int(sys.argv[2])); spans.flush()\n"
            "print((time.process_time() - began) / int(sys.argv[2]))\n"
        )
        command = [sys.executable, "-c", code, collector.endpoint, str(count)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=ROOT, env={**os.environ, "TMPDIR": folder}
        )
        return float(done.stdout)


def one_page(source: Path, page: int, target: Path) -> Path:
    with pymupdf.open(source) as document:
        document.select([page])
        document.save(target)
    return target


def turn(fleet: Side, files: list[Path], number: int) -> float:
    """CPU seconds of the fleet for these documents. Each is a replay (generation above 0), which no cache answers."""
    before = cpu_s(fleet.root)
    submissions = [
        fleet.client.submit(path, generation=1, document_id=f"turn-{number}-{place}", options=Options())
        for place, path in enumerate(files)
    ]
    for submission in submissions:
        assert fleet.client.wait(submission.document_id, PATIENCE_S).status == "success"
    return cpu_s(fleet.root) - before


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="3 rounds of 6 documents")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--documents", type=int, default=20, help="of a round")
    parser.add_argument("--out", type=Path, help="file of the raw result")
    args = parser.parse_args()
    rounds, documents = (3, 6) if args.quick else (args.rounds, args.documents)
    report = Report("tracing", quick=args.quick, out=args.out)
    packages = ("opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http")
    report.say(*header("tracing", quick=args.quick, packages=packages), "")
    with tempfile.TemporaryDirectory(prefix="docfleet-tracing-") as folder, ExitStack() as stack:
        sample = ROOT / "samples" / "sample.pdf"
        kinds = [one_page(sample, 0, Path(folder) / "native.pdf"), one_page(sample, 2, Path(folder) / "scan.pdf")]
        files = [kinds[place % 2] for place in range(documents)]
        collector = stack.enter_context(Collector())
        sides = {name: stack.enter_context(side(ratio, collector.endpoint)) for name, ratio in RATIOS.items()}
        for fleet in sides.values():
            turn(fleet, files, 0)  # warm
        collector.spans.clear()
        spent: dict[str, list[float]] = {name: [] for name in sides}
        order = random.Random(1)
        for number in range(1, rounds + 1):
            for name in order.sample(sorted(sides), len(sides)):
                spent[name].append(turn(sides[name], files, number))
    pages = rounds * documents
    traced = len({span.trace_id for span in collector.spans})
    base = sum(spent["off"])
    report.say(
        f"{rounds} rounds of {documents} documents of one page, half native, half scanned",
        f"spans that arrived: {len(collector.spans)} of {traced} documents ({len(collector.spans) / max(1, traced):.1f} a document)",
        "",
        f"{'traced':>8} {'CPU ms/page':>12} {'more':>8} {'+- (standard error)':>20}",
    )
    more = {}
    for name, seconds in spent.items():
        ratios = [one / off - 1 for one, off in zip(seconds, spent["off"], strict=True)]
        error = statistics.stdev(ratios) / len(ratios) ** 0.5 if len(ratios) > 1 else float("nan")
        more[name] = sum(seconds) / base - 1
        report.say(f"{name:>8} {sum(seconds) / pages * 1e3:12.1f} {more[name]:8.2%} {error:20.2%}")
    span = cost_of_a_span(2_000 if args.quick else 10_000)
    each = len(collector.spans) / max(1, traced)
    report.say(
        "",
        f"a span costs {span * 1e6:.0f} us of CPU in its process, so by parts a traced page costs {each * span * 1e3:.1f} ms more, and 10 % of "
        f"them {0.1 * each * span * pages / base:.2%} of all CPU",
    )
    report.say("", f"at 10 %: {more['10 %']:.2%} more CPU (target {TARGET:.0%})")
    report.write()
    return 0 if more["10 %"] <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
