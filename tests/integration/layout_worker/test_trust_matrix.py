"""What of a page's own text is used, what is read, and what is kept apart: decided rightly on every page of `trust_pages`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from services.layout_worker.alone import Alone
from shared.contracts.codec import encode
from shared.contracts.layout import PageLayout
from shared.contracts.options import Options
from shared.models.install import install
from shared.settings import Settings
from tests.support.networks import LAYOUT
from tests.support.trust_pages import CASES, SIZE, Case, Line, Truth

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

FAST = Options(layout="fast")
"""The network has no say in trust, so it is left out."""
AGAIN = 5
"""Every so many pages are laid out twice."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def alone():
    settings = Settings()
    install(settings.engines.models, LAYOUT)
    async with Alone(settings) as opened:
        yield opened


def squeezed(text: str) -> str:
    return "".join(text.split())


def texts(layout: PageLayout) -> Counter[str]:
    return Counter(squeezed(line.text) for region in layout.regions for line in region.lines if line.text is not None)


def to_read(layout: PageLayout) -> list[list[float]]:
    return [line.bbox for region in layout.regions for line in region.lines if line.text is None] + [
        region.bbox for region in layout.regions if region.direct
    ]


def check(layout: PageLayout, truth: Truth) -> None:
    reasons = "; ".join(layout.kind_reason)
    assert texts(layout) == Counter(map(squeezed, truth.native)), reasons
    assert {squeezed(line.text or ""): line.hidden for line in layout.invisible} == {
        squeezed(text): reason for text, reason in truth.hidden.items()
    }, reasons
    boxes = to_read(layout)
    for line in truth.read:
        assert len([box for box in boxes if holds(box, line)]) == 1, (line, boxes, reasons)
    assert len(boxes) == len(truth.read), (boxes, reasons)
    own = [line.bbox for region in layout.regions for line in region.lines if line.text is not None]
    assert not any(overlap(box, other) > 0.3 for box in boxes for other in own), "read a second time"
    assert truth.reason in reasons
    assert layout.kind == truth.kind, reasons


def holds(box: list[float], line: Line) -> bool:
    """Whether a box holds the beginning and the middle of a line's small letters."""
    return box[0] - 2 <= line.x + 4 <= box[2] and box[1] <= line.y - SIZE / 4 <= box[3]


def overlap(one: list[float], other: list[float]) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    area = (one[2] - one[0]) * (one[3] - one[1])
    return width * height / area if width > 0 and height > 0 else 0.0


def test_the_matrix_is_large_enough():
    assert sum(len(case.pages) for case in CASES) >= 40


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
async def test_every_page_is_decided_rightly(alone: Alone, tmp_path: Path, case: Case):
    path = tmp_path / "page.pdf"
    path.write_bytes(case.make())
    for number, truth in enumerate(case.pages, 1):
        first, _ = await alone.page(path, number, FAST)
        check(first.layout, truth)
        if CASES.index(case) % AGAIN == 0:
            second, _ = await alone.page(path, number, FAST)
            plain = [encode(msgspec.structs.replace(one.layout, layout_s=0.0)) for one in (first, second)]
            assert plain[0] == plain[1], "the same page, the same layout"
