"""The plain `/ocr` service of Unlimited-OCR on an NPU (its simulator): another path, another body, no finish reason."""

from __future__ import annotations

import pytest

from services.vl_worker.answers import call_of
from services.vl_worker.asking import Asker
from services.vl_worker.client import VlClient
from services.vl_worker.probe import Probe
from services.vl_worker.reading import PageBlocks, read_page
from shared.settings import Vl
from shared.vlm.profile import profile_named
from shared.vlm.request import probe
from tests.support import pages as make
from tests.support.vl_server import VlServerSimulator
from tests.unit.vl_worker import samples

pytestmark = pytest.mark.integration


async def test_a_page_is_read_by_the_plain_service() -> None:
    profile = profile_named("unlimited-ocr-npu")
    async with VlServerSimulator([samples.UNLIMITED_PAGE]) as server:
        settings = Vl(endpoints=[server.url], profile=profile.name)
        client = VlClient(settings, Probe(call_of(probe(profile)), profile.model, 5.0))
        await client.start()
        try:
            blocks = await Asker(client, settings, profile).ask(
                "page", [b"jpeg"], lambda text: read_page(text, make.layout([]), profile, settings)
            )
        finally:
            await client.close()
        (body,) = server.requests
    assert isinstance(blocks, PageBlocks)
    assert [block.label for block in blocks.regions][:3] == ["page_header", "title", "text"]
    assert body["prompt"] == "<image>document parsing."
    assert (body["max_length"], server.probes) == (4096, 1)
