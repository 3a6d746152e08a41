"""Single signs in a page's margins, which the line detector does not see: page numbers of one digit, `i`, `- 3 -`.

A text of one thin sign is a few pixels of what the detector is shown. In the margin, inside the page's columns and with white around, ink of
the size of a digit can hardly be anything else; dust is smaller, and where there is more of it nothing is made of it. Runs in the engine child
(OpenCV).
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import cv2
import numpy as np
from numpy.typing import NDArray

from services.layout_worker.boxes import Box, hull
from shared.models.pictures import darkest_of

BAND = 0.1
"""Share of the page's height, at the top and at the bottom, in which page numbers stand; the assembler's rule for a lone number has the same."""
EDGE = 0.015
"""Share of a side, from each edge, where ink is the scanner's."""
FEW = 4
"""Detected lines below which nobody knows how large print is on the page."""
CONTRAST = 35
"""Grey levels, of 255, by which ink is darker than the ground around it: grey page numbers on scans have 80 and more."""
LOW, HIGH = 0.3, 1.1
"""Height of a mark by the usual detected line's. A digit is 0.7 of its type, a line 1.3, and page numbers are set in 0.7 to 1 of the usual
type: 0.38 to 0.54; brackets are higher."""
WIDE = 3.0
"""Width of a mark at most, in heights of the usual line: `- 12 -` has 2.2."""
LEAST = 0.05
"""Height of a sign by the usual detected line's, below which it is dust: of a dash that is as thin as they are printed."""
WHITE = 0.8
"""Space between two signs, in heights of the usual line, below which they are one mark, or a mark is a piece of a detected line that was seen
in part: blanks in `- 3 -` have 0.3 to 0.5."""
LEAST_INK, MOST_INK = 0.08, 0.9
"""Share of ink in the box of a mark: of `- 1 -` a tenth, of `8` two thirds; a blot fills it, and so does a sign that is a stroke."""
STROKE = 0.6
"""Width by height of a sign up to which it is a stroke: `1`, `i`."""
MOST = 2
"""Marks of one margin from which on they are dirt."""
MOST_SIGNS = 400
"""Signs of one margin from which on it is a picture, or dirt."""
ROOM = 0.4
"""Paper left around a mark, by its height: detected lines of digits have as much."""


def find_marks(picture: NDArray[np.uint8], lines: Sequence[NDArray[np.float32]]) -> list[Box]:
    """Boxes `[x0, y0, x1, y1]` of marks in pixels of an RGB picture, uint8 (height, width, 3), top to bottom.

    `lines` are the quads `[4, 2]` of all detected lines: what they cover is known.
    """
    if len(lines) < FEW:
        return []
    usual = float(median(_across(quad) for quad in lines))
    height, width = picture.shape[:2]
    known = [[*quad.min(axis=0).tolist(), *quad.max(axis=0).tolist()] for quad in lines]
    left = max(EDGE * width, min(box[0] for box in known) - 2 * usual)
    right = min((1 - EDGE) * width, max(box[2] for box in known) + 2 * usual)
    if usual < 4 or right - left < 1:
        return []
    found = []
    for top, bottom in ((EDGE * height, BAND * height), ((1 - BAND) * height, (1 - EDGE) * height)):
        marks = _in_band(picture, [left, top, right, bottom], known, usual)
        found += marks if len(marks) <= MOST else []
    return found


def _across(quad: NDArray[np.float32]) -> float:
    return float(min(np.hypot(*(quad[1] - quad[0])), np.hypot(*(quad[3] - quad[0]))))


def _in_band(picture: NDArray[np.uint8], band: Box, known: Sequence[Box], usual: float) -> list[Box]:
    x0, y0, x1, y1 = (int(value) for value in band)
    part = picture[y0:y1, x0:x1]
    if not part.size:
        return []
    darkest = darkest_of(part)
    around = max(3, round(4 * usual))
    ground = cv2.blur(darkest, (around, around), borderType=cv2.BORDER_REPLICATE)
    ink = (cv2.subtract(ground, darkest) > CONTRAST).astype(np.uint8)
    count, _, stats, _ = cv2.connectedComponentsWithStats(ink, connectivity=8)
    signs = [
        [float(v) for v in (x, y, x + w, y + h)] for x, y, w, h, _ in stats[1:count].tolist() if h >= LEAST * usual
    ]
    if len(signs) > MOST_SIGNS:
        return []
    others = [[box[0] - x0, box[1] - y0, box[2] - x0, box[3] - y0] for box in known]
    size = (float(part.shape[1]), float(part.shape[0]))
    found = []
    for mark in _merged(signs, WHITE * usual):
        if _is_mark(mark, ink, size, usual) and not any(_meet(mark, other, WHITE * usual) for other in others):
            room = ROOM * (mark[3] - mark[1])
            found.append([mark[0] - room + x0, mark[1] - room + y0, mark[2] + room + x0, mark[3] + room + y0])
    return sorted(found, key=lambda box: (box[1], box[0]))


def _merged(boxes: Sequence[Box], room: float) -> list[Box]:
    """Boxes with all that are nearer than `room` joined, until none are."""
    out: list[Box] = []
    for box in boxes:
        near = [other for other in out if _meet(box, other, room)]
        while near:
            out = [other for other in out if other not in near]
            box = hull([box, *near])
            near = [other for other in out if _meet(box, other, room)]
        out.append(box)
    return out


def _is_mark(piece: Box, ink: NDArray[np.uint8], size: tuple[float, float], usual: float) -> bool:
    """Whether a piece of ink has the size of a short text and lies wholly in the band."""
    x0, y0, x1, y1 = piece
    if x0 <= 0 or y0 <= 0 or x1 >= size[0] or y1 >= size[1]:
        return False
    if not LOW * usual <= y1 - y0 <= HIGH * usual or x1 - x0 > WIDE * usual:
        return False
    share = float(ink[int(y0) : int(y1), int(x0) : int(x1)].mean())
    return share >= LEAST_INK and (share <= MOST_INK or x1 - x0 <= STROKE * (y1 - y0))


def _meet(one: Box, other: Box, room: float) -> bool:
    """Whether two boxes overlap when one is grown by `room`."""
    return (
        one[0] - room < other[2] and other[0] < one[2] + room and one[1] - room < other[3] and other[1] < one[3] + room
    )
