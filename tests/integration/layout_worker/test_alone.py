"""Pages without a fleet: what they cost, that the same page is the same bytes whoever lays it out, and that a process says the same."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from services.layout_worker.alone import Alone, AlonePage, AloneRequest
from shared.contracts.codec import decode, encode
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.layout import PageLayout
from shared.contracts.options import Options
from shared.models.install import install
from shared.settings import Settings
from tests.integration.layout_worker.pages import BODY, HEADER, PAGES, document
from tests.support.networks import LAYOUT

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("alone") / "harbour.pdf"
    path.write_bytes(document())
    return path


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def alone():
    settings = Settings()
    install(settings.engines.models, LAYOUT)
    async with Alone(settings) as ours:
        yield ours


def ask(request: AloneRequest) -> list[AlonePage]:
    """What a fresh process answers."""
    done = subprocess.run(
        [sys.executable, "-m", "services.layout_worker.alone"], input=encode(request), capture_output=True, timeout=240
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return [decode(line, AlonePage) for line in done.stdout.splitlines()]


def text_of(layout: PageLayout) -> set[str]:
    return {line.text for region in layout.regions for line in region.lines if line.text is not None}


async def test_a_native_page_in_fast_mode_is_drawn_by_nobody(alone: Alone, file: Path, monkeypatch: pytest.MonkeyPatch):
    called = []
    call = alone.pages.engine.call

    async def seen(method, *arguments, **named):
        called.append(method)
        return await call(method, *arguments, **named)

    monkeypatch.setattr(alone.pages.engine, "call", seen)
    laid_out, steps = await alone.page(file, 1 + PAGES.index("native"), Options(layout="fast"))
    assert text_of(laid_out.layout) == {HEADER, *BODY}
    assert (called, laid_out.jpeg, laid_out.layout.models) == ([], None, [])
    assert {step.name for step in steps} >= {"open", "plan", "assemble"}
    await alone.page(file, 1 + PAGES.index("scan"), Options(layout="fast"))
    assert called == ["look", "lines"], "a scan has no text of its own, whatever the mode"


async def test_steps_have_costs(alone: Alone, file: Path):
    _, steps = await alone.page(file, 1 + PAGES.index("scan"))
    costs = {step.name: step for step in steps}
    assert all(step.wall_s >= 0 for step in steps)
    if sys.platform == "linux":
        assert costs["look"].cpu_s > 0.001, "the engine child's work is counted"
        assert costs["open"].cpu_s > 0.001, "and the document child's"


async def test_the_same_page_is_the_same_bytes_in_every_process(alone: Alone, file: Path):
    answers = [{page.page_no: page.layout for page in ask(AloneRequest(path=str(file)))} for _ in range(2)]
    for number, name in enumerate(PAGES, 1):
        ours, _ = await alone.page(file, number)
        assert encode(ours.layout) == encode(answers[0][number]) == encode(answers[1][number]), name


async def test_the_order_in_which_pages_come_changes_nothing(alone: Alone, file: Path):
    first = [(await alone.page(file, number))[0] for number in range(len(PAGES), 0, -1)][::-1]
    inspection = await alone.inspection(file)
    at_once = await asyncio.gather(
        *(alone.pages.lay_out(file, number, inspection) for number in range(1, len(PAGES) + 1))
    )
    assert [encode(page.layout) for page in first] == [encode(page.layout) for page in at_once]


async def test_a_process_says_what_is_wrong(tmp_path: Path, file: Path):
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7\nnothing")
    (page,) = ask(AloneRequest(path=str(broken)))
    assert page.error is not None
    assert (page.error.code, page.page_no) == (ErrorCode.corrupt, None)


async def test_without_a_model_server_it_is_routed_as_if_there_were_one(alone: Alone, file: Path):
    number = 1 + PAGES.index("scan")
    inspection = await alone.inspection(file, Options(vl="page"), vl=True)
    assert inspection.vl_profile is not None
    laid_out, _ = await alone.page(file, number, Options(vl="page"), vl=True)
    assert {region.read_by for region in laid_out.layout.regions} == {"vl"}
    with pytest.raises(DocfleetError):
        await alone.page(file, len(PAGES) + 1)
    assert msgspec.structs.replace(laid_out.layout, regions=[], tasks=[]).kind == "scanned"
