"""Where the article's seconds went, and what this design makes of them: `./dev bench ascend_model [--cpu | --no-cpu] [--statistics DIR]`.

No NPU can be had here: a simulation (`benchmarks/lib/fleet_model.py`) of the article's 747 pages (`benchmarks/lib/article.py`), in four steps.
1. The article's first run, as it is described: one page, one region, one line after the other. Two parameters are fitted on its small-model
   run alone: seconds a page outside of reading, seconds of one detection call (its host work with it).
2. Its run with the VL model and the effect of each of its cures: predicted. Where the article says seconds, the error is stated.
3. This design on 1, 2, 4, 8 cards: seconds, bottleneck, and what they depend on.
4. The same simulation with this machine's CPU figures, measured per stage on small documents, against a run of the real fleet on a document
   that was not used for them. Wanted: within 20 %; else nothing above is to be believed.

What the article does not say of its document is taken from documents of our own (`PAGE`), not fitted. Exit code 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.lib import article, npu
from benchmarks.lib.fleet_cpu import Checked, check
from benchmarks.lib.fleet_model import Fleet, Outcome, Page, run
from benchmarks.lib.machine import Report, header
from benchmarks.lib.mixes import width


class Statistics(NamedTuple):
    """What a page holds."""

    regions: float
    """Regions with text to read, tables and seals aside."""
    lines: float
    vl: float
    """Tables and seals."""


PAGE = Statistics(regions=18.2, lines=85.0, vl=0.18)
"""Regions, tables and seals: means over the longer documents of this project's corpus (`--statistics`, of its parsed files). Lines: mean of
the 20 scanned pages of the reference measurement that `benchmarks/lib/mixes.py` names. The article says how many of nothing: with as many
tables as these documents have its VL run is not met, and to take as many as meet it would be a fit."""
HOST_S = 0.06
"""Core seconds a page outside of the networks: opening, decoding, cutting, normalising (`./dev bench breakdown`, scanned, AVX-512 machine,
without what the engine child computes around detection)."""
COMPOSE_S = 0.0045
"""Core seconds a page to compose (`./dev bench assembly`)."""
CARDS = (1, 2, 4, 8)
LEAST_PAGES = 3
"""Single pages of a corpus were chosen for what is on them; longer documents are more like the article's."""


class Fitted(NamedTuple):
    other_s: float
    """Seconds a page outside of reading: layout, merging, sections."""
    detection_s: float
    """Seconds of one detection call on one region, with its host work."""


def lines(pages: int, seed: int = 1) -> list[tuple[int, ...]]:
    """Widths of the lines of each page, pixels at the model's height."""
    generator = random.Random(seed)
    return [
        tuple(width("pages", generator) for _ in range(round(generator.uniform(0.4, 1.6) * PAGE.lines)))
        for _ in range(pages)
    ]


def alone_s(pages: list[tuple[int, ...]]) -> float:
    """Seconds of recognition with one line a call."""
    return sum(npu.seconds(1, width) for page in pages for width in page)


def batched_s(pages: list[tuple[int, ...]]) -> float:
    """Seconds of recognition in calls of the article's size, lines of all pages sorted by width."""
    every = sorted(width for page in pages for width in page)
    total, start = 0.0, 0
    while start < len(every):
        count = max(1, min(article.BATCH, article.BATCH_WIDTH // every[min(start + article.BATCH, len(every)) - 1]))
        chunk = every[start : start + count]
        total += npu.seconds(len(chunk), -(-chunk[-1] // 32) * 32)
        start += count
    return total


def fit(pages: list[tuple[int, ...]]) -> Fitted:
    """The two free parameters, from `SMALL_NPU_S` and `READING_SHARE`."""
    reading = article.SMALL_NPU_S * article.READING_SHARE
    calls = article.PAGES * (PAGE.regions + PAGE.vl)
    return Fitted((article.SMALL_NPU_S - reading) / article.PAGES, (reading - alone_s(pages)) / calls)


def first_run(report: Report, pages: list[tuple[int, ...]], fitted: Fitted) -> float:
    """Step 1 and 2; returns the error of the VL run, a share."""
    rec, batched = alone_s(pages), batched_s(pages)
    detection = article.PAGES * (PAGE.regions + PAGE.vl) * fitted.detection_s
    vl_regions = article.PAGES * PAGE.vl
    other = article.PAGES * fitted.other_s
    saved = vl_regions * fitted.detection_s
    report.say(
        "## The article's first run, small models: where 394 s went",
        "",
        f"fitted: {fitted.other_s * 1e3:.0f} ms a page outside of reading, {fitted.detection_s * 1e3:.0f} ms a detection call",
        f"taken from elsewhere: {PAGE.regions} regions, {PAGE.lines:g} lines, {PAGE.vl} tables and seals a page; "
        f"a line alone {rec / sum(map(len, pages)) * 1e3:.2f} ms (ModelZoo, 310P3)",
        "",
        "| part | s | share |",
        "|---|---|---|",
        *(
            f"| {name} | {s:.0f} | {s / article.SMALL_NPU_S:.0%} |"
            for name, s in (
                ("detection, a call a region", detection),
                ("recognition, a call a line", rec),
                ("layout and the rest", other),
            )
        ),
        "",
        "## Its run with the VL model, one request after the other: predicted",
        "",
    )
    found = {
        call_s: article.SMALL_NPU_S - saved + vl_regions * call_s
        for call_s in (*article.VL_CALL_S, sum(article.VL_CALL_S) / 2)
    }
    middle = found[sum(article.VL_CALL_S) / 2]
    error = middle / article.VL_NPU_S - 1
    report.say(
        f"{vl_regions:.0f} tables and seals of 2.5 to 3 s: {min(found.values()):.0f} to {max(found.values()):.0f} s, middle {middle:.0f} s; "
        f"the article: {article.VL_NPU_S:.0f} s; error {error:+.0%}",
        f"(the article's own two runs mean {(article.VL_NPU_S - article.SMALL_NPU_S) / 2.75:.0f} requests, "
        f"{(article.VL_NPU_S - article.SMALL_NPU_S) / 2.75 / article.PAGES:.2f} a page, if reading the tables small cost nothing)",
        f"{'ok    ' if abs(error) <= 0.10 else 'MISSED'} VL run within 10 %",
        "",
        "## Its cures, one after the other: predicted (the article has no seconds for them in its text)",
        "",
        "| cure | small models, s | with the VL model, s |",
        "|---|---|---|",
    )
    small, serial = article.SMALL_NPU_S, middle
    rows = [("none", small, serial)]
    small -= article.DIRECT_SHARE * detection
    rows.append(("direct recognition of 40 % of the regions", small, serial - (article.SMALL_NPU_S - small)))
    small -= rec - batched
    rows.append(("calls of 8 lines, sorted by width", small, serial - (article.SMALL_NPU_S - small)))
    vl = vl_regions * 2.75 / article.vl_gain(article.VL_IN_FLIGHT)
    rows.append((f"{article.VL_IN_FLIGHT} VL requests in flight", small, small - saved + vl))
    rows.append(("VL beside the small models", small, max(small - saved, other + vl)))
    slower = 1 + article.STATIC_MEMORY_COST
    rows.append(
        ("GE_USE_STATIC_MEMORY=3 (at most 2 % slower)", small * slower, max(small - saved, other + vl) * slower)
    )
    report.say(*(f"| {name} | {a:.0f} | {b:.0f} |" for name, a, b in rows), "")
    report.say(f"GPU, for comparison: {article.SMALL_GPU_S:.0f} s and {article.VL_GPU_S:.0f} s before any cure", "")
    return error


def design(pages: list[tuple[int, ...]], fitted: Fitted, *, vl: bool, fleet: Fleet) -> Outcome:
    """This design: detection once a page, lines of all pages in shared calls."""
    generator = random.Random(2)
    direct = 0.25  # pages whose regions are all direct never run the detector; taken low
    work = [
        Page(
            HOST_S,
            fitted.other_s + (0.0 if generator.random() < direct else fitted.detection_s),
            widths,
            (generator.random() < PAGE.vl) if vl else 0,
            COMPOSE_S,
        )
        for widths in pages
    ]
    return run(work, fleet)


def call_s(widths: object) -> float:
    """One recognition call on the published card, lines padded to the widest."""
    found = sorted(widths)  # type: ignore[call-overload]
    return npu.seconds(len(found), -(-found[-1] // 32) * 32)


def ours(report: Report, pages: list[tuple[int, ...]], fitted: Fitted) -> None:
    """Step 3."""
    report.say(
        "## This design, 747 pages as one document",
        "",
        "| cards | VL servers | seconds | pages/s | cards busy | cores busy | calls | bottleneck |",
        "|---|---|---|---|---|---|---|---|",
    )
    base = {"vl_call_s": 2.75, "vl_gain": article.vl_gain, "call_s": call_s}
    for vl in (False, True):
        for cards in CARDS:
            fleet = Fleet(cards=cards, layout_workers=2 * cards, rec_workers=cards, vl_servers=cards, **base)  # type: ignore[arg-type]
            found = design(pages, fitted, vl=vl, fleet=fleet)
            late = vl and found.vl_end_s > found.small_end_s * 1.02
            why = (
                "VL"
                if late
                else "card"
                if found.card_busy > 0.9
                else "core"
                if found.core_busy > 0.9
                else "the end of the document"
            )
            report.say(
                f"| {cards} | {cards if vl else '-'} | {found.seconds:.1f} | {article.PAGES / found.seconds:.1f} | {found.card_busy:.0%} "
                f"| {found.core_busy:.0%} | {found.calls} | {why} |"
            )
    report.say(
        "",
        "## What it depends on (one card, one VL server)",
        "",
        "| changed | small models, s | with the VL model, s |",
        "|---|---|---|",
    )
    for name, change in (
        ("as above", {}),
        ("1 line a call", {"batch": 1}),
        ("2 lines a call", {"batch": 2}),
        ("4 lines a call", {"batch": 4}),
        ("1 VL request in flight", {"vl_in_flight": 1}),
        ("8", {"vl_in_flight": 8}),
        ("64", {"vl_in_flight": 64}),
        ("100", {"vl_in_flight": 100}),
        ("window of 16 pages", {"window": 16}),
        ("4 cores", {"cores": 4}),
        ("1 layout worker", {"layout_workers": 1}),
    ):
        values = {"layout_workers": 2, **base, **change}
        small, large = (design(pages, fitted, vl=vl, fleet=Fleet(**values)).seconds for vl in (False, True))  # type: ignore[arg-type]
        report.say(f"| {name} | {small:.1f} | {large:.1f} |")
    report.say("")


def tell_cpu(report: Report, found: list[Checked]) -> bool:
    """Step 4; true when all are within 20 %."""
    report.say(
        "## The same simulation with this machine's CPU figures",
        "",
        "| document | pages | predicted, s | measured, s | error |",
        "|---|---|---|---|---|",
        *(
            f"| {one.name} | {one.pages} | {one.predicted_s:.1f} | {one.measured_s:.1f} | {one.error:+.0%} |"
            for one in found
        ),
        "",
        *(one.costs for one in found[:1]),
    )
    ok = all(abs(one.error) <= 0.20 for one in found)
    report.say(f"{'ok    ' if ok else 'MISSED'} the CPU run within 20 %", "")
    return ok


class Document(NamedTuple):
    """A parsed document and what its pages hold."""

    name: str
    pages: int
    regions: float
    """Regions with text to read, tables and seals aside, a page."""
    vl: float
    """Tables and seals, a page."""


def documents(folder: Path) -> list[Document]:
    """The parsed documents (`docfleet parse`) below a folder that have at least `LEAST_PAGES` pages."""
    found = []
    for file in sorted(folder.rglob("*.json")):
        parsed = json.loads(file.read_text(encoding="utf-8"))
        if "pages" not in parsed or not parsed.get("blocks") or len(parsed["pages"]) < LEAST_PAGES:
            continue
        count = len(parsed["pages"])
        labels = [block["label"] for block in parsed["blocks"] if block.get("content_layer", "body") == "body"]
        vl = sum(label in ("table", "seal") for label in labels)
        found.append(Document(file.stem, count, (len(labels) - vl) / count, vl / count))
    return found


def statistics(found: Sequence[Document]) -> Statistics:
    """Means a page, each document weighing by its pages up to 30."""
    weights = [min(30, document.pages) for document in found]

    def mean(values: Iterable[float]) -> float:
        return sum(weight * value for weight, value in zip(weights, values, strict=True)) / sum(weights)

    return Statistics(round(mean(one.regions for one in found), 1), PAGE.lines, round(mean(one.vl for one in found), 2))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--no-cpu", action="store_true", help="without the run on this machine (seconds instead of minutes)"
    )
    parser.add_argument("--quick", action="store_true", help="a shorter document on this machine")
    parser.add_argument("--statistics", type=Path, metavar="DIR", help="print what parsed documents hold, and end")
    parser.add_argument("--out", type=Path, help="file of the raw result")
    args = parser.parse_args()
    if args.statistics:
        found = documents(args.statistics)
        print(*found, statistics(found), sep="\n")
        return 0
    report = Report("ascend_model", quick=args.quick, out=args.out)
    report.say(*header("ascend_model", quick=args.quick, packages=("simpy",)), "", "A simulation: no NPU was used.", "")
    pages = lines(article.PAGES)
    fitted = fit(pages)
    error = first_run(report, pages, fitted)
    ours(report, pages, fitted)
    believed = args.no_cpu or tell_cpu(report, check(quick=args.quick))
    report.write()
    return 0 if believed and abs(error) <= 0.10 else 1


if __name__ == "__main__":
    sys.exit(main())
