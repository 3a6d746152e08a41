"""How lines are batched on each engine. Apart from the engines, so that a process that runs no network can know what its child will do."""

from __future__ import annotations

from shared.engines.engine import BatchProfile

OPENVINO = BatchProfile(
    width_step=64,
    batches=((192, 4), (640, 2), (3_200, 1)),
    max_items=16,
    max_cost=6_400,
    linger_ms=4.0,
    calls_per_stream=4,
)
"""Measured per width class (64 real lines, one thread, bf16): 4 lines a call up to 200 px saves 7 %, 2 up to 640 px saves 15 %, wider lines lose."""

ONNXRUNTIME = BatchProfile(
    width_step=64,
    steps=((256, 16), (640, 32)),
    batches=((128, 4), (3_200, 1)),
    max_items=16,
    max_cost=6_400,
    linger_ms=4.0,
    calls_per_stream=4,
)
"""Measured per width class (AVX2, f32, one thread, CPU time per pixel of width): 4 lines a call save 12 % at 64 px, 7 % at 128 px and 3 % at
192 px; 8 save 1 to 2 % more; from 320 px on a call of one line is the best. A call costs no compilation here, so narrow lines have
finer widths than OpenVINO gives them: 4 % of padding instead of 9 %."""

ASCEND = BatchProfile(
    width_step=320,
    steps=((320, 32), (640, 64), (1_280, 128)),
    batches=((400, 8), (800, 4), (1_600, 2), (3_200, 1)),
    max_items=8,
    max_cost=3_200,
    linger_ms=4.0,
    calls_per_stream=64,
)
"""For om files, whose shapes are fixed when they are made. Not measured here: 8 lines a call was the best of 2, 4 and 8, and 3,200 px of width in
a call the most, of a published case on one card. An om has at most 100 gears; these widths (32, 64, 128 and 320 px apart) and
batches of 1, 2, 4 and 8 lines make 74."""

PROFILES = {"openvino": OPENVINO, "onnxruntime": ONNXRUNTIME, "ascend": ASCEND, "cann": ASCEND}
"""By name of the engine."""
