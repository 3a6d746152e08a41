"""Real text lines to read: cut out of scans as the rec_worker cuts them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from benchmarks.lib.pictures import pictures
from services.rec_worker import crops
from services.rec_worker.crops import Pixels
from services.rec_worker.read import LineCrop
from shared.engines.engine import Engine
from shared.models.lines import LineDetector
from shared.models.reader import HEIGHT, SQUEEZE
from shared.settings import Settings


def line_crops(scans: Sequence[Path], engine: Engine, settings: Settings) -> list[Pixels]:
    """The lines of all pages of these PDF files, at the model's height, squeezed, in pieces where they are too wide."""
    detector = LineDetector(engine, settings)
    found: list[Pixels] = []
    with tempfile.TemporaryDirectory() as folder:
        for scan in scans:
            for file in pictures(scan, Path(folder)):
                picture = np.ascontiguousarray(cv2.imread(str(file))[:, :, ::-1])
                for line in detector.detect(picture):
                    crop = LineCrop.of(picture, line.quad)
                    upright = crop.upright(crop.turns[0])
                    found += [piece for piece, _ in crops.pieces(crops.scaled(upright, HEIGHT, SQUEEZE))]
    return found
