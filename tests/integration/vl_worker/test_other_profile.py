"""A document that names a profile whose model nobody serves is its own trouble: it falls back, and holds up no other."""

from __future__ import annotations

import asyncio

import pytest

from services.vl_worker.answers import call_of
from services.vl_worker.asking import Asker
from services.vl_worker.client import VlClient
from services.vl_worker.probe import Probe
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.settings import Vl
from shared.vlm.profile import profile_named
from shared.vlm.request import probe
from tests.support.vl_server import Act, VlServerSimulator

pytestmark = pytest.mark.integration


async def test_a_model_that_is_not_served_is_an_outcome_of_the_document_that_named_it() -> None:
    default, other = profile_named("glm-ocr"), profile_named("deepseek-ocr-2")
    async with VlServerSimulator([Act(text="said", delay_s=0.05)], model="glm-ocr") as server:
        settings = Vl(endpoints=[server.url])
        client = VlClient(settings, Probe(call_of(probe(default)), default.model, 5.0))
        await client.start()
        try:
            good = [Asker(client, settings, default).ask("text", [b"j"], lambda text: (text, None)) for _ in range(20)]
            bad = [Asker(client, settings, other).ask("text", [b"j"], lambda text: (text, None)) for _ in range(20)]
            async with asyncio.timeout(10):
                found = await asyncio.gather(
                    *(call for pair in zip(good, bad, strict=True) for call in pair), return_exceptions=True
                )
            client.check()
        finally:
            await client.close()
    assert found[::2] == ["said"] * 20
    for error in found[1::2]:
        assert isinstance(error, DocfleetError)
        assert error.code is ErrorCode.model_unavailable
        assert "404" in error.message
