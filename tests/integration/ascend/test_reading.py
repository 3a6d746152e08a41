"""Pages read by the real recogniser on the double: the same text as on the CPU, and a line that kills its session is named."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import cv2
import numpy as np
import pytest

from services.rec_worker.call import PageRead, PageToRead
from shared.children.block import Block
from shared.children.child import Child
from shared.contracts.errors import ErrorCode
from shared.models.install import install
from shared.models.manifest import manifest, names
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


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All models, built for the double."""
    installed = Settings().engines.models
    install(installed)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in Card(tmp_path_factory.mktemp("card")).environment().items():
            patch.setenv(name, value)
        return build_all(installed, tmp_path_factory.mktemp("built") / "models")


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


async def test_pages_read_as_on_the_cpu_and_a_line_that_kills_its_session_is_named(card: Card, models: Path) -> None:
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


def test_answers_are_compared_over_several_pictures_with_each_network_opened_once(
    card: Card, models: Path, tmp_path: Path
) -> None:
    for name, texts in (("one", TEXTS[:2]), ("two", TEXTS[2:4])):
        picture, _ = page_of(texts)
        cv2.imwrite(str(tmp_path / f"{name}.png"), picture)

    def compare(*pictures: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "docfleet.cli.main", "models", "compare", *pictures],
            cwd=tmp_path,
            env={**os.environ, "DOCFLEET_ENGINES__MODELS": str(models)},
            capture_output=True,
            text=True,
            check=False,
        )

    done = compare("one.png", "two.png")
    assert done.returncode == 0, done.stdout + done.stderr
    built = [name for name in names() if manifest(name).ascend is not None]
    assert len({call["pid"] for call in card.calls()}) == len(built)
    rows = done.stdout.splitlines()
    for name in built:
        assert any(name in row and "NO" not in row for row in rows), f"{name} is a row, by its whole name"
    (tmp_path / "no.png").write_text("no picture")
    refused = compare("no.png")
    assert (refused.returncode, refused.stderr.strip().splitlines()[-1]) == (
        2,
        "docfleet: no.png is not a picture that can be read",
    )
