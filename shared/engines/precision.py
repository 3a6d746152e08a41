"""Which precision OpenVINO computes faster in on this processor: `bf16` or `f32`.

That a processor has bfloat16 instructions does not say that they are fast. With AMX a core does seven times the products of f32. Without it,
on Intel processors, one unit takes them where two take f32, and every tensor is converted on top: on a Xeon of the fourth generation whose AMX
is hidden, reading a line takes 1.7 times as long in bf16, and finding lines 1.4 times (OpenVINO 2026.4). Processors with two such units gain.
So where the flags leave it open, a small product is timed in both: 0.09 s of CPU, when the engine is opened. The two take turns,
so that a slow spell of the machine hits both: timed one after the other beside other work, a process once took bf16 although it is half as fast.
And it is processor time that is compared: by the clock on the wall, at a load of 25 on two cores, the ratio lay between 0.14 and 0.94 or above the
mark, so that two workers computed differently and read a line differently; in processor time it lay between 0.56 and 0.85.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

import numpy as np
import openvino
from openvino import opset8

from shared.engines.processor import has_amx, has_bf16

Precision = Literal["f32", "bf16"]

ROWS, SIDE = 256, 512
"""Of the matrices: 0.13 GFLOP, a millisecond in f32."""
ROUNDS = 12
GAIN = 1.15
"""How much faster bf16 must be: less is not worth its rounding, and could turn out otherwise in the next process."""


def fastest(core: openvino.Core) -> Precision:
    """The precision to compute in."""
    if has_amx():
        return "bf16"
    if not has_bf16():
        return "f32"
    return "bf16" if gain(product(core, "f32"), product(core, "bf16")) > GAIN else "f32"


def gain(
    one: Callable[[], object], other: Callable[[], object], clock: Callable[[], float] = time.process_time
) -> float:
    """How many times as long `one` takes as `other`, in seconds of processor time of this process: each is called once in each of `ROUNDS`,
    and its shortest time counts."""
    seconds = []
    for _ in range(ROUNDS):
        started = clock()
        one()
        between = clock()
        other()
        seconds.append((between - started, clock() - between))
    return min(first for first, _ in seconds) / max(1e-9, min(second for _, second in seconds))


def product(core: openvino.Core, precision: Precision) -> Callable[[], object]:
    """A product of two matrices on one thread in this precision, called once already."""
    given = opset8.parameter([ROWS, SIDE], np.float32)
    weights = opset8.constant(np.full((SIDE, SIDE), 1 / SIDE, np.float32))
    model = openvino.Model([opset8.matmul(given, weights, False, False)], [given])
    config = {
        "INFERENCE_PRECISION_HINT": precision,
        "INFERENCE_NUM_THREADS": 1,
        "NUM_STREAMS": 1,
        "ENABLE_CPU_PINNING": False,
    }
    request = core.compile_model(model, "CPU", config).create_infer_request()
    rows = np.full((ROWS, SIDE), 0.5, np.float32)

    def run() -> object:
        return request.infer([rows], share_inputs=True)

    run()
    return run
