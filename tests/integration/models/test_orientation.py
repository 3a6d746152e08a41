"""Pages that look turned and are not, and pages of so little text that it is hard to say."""

from __future__ import annotations

import cv2
import numpy as np
import pymupdf
import pytest

from samples.generator import generate
from services.layout_worker.engine.ink import ink_map, inked_part
from services.layout_worker.engine.program import SURE_TURN
from shared.engines.engine import Engine
from shared.models.orientation import OrientationModel
from shared.models.pictures import darkest_of
from shared.settings import Settings

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def orientation(openvino: Engine, settings: Settings) -> OrientationModel:
    return OrientationModel(openvino, settings)


def glance(picture: np.ndarray, quarters: int) -> np.ndarray:
    """The inked part of a page turned counter-clockwise by so many quarters, as the layout stage looks at it."""
    turned = np.ascontiguousarray(np.rot90(picture, quarters))
    return inked_part(turned, ink_map(darkest_of(turned)))


def test_columns_of_characters_are_not_turned_wrongly(orientation: OrientationModel) -> None:
    surely = 0
    for made in generate(2350, 4, scan=True, templates=("vertical",)):
        if not made.truth.name.endswith("_scan"):
            continue
        with pymupdf.open(stream=made.pdf) as document:
            pixels = document[0].get_pixmap(dpi=68, alpha=False)  # 800 pixels high, as a glance is
        picture = np.frombuffer(pixels.samples, np.uint8).reshape(pixels.height, pixels.width, 3)
        for quarters in range(4):
            angle, confidence = orientation.angle(glance(picture, quarters))
            assert angle in (0, 90 * quarters) or confidence < SURE_TURN, "turned, and wrongly"
            surely += angle == 90 * quarters and confidence >= SURE_TURN
    assert surely >= 6, "one position in four at least is told"


@pytest.mark.parametrize("quarters", [0, 1, 2, 3])
def test_three_lines_at_the_edge_of_a_page_are_enough(orientation: OrientationModel, quarters: int) -> None:
    page = np.full((800, 566, 3), 250, dtype=np.uint8)
    for row, text in enumerate(("Three lines of large type are", "all that there is on this page,", "as on a cover")):
        cv2.putText(page, text, (70, 80 + 28 * row), cv2.FONT_HERSHEY_DUPLEX, 0.8, (20, 20, 20), 1, cv2.LINE_AA)
    assert orientation.angle(glance(page, quarters))[0] == 90 * quarters
