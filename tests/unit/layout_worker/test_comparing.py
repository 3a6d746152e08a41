"""A font is compared once for a document, a text layer on every page, what cannot be compared only a few times."""

import numpy as np
import pytest

from services.layout_worker.found import Comparison
from services.layout_worker.trust.comparing import TRIES, Comparer
from services.layout_worker.trust.fonts import Doubt
from shared.children.block import Block
from shared.contracts.document import ModelRef
from shared.documents.page import NativeLine, OpenedPage, Picture

pytestmark = pytest.mark.unit

OPENED = OpenedPage(page_no=1, width=100, height=200, unit="pt")


class Engine:
    """Answers with the same similarity for every sample, and remembers what it was asked."""

    def __init__(self, similarity):
        self.similarity = similarity
        self.asked = []

    async def call(self, name, request, blocks, returns):
        assert (name, returns) == ("compare", Comparison)
        self.asked.append([sample.text for sample in request.samples])
        model = ModelRef(stage="rec", name="reader", version="1")
        return Comparison(similarities=[self.similarity] * len(request.samples), model=model), []


def doubt(key, *texts):
    lines = [
        NativeLine(bbox=[10, 10 * i, 50, 10 * i + 8], text=text, font_name="F", font_size=8.0)
        for i, text in enumerate(texts)
    ]
    return Doubt(key=key, lines=lines)


@pytest.fixture
def shown():
    block = Block.of(np.zeros((400, 200, 3), dtype=np.uint8))
    yield Picture(width=200, height=400), block
    block.close()


async def test_a_font_is_compared_once_for_a_document(shown):
    engine = Engine(0.9)
    comparer = Comparer(engine)
    for document in ("a", "a", "b"):
        verdicts, models = await comparer.settle(document, [doubt("F", "one", "two")], OPENED, shown)
        assert verdicts["F"].similarity == 0.9
        assert [model.name for model in models] == ["reader"]
    assert engine.asked == [["one", "two"], ["one", "two"]]
    assert comparer.unsettled("a", [doubt("F", "one"), doubt("G", "x")]) == [doubt("G", "x")]


async def test_a_text_layer_is_compared_on_every_page(shown):
    engine = Engine(0.5)
    comparer = Comparer(engine)
    for _ in range(2):
        await comparer.settle("a", [doubt("layer", "one")], OPENED, shown)
    assert len(engine.asked) == 2


async def test_what_cannot_be_compared_is_let_be_after_some_pages(shown):
    engine = Engine(None)
    comparer = Comparer(engine)
    for _ in range(TRIES + 3):
        verdicts, _ = await comparer.settle("a", [doubt("F", "one")], OPENED, shown)
        assert verdicts["F"].similarity is None
    assert len(engine.asked) == TRIES
    assert comparer.unsettled("a", [doubt("F", "one")]) == []


async def test_without_a_picture_nothing_is_asked():
    engine = Engine(0.9)
    verdicts, models = await Comparer(engine).settle("a", [doubt("F", "one")], OPENED, None)
    assert (verdicts, models, engine.asked) == ({}, [], [])
