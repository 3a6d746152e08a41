"""What the join costs: `./dev bench join [--quick] [--no-kafka]`.

Without a broker: CPU time and bytes appended an event for documents of 100, 1,000 and 5,000 pages (everything an event costs but the
network: decode, join, encode, tables, timers); bytes of memory an open page and an ended document. On Apache Kafka (Java 17 or newer, Maven):
events a second beside an empty Faust agent with one table write in the same run, and the seconds that recovering 100,000 ended documents
takes. Targets: cost an event flat within 20 % from 100 to 5,000 pages, rate at least 60 % of the empty agent. Exit code 1 when
one is missed.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
from pathlib import Path

import structlog

from benchmarks.lib.join_cost import cost, state_bytes
from benchmarks.lib.join_kafka import PAGES, empty_rate, join_rate, recovery
from benchmarks.lib.machine import Report, header
from tests.support.kafka import KafkaServer
from tests.support.processes import Missing

SIZES = (100, 1_000, 5_000)
SPREAD, SHARE = 0.20, 0.60


def without_broker(report: Report, quick: bool) -> bool:
    """Cost an event and memory; whether the cost is flat."""
    events, runs = (6_000, 1) if quick else (45_000, 5)
    cost(100, 3_000, 1)  # decoders are built at their first use
    report.say(f"{'pages':>7} {'CPU us/event':>13} {'bytes/event':>12} {'records/event':>14}")
    costs = [cost(pages, events, runs) for pages in SIZES]
    for one in costs:
        report.say(f"{one.pages:7d} {one.us:13.1f} {one.bytes:12.0f} {one.records:14.2f}")
    ratio = costs[-1].us / costs[0].us
    report.say(f"an event of 5,000 pages costs {ratio:.2f} times one of 100 pages (target 1 within {SPREAD:.0%})", "")
    count = 20_000 if quick else 200_000
    report.say(
        f"memory: {state_bytes('open', count):.0f} bytes an open page, {state_bytes('ended', count):.0f} an ended document",
        "",
    )
    return abs(ratio - 1) <= SPREAD


def on_kafka(report: Report, quick: bool) -> bool:
    """Rate and recovery; whether the rate is at least its share of the empty agent's."""
    documents, marks = (60, 10_000) if quick else (600, 100_000)
    with tempfile.TemporaryDirectory(prefix="docfleet-join-") as name, KafkaServer() as kafka:
        folder = Path(name)
        found = recovery(kafka, folder, marks)
        report.say(
            f"recovery: {found.marks_s - found.empty_s:.1f} s, {found.cpu_s:.1f} CPU s for {marks:,} ended documents "
            f"(the process starts in {found.empty_s:.1f} s)"
        )
        kafka.reset()
        rate = join_rate(kafka, folder, documents)
        empty = empty_rate(kafka, documents)
    report.say(
        f"rate: {rate:,.0f} events/s, an empty Faust agent with one table write {empty:,.0f}: {rate / empty:.0%} (target {SHARE:.0%}); "
        f"documents of {PAGES} pages"
    )
    return rate >= SHARE * empty


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few events, few documents")
    parser.add_argument("--no-kafka", action="store_true", help="only what needs no broker")
    parser.add_argument("--out", type=Path, help="file of the raw result")
    args = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    report = Report("join", quick=args.quick, out=args.out)
    packages = ("msgspec", "faust-streaming", "aiokafka", "confluent-kafka")
    report.say(*header("join", quick=args.quick, packages=packages), "")
    good = without_broker(report, args.quick)
    if not args.no_kafka:
        try:
            good &= on_kafka(report, args.quick)
        except Missing as missing:
            report.say(f"no figures on Apache Kafka: {missing}")
    report.write()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
