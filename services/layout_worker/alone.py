"""The layout of pages without a fleet: no Kafka, no store, the same code and the same children.

In a process: `async with Alone(Settings()) as alone: page = await alone.page(path, 3)`.
As a process: `python -m services.layout_worker.alone < request`, one `AloneRequest` on stdin, an `AlonePage` a line on stdout;
`docfleet look` does that.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from types import TracebackType

import msgspec

from services.layout_worker.pages import LaidOut, Pages
from services.layout_worker.steps import Step, Steps, cpu_seconds
from shared.contracts.codec import decode, encode
from shared.contracts.errors import DocfleetError, ErrorInfo, Phase
from shared.contracts.layout import Inspection, PageLayout
from shared.contracts.options import Options, options_hash, page_ranges, selected_pages
from shared.contracts.records import SourceInfo
from shared.documents.passwords import password_of
from shared.settings import Settings
from shared.telemetry import logs

DOCUMENT_ID = "alone"


class AloneRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Lay out pages of a file; `options.pages` names them."""

    path: str
    options: Options = Options()
    vl: bool = False
    """Route as if a vision-language model were configured (it is not called)."""


class AlonePage(msgspec.Struct, frozen=True, kw_only=True):
    """A page, or why it has no layout. `cpu_s` of the steps counts this process and its children."""

    page_no: int | None
    pages_total: int = 0
    layout: PageLayout | None = None
    steps: list[Step] = []
    error: ErrorInfo | None = None


class Alone:
    """The stage's children and nothing else. One page at a time, so that the CPU of its steps is its own."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.pages = Pages(settings)
        self._inspections: dict[tuple[Path, str, bool], Inspection] = {}
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Alone:
        await self.pages.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.pages.close()

    async def inspection(self, path: Path, options: Options | None = None, *, vl: bool = False) -> Inspection:
        """What ingest would store for the file; remembered. Raises what `Documents.inspect` raises."""
        options = options or Options()
        name = (path, options_hash(options), vl)
        if name not in self._inspections:
            password = password_of(self._settings, options.password_ref)
            found = await self.pages.documents.inspect(path, password=password)
            total = len(found.pages)
            self._inspections[name] = Inspection(
                document_id=DOCUMENT_ID,
                generation=0,
                source=SourceInfo(bucket="", key=path.name, mime_type=found.mime_type, filename=path.name),
                options=options,
                options_hash=options_hash(options),
                pipeline_fingerprint="",
                unit=found.unit,
                pages=found.pages,
                selected=page_ranges(selected_pages(options.pages, total)),
                vl_profile=(options.vl_profile or self._settings.vl.profile) if vl else None,
            )
        return self._inspections[name]

    async def page(
        self, path: Path, page_no: int, options: Options | None = None, *, vl: bool = False
    ) -> tuple[LaidOut, list[Step]]:
        """Layout, picture and costs of one page (1-based). Raises what opening a page raises, `ChildDied`, `ChildStalled`."""
        inspection = await self.inspection(path, options, vl=vl)
        async with self._lock:
            steps = Steps(cpu_seconds(self._pids))
            laid_out = await self.pages.lay_out(path, page_no, inspection, steps)
        return laid_out, steps.done

    def _pids(self) -> list[int]:
        return [pid for pid in (os.getpid(), self.pages.documents.pid, self.pages.engine.pid) if pid is not None]


async def answer(request: AloneRequest, settings: Settings) -> None:
    """Write an `AlonePage` a line to stdout for every page asked for."""
    path = Path(request.path)
    async with Alone(settings) as alone:
        try:
            inspection = await alone.inspection(path, request.options, vl=request.vl)
        except DocfleetError as error:
            _say(AlonePage(page_no=None, error=error.info(Phase.layout)))
            return
        total = len(inspection.pages)
        for page_no in selected_pages(request.options.pages, total):
            try:
                laid_out, steps = await alone.page(path, page_no, request.options, vl=request.vl)
            except DocfleetError as error:
                _say(AlonePage(page_no=page_no, pages_total=total, error=error.info(Phase.layout, page_no)))
            else:
                _say(AlonePage(page_no=page_no, pages_total=total, layout=laid_out.layout, steps=steps))


def _say(page: AlonePage) -> None:
    sys.stdout.buffer.write(encode(page) + b"\n")
    sys.stdout.buffer.flush()


def main() -> int:
    settings = Settings()
    logs.configure(settings.telemetry.model_copy(update={"level": "error", "format": "text"}), "layout")
    try:
        asyncio.run(answer(decode(sys.stdin.buffer.read(), AloneRequest), settings))
    except DocfleetError as error:
        _say(AlonePage(page_no=None, error=error.info(Phase.layout)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
