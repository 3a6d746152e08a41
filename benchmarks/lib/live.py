"""Messages of real lines through the rec_worker's `Inference` on a real engine, in real time."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from benchmarks.lib.simulation import quantile
from services.rec_worker.cascade import Cascade
from services.rec_worker.crops import Pixels
from services.rec_worker.inference import Inference
from shared.engines.engine import BatchProfile
from shared.models.reader import Reader


class Live(NamedTuple):
    """Figures of a run; latency is seconds from when a message's lines are handed in to the last text."""

    lines_per_s: float
    cpu_ms_per_line: float
    fill: float
    items: float
    latency_p50: float
    latency_p95: float


def messages_of(crops: Sequence[Pixels], fewest: int, most: int, seed: int = 1) -> list[list[Pixels]]:
    """All crops once, shuffled, in messages of `fewest` to `most` lines."""
    generator = random.Random(seed)
    shuffled = list(crops)
    generator.shuffle(shuffled)
    messages = []
    while shuffled:
        count = generator.randint(fewest, most)
        messages.append(shuffled[:count])
        del shuffled[:count]
    return messages


def run(
    messages: Sequence[Sequence[Pixels]],
    reader: Reader,
    profile: BatchProfile,
    *,
    linger_s: float,
    streams: int,
    in_flight: int,
) -> Live:
    """All messages through, `in_flight` of them at once."""
    reader.profile = profile
    inference = Inference(Cascade(reader, None, 0.0), profile, streams=streams, linger_s=linger_s)

    def one(number: int) -> float:
        started = time.monotonic()
        with inference.cutting():
            asked = [inference.submit(crop, document=str(number)) for crop in messages[number]]
        for future in asked:
            future.result()
        return time.monotonic() - started

    try:
        cpu, started = time.process_time(), time.monotonic()
        with ThreadPoolExecutor(in_flight) as pool:
            latencies = list(pool.map(one, range(len(messages))))
        wall, spent = time.monotonic() - started, time.process_time() - cpu
        facts = inference.facts()
    finally:
        inference.close()
    lines = sum(fact.items for fact in facts)
    return Live(
        lines / wall,
        spent / lines * 1e3,
        sum(fact.width for fact in facts) / sum(fact.items * fact.bucket for fact in facts),
        lines / len(facts),
        quantile(latencies, 0.5),
        quantile(latencies, 0.95),
    )
