"""Ink that nothing explains: where it is looked for again, and when it is a picture."""

import numpy as np
import pytest

from services.layout_worker.engine.ink import ink_map, inked_part
from services.layout_worker.finding import unknown
from services.layout_worker.found import FoundLine
from services.layout_worker.regions import leftover
from services.layout_worker.regions.leftover import Ink
from shared.models.pictures import darkest_of

pytestmark = pytest.mark.unit

WIDTH, HEIGHT = 600.0, 800.0


def paper(*boxes, noise=0):
    picture = np.full((800, 600, 3), 245, dtype=np.uint8)
    for x0, y0, x1, y1 in boxes:
        for dy, dx in ((0, 0), (0, 1), (1, 0), (1, 1), (2, 3)):  # strokes of letters, none of them long
            picture[y0 + dy : y1 : 4, x0 + dx : x1 : 4] = 20
    return picture


def mapped(picture):
    return Ink(ink_map(darkest_of(picture)), 4.0, 4.0)


def test_known_ink_is_explained():
    ink = mapped(paper((100, 100, 300, 112), (100, 200, 130, 212)))
    assert leftover.clusters(ink, [[100, 100, 300, 112], [100, 200, 130, 212]]) == []
    (cluster,) = leftover.clusters(ink, [[100, 100, 300, 112]])
    assert cluster.bbox[0] <= 100
    assert cluster.bbox[3] >= 212


def test_rules_and_the_scanners_edge_are_no_ink():
    picture = paper()
    picture[400:402, 50:550] = 20
    picture[100:700, 300:302] = 20
    picture[:, :8] = 0
    assert leftover.clusters(mapped(picture), []) == []


def test_shadows_are_no_ink():
    picture = np.repeat(np.linspace(245, 90, 800).astype(np.uint8)[:, None, None], 600, axis=1).repeat(3, axis=2)
    assert leftover.clusters(mapped(np.ascontiguousarray(picture)), []) == []


def test_a_photograph_is_not_looked_at_again():
    noise = np.random.default_rng(7).integers(0, 255, (800, 600, 3)).astype(np.uint8)
    assert leftover.clusters(mapped(noise), []) == []


def test_places_are_few_and_do_not_meet():
    ink = mapped(paper(*((60 + 100 * c, 60 + 90 * r, 90 + 100 * c, 80 + 90 * r) for c in range(5) for r in range(8))))
    boxes = leftover.parts(leftover.clusters(ink, []), WIDTH, HEIGHT, 10.0)
    assert 0 < len(boxes) <= leftover.PARTS
    assert sum((b[2] - b[0]) * (b[3] - b[1]) for b in boxes) <= leftover.PART_AREA * WIDTH * HEIGHT


def test_large_ink_by_itself_is_a_picture():
    ink = mapped(paper((100, 300, 250, 420)))
    (box,) = leftover.figures(leftover.clusters(ink, []), [], WIDTH, HEIGHT)
    assert box == pytest.approx([100, 300, 250, 420], abs=8)
    assert leftover.figures(leftover.clusters(ink, []), [[90, 290, 200, 430]], WIDTH, HEIGHT) == []


def test_the_part_that_is_looked_at_for_orientation_holds_the_ink():
    picture = paper((100, 300, 250, 420))
    part = inked_part(picture, ink_map(darkest_of(picture)))
    assert part.shape[0] < 160
    assert part.shape[1] < 190
    assert inked_part(paper(), ink_map(darkest_of(paper()))).shape == (800, 600, 3)


def found(x0, y0, x1, y1):
    return FoundLine(quad=[x0, y0, x1, y0, x1, y1, x0, y1], score=0.9)


def test_a_line_seen_twice_is_one():
    known = [found(100, 100, 300, 120)]
    assert unknown([found(102, 101, 298, 119), found(100, 200, 120, 220), found(101, 201, 121, 221)], known) == [
        found(100, 200, 120, 220)
    ]
