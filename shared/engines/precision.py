"""Which precision OpenVINO computes faster in on this processor: `bf16` or `f32`.

That a processor has bfloat16 instructions does not say that they are fast. With AMX a core does seven times the products of f32. Without it,
on Intel processors, one unit takes them where two take f32, and every tensor is converted on top: on a Xeon of the fourth generation whose AMX
is hidden, reading a line takes 1.7 times as long in bf16, and finding lines 1.4 times (OpenVINO 2026.4). Processors with two such units gain.
So where the flags leave it open, a small product is timed in both: 0.07 s of CPU, when the engine is opened.
"""

from __future__ import annotations

import time
from typing import Literal

import numpy as np
import openvino
from openvino import opset8

from shared.engines.processor import has_amx, has_bf16

Precision = Literal["f32", "bf16"]

ROWS, SIDE = 256, 512
"""Of the matrices: 0.13 GFLOP, a millisecond in f32."""
ROUNDS = 5
GAIN = 1.15
"""How much faster bf16 must be: less is not worth its rounding, and could turn out otherwise in the next process."""


def fastest(core: openvino.Core) -> Precision:
    """The precision to compute in."""
    if has_amx():
        return "bf16"
    if not has_bf16():
        return "f32"
    return "bf16" if product_s(core, "f32") > GAIN * product_s(core, "bf16") else "f32"


def product_s(core: openvino.Core, precision: Precision) -> float:
    """Seconds of wall time a product of two matrices takes on one thread, the shortest of `ROUNDS`."""
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
    request.infer([rows], share_inputs=True)
    seconds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        request.infer([rows], share_inputs=True)
        seconds.append(time.perf_counter() - started)
    return min(seconds)
