"""Assembling long documents: `./dev bench assembly [--quick]`.

Pages are generated (dense, native), stored as the other stages store them, and composed by the real stage with its child processes on a
folder store: first every page, then the document, for 100, 1,000 and 5,000 pages. Seconds and CPU seconds of the document and of its
pages, what the stage, its document child and the blocks between them held together at most (and each of them), and what the result
weighs. Targets for 5,000 pages: pages and document together in at most 60 s, at most 600 MB, CPU time linear within 30 %. Exit code 1 when
one is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.lib.assembly import Memory, cpu_s, page_layout
from benchmarks.lib.machine import Report, header
from services.assembler.compose.service import Compose
from shared.contracts.codec import encode
from shared.contracts.ids import document_task_id, task_id
from shared.contracts.records import ComposeDocument, ComposePage, DocumentComposed
from shared.objects import keys
from shared.objects.folder import FolderStore
from shared.settings import Settings
from tests.support import pages as make
from tests.support.deliveries import delivered

SIZES = (100, 1_000, 5_000)
MOST_S, MOST_BYTES, SPREAD = 60.0, 600 * 10**6, 0.30
BUCKET = "docfleet"


class Run(NamedTuple):
    pages: int
    pages_s: float
    document_s: float
    cpu_s: float
    memory: int
    stage: int
    child: int
    blocks: int
    bytes: int


async def assemble(folder: Path, pages: int) -> Run:
    """Store, compose the pages, compose the document."""
    store = FolderStore(folder)
    await store.ensure_bucket(BUCKET)
    settings = Settings.model_validate({"objects": {"kind": "folder", "folder": str(folder), "bucket": BUCKET}})
    await store.put_once(BUCKET, keys.inspection("d", 0), encode(make.inspection(pages)))
    for number in range(1, pages + 1):
        await store.put_once(BUCKET, keys.layout("d", 0, number), encode(page_layout(number)))
    stage = Compose(settings)
    await stage.start()
    try:
        started = time.perf_counter()
        for first in range(1, pages + 1, 32):
            tasks = [
                ComposePage(document_id="d", generation=0, page_no=number, task_id=task_id("compose", 0, [number]))
                for number in range(first, min(first + 32, pages + 1))
            ]
            await asyncio.gather(*(stage.process(delivered(task, topic="docs.compose")) for task in tasks))
        pages_s = time.perf_counter() - started
        child = stage.document_pid
        assert child is not None
        task = ComposeDocument(
            document_id="d", generation=0, task_id=document_task_id(0), pages_total=pages, selected=f"1-{pages}"
        )
        before = cpu_s(child) + cpu_s(os.getpid())
        started = time.perf_counter()
        with Memory([os.getpid(), child]) as memory:
            (emit,) = await stage.process(delivered(task, topic="docs.compose"))
            document_s = time.perf_counter() - started
        composed = emit.record
        assert isinstance(composed, DocumentComposed)
        assert composed.status == "success", composed.errors
        assert composed.totals.pages_ok == pages
        spent = cpu_s(child) + cpu_s(os.getpid()) - before
        each = memory.each
        return Run(
            pages,
            pages_s,
            document_s,
            spent,
            memory.most,
            each[os.getpid()],
            each[child],
            memory.blocks,
            composed.result.bytes or 0,
        )
    finally:
        await stage.stop()
        await store.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="20, 100 and 400 pages")
    parser.add_argument("--sizes", type=int, nargs="+", help="pages of the documents")
    parser.add_argument("--out", type=Path, help="file of the raw result")
    args = parser.parse_args()
    sizes = args.sizes or ((20, 100, 400) if args.quick else SIZES)
    report = Report("assembly", quick=args.quick, out=args.out)
    report.say(*header("assembly", quick=args.quick, packages=("msgspec", "orjson")), "")
    names = ("pages", "pages s", "document s", "ms/page", "CPU ms/page", "MB", "stage", "child", "blocks", "result MB")
    report.say("  ".join(f"{name:>9}" for name in names))
    runs = []
    for pages in sizes:
        with tempfile.TemporaryDirectory(prefix="docfleet-assembly-") as folder:
            run = asyncio.run(assemble(Path(folder), pages))
        runs.append(run)
        times = (run.pages_s, run.document_s, run.document_s / pages * 1e3, run.cpu_s / pages * 1e3)
        sizes_mb = (run.memory / 1e6, run.stage / 1e6, run.child / 1e6, run.blocks / 1e6, run.bytes / 1e6)
        row = [f"{pages:9d}", *(f"{value:9.2f}" for value in times), *(f"{value:9.0f}" for value in sizes_mb)]
        report.say("  ".join(row))
    last, before = runs[-1], runs[-2] if len(runs) > 1 else runs[-1]
    ratio = (last.cpu_s / last.pages) / (before.cpu_s / before.pages)
    total_s = last.pages_s + last.document_s
    good = total_s <= MOST_S and last.memory <= MOST_BYTES and abs(ratio - 1) <= SPREAD
    report.say(
        "",
        f"{last.pages} pages: {total_s:.1f} s (target {MOST_S:.0f}), {last.memory / 1e6:.0f} MB (target {MOST_BYTES / 1e6:.0f}); "
        f"CPU a page {ratio:.2f} times that of {before.pages} pages (target 1 within {SPREAD:.0%})",
    )
    report.write()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
