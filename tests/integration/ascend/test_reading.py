"""Pages read by the real recogniser on the double: the same text as on the CPU, and a line that kills its session is named."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from services.rec_worker.call import PageRead, PageToRead
from shared.children.block import Block
from shared.children.child import Child
from shared.contracts.errors import ErrorCode
from shared.models.install import install
from shared.models.manifest import manifest
from shared.models.reader import DRAFT, NAME
from shared.settings import Engines, Rec, Settings, for_engine_child
from tests.integration.rec_worker.drawing import SCALE, page_of, region_of
from tests.support.ascend import Card, build_all

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

TEXTS = [
    "Packages which are essential, 2026",
    "文档智能解析系统处理文件",
    "Invoice 1,234.50",
    "Total",
    "No. 7",
    "Date",
    "This line is by far the longest of them all and has a gear of its own, 规格型号与备注",
]


@asynccontextmanager
async def reading(engines: Engines) -> AsyncIterator[Child]:
    settings = Settings(engines=engines, rec=Rec(crop_cache=0, linger_ms=20))
    child = Child(
        "services.rec_worker.program:create",
        for_engine_child(settings),
        name="rec-engine",
        call_timeout_s=200,
        start_timeout_s=200,
        threads=4,
    )
    try:
        await child.start()
        yield child
    finally:
        await child.close()


async def read(child: Child, document: str = "d") -> PageRead:
    picture, lines = page_of(TEXTS)
    height, width = picture.shape[:2]
    call = PageToRead(
        document_id=document,
        page_no=1,
        width=width / SCALE,
        height=height / SCALE,
        picture=(width, height),
        regions=[region_of(picture, lines)],
    )
    with Block.of(np.ascontiguousarray(picture)) as block:
        answer, _ = await child.call("read", call, [block], returns=PageRead)
    return answer


def texts_of(answer: PageRead) -> list[str]:
    return [line.text for region in answer.regions for line in region.lines]


async def test_pages_read_as_on_the_cpu_and_a_line_that_kills_its_session_is_named(card: Card, tmp_path: Path) -> None:
    installed = Settings().engines.models
    install(installed)
    models = build_all(installed, tmp_path / "models")
    async with reading(Engines(kind="onnxruntime", profile="ascend", models=models)) as child:
        wanted = await read(child)
    async with reading(Engines(kind="ascend", models=models)) as child:
        warm = card.calls()
        assert all(call["zeros"] for call in warm)
        for name in (NAME, DRAFT):
            entry = manifest(name).ascend
            assert entry is not None
            gears = [",".join(map(str, gear)) for gear in entry.gears()]
            shapes = [call["shape"] for call in warm if call["model"].startswith(name)]
            assert shapes[: len(gears)] == gears, "all before it is ready"
            assert set(shapes) == set(gears)
        answer = await read(child)
        assert texts_of(answer) == texts_of(wanted)
        assert len(texts_of(answer)) == len(TEXTS)
        assert not answer.errors
        known = {(call["model"], call["shape"]) for call in warm}
        assert {(call["model"], call["shape"]) for call in card.work()} <= known, "nothing outside the gears"

        widest = max(int(call["shape"].rsplit(",", 1)[1]) for call in card.work())
        card.plan(faults=[{"at": "execute", "kind": "die", "shape": f"*,3,48,{widest}", "times": 0}])
        hurt = await read(child)
        assert texts_of(hurt) == texts_of(wanted)[:-1], "the others of its page are read"
        (error,) = hurt.errors
        assert error.code is ErrorCode.crashed
        assert error.region_id == "p00001-r000"
        assert "line 7 of p00001-r000" in error.message
        card.plan()
        assert texts_of(await read(child)) == texts_of(wanted)
    ended = [call["pid"] for call in card.calls()]
    assert len([pid for pid, _ in itertools.groupby(ended)]) >= 5, "a process a network"
