"""What a call of a recogniser costs on an NPU: a model made of published figures, because no NPU can be had here. A simulator, not a measurement.

Source of the figures: Huawei's ModelZoo-PyTorch, ch_PP-OCRv3_rec on one Ascend 310P3, lines per second by batch size at a width of 320 px.
The article this project goes by agrees in what follows from them: on its card 8 lines a call were the best of 2, 4 and 8.

What is assumed beyond them: the time of a call depends on its padded pixels alone (half as many lines of double width cost the same; on the
CPU the work was counted to be linear in width), pictures and results travel within the measured time, and changing the gear is free.
One call runs at a time: a session of `ais_bench` is not re-entrant.
"""

from __future__ import annotations

from itertools import pairwise

from shared.engines.engine import BatchProfile

WIDTH = 320
"""Pixels of width at which the lines per second were measured."""
LINES_PER_S = {1: 1_547.0, 4: 3_639.0, 8: 4_499.0, 16: 4_845.0, 32: 4_293.0, 64: 4_153.0}
"""Batch size to lines per second at `WIDTH`."""
MAX_ITEMS = 8
"""Lines per call in the article, the best of 2, 4 and 8."""
MAX_COST = 3_200
"""Padded width of a call in the article, pixels."""
MAX_GEARS = 100
"""Shapes that ATC compiles into one model (CANN 9.0 documentation of `--dynamic_dims`)."""


def seconds(items: int, bucket: int) -> float:
    """Time of one call with `items` lines padded to `bucket` pixels: the measured points, straight lines between and beyond them."""
    points = [(float(batch), batch / speed) for batch, speed in LINES_PER_S.items()]
    work = items * bucket / WIDTH
    for (low, low_s), (high, high_s) in pairwise(points):
        if work <= high or (high, high_s) == points[-1]:
            return low_s + (work - low) * (high_s - low_s) / (high - low)
    raise AssertionError


STEP_32 = BatchProfile(
    width_step=32,
    batches=((MAX_COST, MAX_ITEMS),),
    max_items=MAX_ITEMS,
    max_cost=MAX_COST,
    linger_ms=10.0,
    calls_per_stream=64,
)
"""The article's widths: every 32 px, as a model with free shapes (`--input_shape_range`) takes them."""

GEARS = BatchProfile(
    width_step=256,
    steps=((128, 16), (384, 32), (640, 64)),
    batches=((MAX_COST, MAX_ITEMS),),
    max_items=MAX_ITEMS,
    max_cost=MAX_COST,
    linger_ms=10.0,
    calls_per_stream=64,
)
"""Widths for a model with gears: finer where lines are narrow and padding is a larger share; 24 widths in 1, 2, 4 or 8 lines."""


def gears(profile: BatchProfile) -> list[tuple[int, int]]:
    """`(lines, width)` of every call that can occur with this profile, up to `MAX_COST` wide."""
    widths = sorted({profile.bucket(width) for width in range(1, MAX_COST + 1)})
    found = []
    for width in widths:
        room = max(1, min(profile.items(width), profile.max_items, profile.max_cost // width))
        sizes = {room, *(1 << power for power in range(room.bit_length()) if 1 << power <= room)}
        found += [(size, width) for size in sorted(sizes)]
    return found
