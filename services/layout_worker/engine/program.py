"""The engine child of the layout worker: looks at pictures, knows no document.

The layout network is warm before the first call. The line detector, which a document of native pages never needs, is opened and warmed
beside the first calls; who wants it earlier waits for it.
"""

from __future__ import annotations

import functools
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import cv2
import msgspec
import numpy as np
from numpy.typing import NDArray

from services.layout_worker.boxes import clipped, share_inside
from services.layout_worker.engine.ink import CELL, ink_map, ink_of, inked_part, is_bar, is_frame
from services.layout_worker.engine.marks import find_marks
from services.layout_worker.engine.rings import find_rings
from services.layout_worker.engine.seals import find_seals, red, washed
from services.layout_worker.engine.skew import skew_of, straightened
from services.layout_worker.found import (
    CompareRequest,
    Comparison,
    FoundBox,
    FoundLine,
    Lines,
    LinesRequest,
    Look,
    LookRequest,
)
from services.layout_worker.tables.gaps import find_gaps
from services.layout_worker.tables.strokes import find_strokes, slope_of
from services.layout_worker.trust.samples import SampleReader
from shared.children.block import Block
from shared.contracts.upright import Upright
from shared.engines.engine import Engine
from shared.engines.open import on_npu, open_engine
from shared.models import lines
from shared.models.install import installed
from shared.models.layout import LayoutBox, LayoutModel
from shared.models.lines import DetectedLine, LineDetector
from shared.models.orientation import OrientationModel
from shared.models.pictures import darkest_of, shrunk

if TYPE_CHECKING:
    from shared.settings import Settings

GLANCE = 800
"""Pixels of the long side on which seals and ink are looked for."""

SKEWED = 0.0175
"""Slope from which the layout network is shown a page turned level: a degree. Below that turning costs more sharpness than it gives (a scan
of 843 pixels at 0.7 degrees: two false pictures)."""
SURE_TURN = 0.75
"""Confidence from which a page is turned. On real and generated scans in four positions it is 0.84 to 0.93 and right, on a page of three lines
0.76 and more; on blank paper, drawings, single handwritten lines and doubtful columns of characters it is below 0.6."""
BLACK, BLACK_SHARE = 130, 0.12
"""Brightest channel, of 255, below which a pixel is black ink, and how much of it, by the red pixels, a seal's own text may have (blurred
crossings of strokes). Printed text under a stamp has half as much as the stamp and more."""

MARK = 0.5
"""Confidence of a line that no network saw: a sign in the margin is text until somebody has read it."""
LEAST_RED = 0.005
"""Share of red in a seal's box below which it is a black one: the thinnest red rings have 0.03."""


class Program:
    """Calls of the child; each blocks until its network has answered."""

    def __init__(self, settings: Settings) -> None:
        cv2.setNumThreads(1)  # calls are threads already; OpenCV's own would fight with the streams for the cores
        engine = open_engine(settings.engines)
        installed(settings.engines.models, lines.NAME)  # a model that is missing must show now, not at the first scan
        self._layout = LayoutModel(engine, settings)
        self._layout.warm()
        self._opener = ThreadPoolExecutor(1, thread_name_prefix="open-lines")
        self._orientation = self._opener.submit(_warm_orientation, engine, settings)
        self._lines = self._opener.submit(_warm_detector, engine, settings)
        self._open_samples = functools.cache(lambda: SampleReader(engine, settings))
        self._opening_samples = threading.Lock()
        if on_npu(settings.engines):
            self._orientation.result()
            self._lines.result()
            self._open_samples()

    def look(self, request: LookRequest, blocks: list[Block]) -> tuple[Look, list[Block]]:
        """Boxes of the layout network, seals and the amount of ink of a picture."""
        picture = blocks[0].array((request.height, request.width, 3))
        glance, scale = _glance(picture)
        darkest = darkest_of(glance)
        inked = ink_map(darkest)
        models = []
        if not request.upright:
            orientation = self._orientation.result()
            models.append(orientation.ref)
            turn, confidence = orientation.angle(inked_part(glance, inked))
            if turn and confidence >= SURE_TURN:
                return Look(boxes=[], seals=[], ink=0.0, turn=turn, models=models), []
        slope = skew_of(glance) if request.scan else 0.0
        boxes = self._boxes(picture, slope) if request.layout else []
        look = Look(
            boxes=[
                FoundBox(label=b.label, raw_label=b.raw_label, bbox=[float(v) for v in b.bbox], score=float(b.score))
                for b in boxes
            ],
            seals=[[value * scale for value in seal] for seal in _seals(glance, request.scan, detail=scale == 1.0)],
            ink=ink_of(darkest),
            slope=slope,
            ink_map=inked.tobytes(),
            ink_columns=inked.shape[1],
            ink_cell=CELL * scale,
            models=[*models, self._layout.ref] if request.layout else models,
        )
        return look, []

    def _boxes(self, picture: NDArray[np.uint8], slope: float) -> list[LayoutBox]:
        """Boxes of the layout network. It is shown a skewed page turned level (of a newspaper at 1.9 degrees it saw next to nothing)."""
        if abs(slope) < SKEWED:
            return self._layout.detect(picture)
        height, width = picture.shape[:2]
        frame = Upright(slope, width, height)
        return [
            msgspec.structs.replace(box, bbox=clipped(frame.back(box.bbox), width, height))
            for box in self._layout.detect(straightened(picture, slope))
        ]

    def lines(self, request: LinesRequest, blocks: list[Block]) -> tuple[Lines, list[Block]]:
        """Text lines of a full picture, or of parts of it, and rules of its tables."""
        picture = blocks[0].array((request.height, request.width, 3))
        detector = self._lines.result()
        clean = washed(picture, request.seals)
        detected = _in_parts(detector, clean, request) if request.parts else detector.detect(clean)
        grey = cv2.cvtColor(clean, cv2.COLOR_RGB2GRAY)
        found = [
            FoundLine(
                quad=(quad := [float(v) for v in line.quad.reshape(-1)]),
                score=float(line.score),
                red=_is_red(picture, quad, request.seals),
                gaps=find_gaps(grey, quad),
            )
            for line in detected
            if not is_bar(clean, line.quad) and not is_frame(clean, line.quad)
        ]
        if not request.parts:
            found += [_line_of_mark(box) for box in find_marks(clean, [line.quad for line in detected])]
        slope = slope_of([line.quad for line in found], request.slope)
        strokes = [find_strokes(picture, table, slope) for table in request.tables]
        return Lines(lines=found, strokes=[s for s in strokes if s is not None], models=[detector.ref]), []

    def compare(self, request: CompareRequest, blocks: list[Block]) -> tuple[Comparison, list[Block]]:
        """How like the picture a page's own text is; loads the recogniser at the first doubt."""
        picture = blocks[0].array((request.height, request.width, 3))
        with self._opening_samples:
            reader = self._open_samples()
        return Comparison(
            similarities=[reader.similarity(picture, one) for one in request.samples], model=reader.ref
        ), []


def _seals(glance: NDArray[np.uint8], scan: bool, detail: bool) -> list[list[float]]:
    """Boxes of red stamps and, on scans, of black ones."""
    seals = find_seals(glance, detail=detail)
    black = find_rings(glance) if scan else []
    return seals + [ring for ring in black if not any(share_inside(ring, seal) > 0.5 for seal in seals)]


def _in_parts(detector: LineDetector, picture: NDArray[np.uint8], request: LinesRequest) -> list[DetectedLine]:
    lines = []
    for x0, y0, x1, y1 in request.parts:
        left, top = max(0, int(x0)), max(0, int(y0))
        part = picture[top : int(y1) + 1, left : int(x1) + 1]
        height, width = part.shape[:2]
        wanted = [max(1, round(side * request.parts_scale)) for side in (width, height)]
        back = np.array([width / wanted[0], height / wanted[1]], dtype=np.float32)
        for line in detector.detect(shrunk(part, *wanted)):
            lines.append(DetectedLine(line.quad * back + np.array([left, top], dtype=np.float32), line.score))
    return lines


def _line_of_mark(box: list[float]) -> FoundLine:
    x0, y0, x1, y1 = (round(value, 1) for value in box)
    return FoundLine(quad=[x0, y0, x1, y0, x1, y1, x0, y1], score=MARK)


def _warm_orientation(engine: Engine, settings: Settings) -> OrientationModel:
    orientation = OrientationModel(engine, settings)
    orientation.warm()
    return orientation


def _warm_detector(engine: Engine, settings: Settings) -> LineDetector:
    detector = LineDetector(engine, settings)
    detector.warm()
    return detector


def create(settings: Settings) -> Program:
    """Factory of the child; loads the networks."""
    return Program(settings)


def _glance(picture: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], float]:
    """The picture at `GLANCE` pixels or less, and pixels of the picture per pixel of it: colour and ink need no more."""
    height, width = picture.shape[:2]
    scale = max(height, width) / GLANCE
    if scale <= 1:
        return picture, 1.0
    return shrunk(picture, max(1, round(width / scale)), max(1, round(height / scale))), scale


def _is_red(picture: NDArray[np.uint8], quad: list[float], seals: list[list[float]]) -> bool:
    """Whether a line lies in a seal and is the seal's own: red, without black letters under the red; in a black seal, any."""
    bbox = [min(quad[0::2]), min(quad[1::2]), max(quad[0::2]), max(quad[1::2])]
    over = next((seal for seal in seals if share_inside(bbox, seal) > 0.5), None)
    if over is None:
        return False
    part = _cut(picture, bbox)
    if part.size == 0:
        return False
    if red(_cut(picture, over)).mean() < LEAST_RED:
        return True
    black = int(np.count_nonzero(part.max(axis=2) < BLACK))
    return black < BLACK_SHARE * int(np.count_nonzero(red(part)))


def _cut(picture: NDArray[np.uint8], bbox: list[float]) -> NDArray[np.uint8]:
    height, width = picture.shape[:2]
    x0, y0 = max(0, int(bbox[0])), max(0, int(bbox[1]))
    return picture[y0 : min(height, int(bbox[3]) + 1), x0 : min(width, int(bbox[2]) + 1)]
