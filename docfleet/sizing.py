"""How many pods of each stage a load needs: `docfleet size`, and the table of docs/scaling.md.

One formula for every stage:

    pods = ceil(pages a day x peak / 86,400 / (pages a second of one pod x utilisation))

`peak` is the busiest hour by the mean, `utilisation` the share of a pod that is planned to be busy; what is left is room for a pod that
ends, a rollout, a backlog. Pure: nothing here asks a broker.

Where the costs come from is said at each of them. They are of one kind of processor and one set of pages: measure your own
(`./dev bench breakdown`, or docfleet_stage_seconds of a running fleet) and give them with `--cost`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import msgspec

DAY_S = 86_400
PARTITIONS = 12
"""Partitions of a topic (topics.yaml), the ceiling of useful pods, until `docfleet topics apply --partitions` raises it."""

Profile = Literal["cpu", "ascend"]


class Cost(msgspec.Struct, frozen=True):
    """What a page costs a stage. `seconds` is of one unit (a core, or a card) and page; a pod has `units` of them."""

    seconds: float
    unit: Literal["core", "card"]
    units: int
    memory_mib: int
    source: str

    def rate(self) -> float:
        """Pages a second of one pod that is always busy."""
        return self.units / self.seconds


class Stage(msgspec.Struct, frozen=True):
    """A stage of the answer. `rate` is pages a second of one busy pod, `busy` the share of the pods' time at the peak, 0..1."""

    name: str
    rate: float
    pods: int
    busy: float
    cores: int
    cards: int
    memory_mib: int
    source: str


class Sizing(msgspec.Struct, frozen=True):
    """The whole answer. Pages are a second, at the peak; `partitions` is what the topics need, at least the default."""

    pages_per_second: float
    stages: list[Stage]
    partitions: int
    model_servers: int
    notes: list[str]


CORE_GFLOPS = 171
"""The measured peak (f32) of the core that the next four are of, a Xeon with AVX-512 and without AMX. `./dev bench breakdown` prints yours;
a page costs about as many seconds more as that is lower: on three machines, of 89, 97 and 171, the product of both differed by a sixth
for scans and by a quarter for born-digital pages."""
_BREAKDOWN = f"benchmarks/results/breakdown.txt, for a core of {CORE_GFLOPS} GFLOP/s"
LAYOUT_SCANNED_S, READ_SCANNED_S = 0.45, 1.15
"""CPU seconds of a scanned page in layout_worker (layout, lines, opening, drawing) and in rec_worker (the rest)."""
LAYOUT_NATIVE_S, READ_NATIVE_S = 0.13, 0.15
"""The same of a born-digital page."""
COMPOSE_S = 0.0045
"""CPU seconds of a page in compose, its share of the document included (benchmarks/results/assembly.txt: 22.5 s for 5,000 pages)."""
JOIN_S = 2.33 / 2_071
"""Events of a page by events a second of one join (benchmarks/results/join.txt)."""
INGEST_S = 0.02
"""CPU seconds of a document of 20 pages in ingest: 0.4 s, taken, not measured; hashing and opening depend on its bytes."""
CARD_S = 394.34 / 747
"""Seconds of one Ascend card for a page, layout and reading without a vision-language model: the article's 747 pages in 394.34 s, one
process, before its cures (batches across elements, direct reading), which it gives no figure for as a whole."""
CARD_LAYOUT_SHARE = 0.13
"""Of these, layout and the rest: the article says that enrichment by OCR was 87 % of the time."""
TOKENS_PER_SECOND = 550.5
"""Of one model server with a hundred requests in flight: DeepSeek-OCR-2 on an Ascend card, the article's figure."""
VL_REGIONS_PER_SECOND = 9.3 / 0.381
"""Regions a second of one core of vl_worker (benchmarks/results/vl_concurrency.txt: 9.3 a second for 26.6 % and 11.5 % of a core)."""


def costs(profile: Profile, native_share: float) -> dict[str, Cost]:
    """What a page costs each stage. `native_share` of the pages, 0..1, have text of their own. Raises `ValueError`."""
    if not 0 <= native_share <= 1:
        raise ValueError("the share of born-digital pages is between 0 and 1")

    def mixed(scanned: float, native: float) -> float:
        return scanned * (1 - native_share) + native * native_share

    found = {
        "ingest": Cost(INGEST_S, "core", 1, 1_024, "taken, not measured"),
        "layout_worker": Cost(mixed(LAYOUT_SCANNED_S, LAYOUT_NATIVE_S), "core", 2, 4_096, _BREAKDOWN),
        "rec_worker": Cost(mixed(READ_SCANNED_S, READ_NATIVE_S), "core", 2, 3_072, _BREAKDOWN),
        "compose": Cost(COMPOSE_S, "core", 1, 2_048, "benchmarks/results/assembly.txt"),
        "join": Cost(JOIN_S, "core", 1, 1_024, "benchmarks/results/join.txt"),
    }
    if profile == "ascend":
        article = "the article's 747 pages in 394.34 s on one card, before its cures; not measured here"
        # A born-digital page is laid out like a scanned one, and hardly read.
        found["layout_worker"] = Cost(CARD_S * CARD_LAYOUT_SHARE, "card", 1, 8_192, article)
        read = CARD_S * (1 - CARD_LAYOUT_SHARE)
        found["rec_worker"] = Cost(mixed(read, read * READ_NATIVE_S / READ_SCANNED_S), "card", 1, 8_192, article)
    return found


def size(
    pages_per_day: float,
    profile: Profile,
    *,
    peak: float = 2.0,
    utilisation: float = 0.7,
    native_share: float = 0.0,
    vl_regions: float = 0.0,
    vl_tokens: float = 300.0,
    given: Mapping[str, float] | None = None,
) -> Sizing:
    """Pods of each stage for a load.

    `vl_regions` a page go to a vision-language model, with `vl_tokens` of answer each. `given` are pages a second of one pod by stage,
    measured by the user, in place of the built-in costs. Raises `ValueError` for what makes no sense.
    """
    if pages_per_day <= 0 or peak < 1 or not 0 < utilisation <= 1 or vl_regions < 0 or vl_tokens <= 0:
        raise ValueError(
            "pages a day above 0, a peak of 1 or more, a utilisation above 0 and up to 1, no negative regions"
        )
    known = costs(profile, native_share)
    if vl_regions:
        known["vl_worker"] = Cost(
            vl_regions / VL_REGIONS_PER_SECOND, "core", 1, 512, "benchmarks/results/vl_concurrency.txt"
        )
    if unknown := set(given or {}) - set(known):
        raise ValueError(f"there is no stage {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    load = pages_per_day * peak / DAY_S
    stages = []
    for name, cost in known.items():
        rate = (given or {}).get(name, cost.rate())
        if rate <= 0:
            raise ValueError(f"{name}: pages a second above 0")
        pods = max(1, math.ceil(load / (rate * utilisation)))
        cores = pods * (cost.units if cost.unit == "core" else 1)
        cards = pods * cost.units if cost.unit == "card" else 0
        source = "given" if name in (given or {}) else cost.source
        stages.append(Stage(name, rate, pods, load / (pods * rate), cores, cards, pods * cost.memory_mib, source))
    partitions = max([PARTITIONS, *(stage.pods for stage in stages)])
    servers = math.ceil(load * vl_regions * vl_tokens / (TOKENS_PER_SECOND * utilisation)) if vl_regions else 0
    return Sizing(load, stages, partitions, servers, _notes(stages, partitions))


def _notes(stages: list[Stage], partitions: int) -> list[str]:
    notes = []
    if partitions > PARTITIONS:
        most = max(stages, key=lambda stage: stage.pods).name
        notes.append(
            f"{most} needs more pods than topics have partitions: docfleet topics apply --partitions {partitions},"
            " before documents are open"
        )
    if alone := [stage.name for stage in stages if stage.pods == 1]:
        notes.append(f"one pod is enough of {', '.join(alone)}; two keep working while one is replaced")
    return notes


def values(sizing: Sizing, utilisation: float) -> str:
    """The answer as values of the Helm chart, autoscaling from one pod to what the peak needs."""
    lines = ["autoscaling: {method: keda}"]
    if sizing.partitions > PARTITIONS:
        lines.append(f"topics: {{partitions: {sizing.partitions}}}")
    lines.append("stages:")
    for stage in sizing.stages:
        if stage.name == "join":
            lines.append(f"  join: {{replicas: {stage.pods}}}")
            continue
        lines.append(f"  {stage.name}:")
        lines.append("    enabled: true")
        lines.append(
            f"    autoscaling: {{enabled: true, min: 1, max: {stage.pods}, pagesPerSecond: {stage.rate * utilisation:.3g}}}"
        )
    return "\n".join(lines) + "\n"
