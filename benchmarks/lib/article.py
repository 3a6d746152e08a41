"""Figures of the article this project began with, and the few public ones beside it that a model of its run needs. Nothing is measured here.

Source: 昇腾实战派, the move of a document parser (layout, PP-OCRv5, GLM-OCR) from a GPU to one Ascend NPU; 747 pages, one card, one process,
one page after the other, one region after the other. The article gives seconds for the first run on the NPU and for the GPU. What its cures
brought it shows in pictures and says in words ("obvious"); there are no seconds for it in the text, so a prediction of them has no error to
be stated.
"""

from __future__ import annotations

from itertools import pairwise

PAGES = 747
SMALL_NPU_S = 394.34
"""First run on the NPU, small models only. The one figure that free parameters are fitted on."""
SMALL_GPU_S = 287.93
VL_NPU_S = 1225.00
"""First run on the NPU with tables and seals sent to the VL model, one after the other. Predicted, never fitted."""
VL_GPU_S = 516.12
READING_SHARE = 0.87
"""Share of `SMALL_NPU_S` that went to detection and recognition of the regions."""
VL_CALL_S = (2.5, 3.0)
"""One table or seal in the VL model, alone; least and most."""
DIRECT_SHARE = 0.40
"""Regions whose detection the article's direct recognition saves."""
BATCH = 8
"""Lines a call, best of 2, 4 and 8 there."""
BATCH_WIDTH = 3200
"""Padded width of a call, pixels."""
VL_IN_FLIGHT = 32
STATIC_MEMORY_COST = 0.02
"""Upper bound of the latency that `GE_USE_STATIC_MEMORY=3` costs; memory fell from 8 GB to 2 GB."""

VL_TOKENS_PER_S = {1: 40.5, 4: 106.5, 8: 212.5, 32: 413.7, 64: 486.6, 100: 550.5}
"""Requests in flight to output tokens a second, DeepSeek-OCR-2 on one Ascend card (Ascend cann-recipes). How a server of this kind gains from
requests in flight; taken for GLM-OCR too, whose own curve is not published for this platform."""


def vl_gain(in_flight: float) -> float:
    """Throughput with so many requests in flight, relative to one: straight lines between the published points, flat beyond."""
    points = list(VL_TOKENS_PER_S.items())
    alone = points[0][1]
    for (low, low_speed), (high, high_speed) in pairwise(points):
        if in_flight <= high:
            return (low_speed + (max(in_flight, low) - low) * (high_speed - low_speed) / (high - low)) / alone
    return points[-1][1] / alone
