"""What batches of many messages are worth, and what lingering costs: `./dev bench batching [--quick] [--only npu|cpu]`.

On a simulated NPU (`benchmarks/lib/npu.py`: a cost model of published figures; no NPU can be had here) the rec_worker's own batcher runs in
simulated time against each line alone, and against each message's lines by themselves (sorted by width, padded to the widest). Then the
same batcher reads real lines on the CPU engine of this machine, in real time.

Tables: policies over documents; messages in flight; linger by load; bounds of a batch; the CPU engine. A picture goes beside the text.
`added` is the time that 95 % of the lines stay below in waiting for company while the engine was free; it must stay below the linger.
Exit code 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.lib import bench, npu
from benchmarks.lib.machine import ROOT, Report, header
from benchmarks.lib.mixes import LINES, WIDTHS, Message, messages
from benchmarks.lib.simulation import Across, Arrivals, Outcome, PerMessage, alone, run
from benchmarks.peers import install
from shared.engines.engine import BatchProfile

SATURATED = 256
"""Messages in flight that keep the simulated engine busy with any policy."""
LINGERS_MS = (0, 2, 4, 10, 20, 50, 100)
LOADS = (0.1, 0.3, 0.6, 0.9)
"""Share of the batcher's own throughput that is offered."""
IN_FLIGHT = (1, 2, 4, 8, 16, 32, 64, 128, 256)
FILL_TARGET = 0.9
SPEED_TARGET = 2.5
FEW = ("labels", "1-2")
"""The documents of the target: one or two short lines. What more and longer lines give is in the same table."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer messages, and 60 real lines")
    parser.add_argument("--only", choices=("npu", "cpu"))
    parser.add_argument("--rounds", type=int, default=3, help="of the real engine")
    parser.add_argument("--pages", type=Path, default=bench.FOLDER, metavar="DIR", help="scans for the real engine")
    parser.add_argument("--out", type=Path, help="file of the raw result")
    args = parser.parse_args()
    report = Report("batching", quick=args.quick, out=args.out)
    report.say(*header("batching", quick=args.quick, packages=("openvino", "onnxruntime", "numpy")), "")
    missed = 0
    if args.only != "cpu":
        missed = simulated(report, 1_000 if args.quick else 4_000)
    if args.only != "npu":
        real(report, args.pages, 1 if args.quick else args.rounds, 60 if args.quick else 400)
    report.write()
    return 1 if missed and not args.quick else 0


# --- the simulated NPU ------------------------------------------------------------------------------------------------


def simulated(report: Report, count: int) -> int:
    """All tables of the simulator and the picture; the number of targets missed."""
    missed = policies(report, count)
    curves = in_flight(report, count)
    panels, late = lingers(report, count)
    bounds(report, count)
    draw(report, [curves, *panels])
    return missed + late


def across(messages_: Sequence[Message], profile: BatchProfile, linger_s: float, arrivals: Arrivals) -> Outcome:
    return run(messages_, arrivals, Across(profile, linger_s), npu.seconds)


def policies(report: Report, count: int) -> int:
    """Throughput of each policy, saturated; checks the target."""
    shapes = len(npu.gears(npu.GEARS))
    report.say(
        f"## Simulated NPU, {SATURATED} messages in flight: lines per second by policy",
        f"gears: {len({w for _, w in npu.gears(npu.GEARS)})} widths, {shapes} shapes (ATC takes {npu.MAX_GEARS} in one model); "
        f"at most {npu.MAX_ITEMS} lines and {npu.MAX_COST} px a call, as in the article; step 32: any multiple of 32 px",
        "",
        "| widths | lines a message | alone | per message | across, gears | x per message | x alone | fill | lines a call | "
        "across, step 32 | x per message | fill |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    )
    missed = 0
    for mix in WIDTHS:
        for lines in LINES:
            these = messages(max(50, count // 20) if lines == "70-100" else count, mix, lines)
            arrivals = Arrivals(in_flight=SATURATED)
            one = run(these, arrivals, alone(npu.STEP_32), npu.seconds)
            own = run(these, arrivals, PerMessage(npu.STEP_32), npu.seconds)
            all_ = across(these, npu.GEARS, 0.0, arrivals)
            fine = across(these, npu.STEP_32, 0.0, arrivals)
            times = all_.lines_per_s / own.lines_per_s
            report.say(
                f"| {mix} | {lines} | {one.lines_per_s:.0f} | {own.lines_per_s:.0f} | {all_.lines_per_s:.0f} | {times:.2f} | "
                f"{all_.lines_per_s / one.lines_per_s:.2f} | {all_.fill:.3f} | {all_.items:.2f} | {fine.lines_per_s:.0f} | "
                f"{fine.lines_per_s / own.lines_per_s:.2f} | {fine.fill:.3f} |"
            )
            if (mix, lines) == FEW:
                good = times >= SPEED_TARGET and all_.fill >= FILL_TARGET
                missed += not good
                verdict = f"{'ok    ' if good else 'MISSED'} {mix}, {lines} lines: {times:.2f} times per message, fill {all_.fill:.3f}"
    report.say("", f"{verdict} (wanted {SPEED_TARGET:g} and {FILL_TARGET:g})", "")
    return missed


def in_flight(report: Report, count: int) -> dict[str, Any]:
    """Throughput over messages in flight: what a worker's bound on them costs."""
    report.say(
        "## Simulated NPU: lines per second by messages in flight (forms, 1-4 lines a message; 20 ms to fetch a message)",
        "",
        "| in flight | alone | per message | across, no linger | across, 10 ms | lines a call | busy |",
        "|---|---|---|---|---|---|---|",
    )
    these = messages(count, "forms", "1-4")
    curves: dict[str, list[float]] = {
        "alone": [],
        "per message": [],
        "across, no linger": [],
        "across, linger 10 ms": [],
    }
    for number in IN_FLIGHT:
        arrivals = Arrivals(in_flight=number)
        outcomes = [
            run(these, arrivals, alone(npu.STEP_32), npu.seconds),
            run(these, arrivals, PerMessage(npu.STEP_32), npu.seconds),
            across(these, npu.GEARS, 0.0, arrivals),
            across(these, npu.GEARS, 0.010, arrivals),
        ]
        for values, outcome in zip(curves.values(), outcomes, strict=True):
            values.append(outcome.lines_per_s)
        speeds = " | ".join(f"{outcome.lines_per_s:.0f}" for outcome in outcomes)
        report.say(f"| {number} | {speeds} | {outcomes[2].items:.2f} | {outcomes[2].busy:.2f} |")
    report.say("")
    return {
        "title": "Simulated NPU: forms, 1-4 lines a message",
        "x": "messages in flight",
        "y": "lines per second",
        "log": True,
        "curves": [{"name": name, "x": IN_FLIGHT, "y": values} for name, values in curves.items()],
    }


def lingers(report: Report, count: int) -> tuple[list[dict[str, Any]], int]:
    """Latency and size of batches over linger and load; the number of runs whose added latency exceeds the linger."""
    report.say(
        "## Simulated NPU: linger (forms, 1-4 lines; messages come at random, at a share of the saturated throughput)",
        "",
        "| load | linger ms | p50 ms | p95 ms | added p95 ms | lines a call | fill | engine busy |",
        "|---|---|---|---|---|---|---|---|",
    )
    these = messages(count, "forms", "1-4")
    most = across(these, npu.GEARS, 0.0, Arrivals(in_flight=SATURATED)).messages_per_s
    late = 0
    latency: list[dict[str, Any]] = []
    busy: list[dict[str, Any]] = []
    for load in LOADS:
        generator = random.Random(7)
        times, now = [], 0.0
        for _ in these:
            now += generator.expovariate(load * most)
            times.append(now)
        outcomes = [across(these, npu.GEARS, linger / 1e3, Arrivals(times=times)) for linger in LINGERS_MS]
        for linger, found in zip(LINGERS_MS, outcomes, strict=True):
            late += found.added_p95 * 1e3 > linger + 1e-3  # rounding of sums
            report.say(
                f"| {load:.0%} | {linger} | {found.latency_p50 * 1e3:.1f} | {found.latency_p95 * 1e3:.1f} | {found.added_p95 * 1e3:.1f} | "
                f"{found.items:.2f} | {found.fill:.3f} | {found.busy:.2f} |"
            )
        name = f"load {load:.0%}"
        latency.append({"name": name, "x": LINGERS_MS, "y": [found.latency_p95 * 1e3 for found in outcomes]})
        busy.append({"name": name, "x": LINGERS_MS, "y": [found.busy * 100 for found in outcomes]})
    runs = len(LOADS) * len(LINGERS_MS)
    verdict = (
        f"{'MISSED' if late else 'ok    '} added latency (p95) at or under the linger in {runs - late} of {runs} runs"
    )
    report.say("", verdict, "")
    panels = [
        {"title": "What lingering costs", "x": "linger, ms", "y": "latency of a message, p95, ms", "curves": latency},
        {"title": "What lingering saves", "x": "linger, ms", "y": "engine busy, %", "curves": busy},
    ]
    return panels, late


def bounds(report: Report, count: int) -> None:
    """Throughput and latency over the bounds of a batch."""
    report.say(
        f"## Simulated NPU: bounds of a batch (step 32, 1-4 lines, {SATURATED} in flight): lines per second / p95 ms",
        "",
        "| widths | most px a call | 4 lines | 8 lines | 16 lines | 32 lines |",
        "|---|---|---|---|---|---|",
    )
    for mix in WIDTHS:
        these = messages(count, mix, "1-4")
        for cost in (1_600, 3_200, 6_400):
            cells = []
            for items in (4, 8, 16, 32):
                profile = msgspec.structs.replace(
                    npu.STEP_32, batches=((npu.MAX_COST, items),), max_items=items, max_cost=cost
                )
                found = across(these, profile, 0.0, Arrivals(in_flight=SATURATED))
                cells.append(f"{found.lines_per_s:.0f} / {found.latency_p95 * 1e3:.0f}")
            report.say(f"| {mix} | {cost} | {' | '.join(cells)} |")
    report.say("")


def draw(report: Report, panels: list[dict[str, Any]]) -> None:
    """The picture, beside the text."""
    target = report.path.with_suffix(".png")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        command = [str(install.python()), "-m", "benchmarks.peers.plot", str(target)]
        subprocess.run(command, input=json.dumps(panels), text=True, check=True, cwd=ROOT)
        report.say(f"picture: {target.name}", "")
    except (OSError, subprocess.CalledProcessError) as error:
        report.say(f"no picture: {error}", "")


# --- the engine of this machine ---------------------------------------------------------------------------------------


def real(report: Report, folder: Path, rounds: int, most: int) -> None:
    """Real lines on the CPU engine: its own profile, one line a call, and the NPU's bounds, over lingers; rounds in turns."""
    import statistics

    from benchmarks.lib import live
    from benchmarks.lib.crops import line_crops
    from shared.engines.open import open_engine
    from shared.models.reader import Reader
    from shared.settings import Settings

    settings = Settings()
    engine = open_engine(settings.engines)
    scans = [one.pdf for one in bench.documents(folder)] if folder.is_dir() else []
    crops = line_crops(scans or [ROOT / "samples" / "scan.pdf"], engine, settings)[:most]
    reader = Reader(engine, settings)
    own = engine.profile
    profiles = {
        "its own": own,
        "one line a call": msgspec.structs.replace(own, batches=(), max_items=1),
        "8 lines a call": msgspec.structs.replace(own, batches=((3_200, 8),), max_items=8, max_cost=25_600),
    }
    cases = [(name, linger) for name in profiles for linger in ((0, 4, 20, 100) if name == "its own" else (4,))]
    these = live.messages_of(crops, *LINES["1-4"])
    report.say(
        f"## {engine.name} {engine.precision}, {engine.streams} streams: {len(crops)} real lines in messages of 1-4, 16 in flight; "
        f"medians of {rounds} rounds after one that is not counted",
        "",
        "| profile | linger ms | lines/s | CPU ms a line | fill | lines a call | p50 ms | p95 ms |",
        "|---|---|---|---|---|---|---|---|",
    )
    found: dict[tuple[str, int], list[live.Live]] = {case: [] for case in cases}
    for number in range(rounds + 1):
        for name, linger in cases:
            outcome = live.run(
                these, reader, profiles[name], linger_s=linger / 1e3, streams=engine.streams, in_flight=16
            )
            if number:
                found[name, linger].append(outcome)
    for (name, linger), outcomes in found.items():
        median = live.Live(*(statistics.median(values) for values in zip(*outcomes, strict=True)))
        report.say(
            f"| {name} | {linger} | {median.lines_per_s:.1f} | {median.cpu_ms_per_line:.1f} | {median.fill:.3f} | {median.items:.2f} | "
            f"{median.latency_p50 * 1e3:.0f} | {median.latency_p95 * 1e3:.0f} |"
        )
    report.say("")


if __name__ == "__main__":
    sys.exit(main())
