"""A document of 200 MB is fetched once per worker, opened once by its child, and never held in memory."""

from __future__ import annotations

import asyncio
import os
import resource
from pathlib import Path

import pymupdf
import pytest

from services.layout_worker.service import LayoutWorker
from shared.contracts.codec import encode
from shared.contracts.layout import Inspection, PageGeometry
from shared.contracts.options import Options
from shared.contracts.records import PageTask, SourceInfo
from shared.documents import child
from shared.documents.child import DocumentChild
from shared.documents.limits import bounds_of
from shared.documents.page import PageCall
from shared.models.install import install
from shared.objects import keys
from shared.objects.folder import FolderStore
from shared.settings import Limits, Objects, Settings
from shared.streams.stage import Delivery
from tests.support.deliveries import delivered
from tests.support.networks import LAYOUT

pytestmark = pytest.mark.integration

BUCKET = "docfleet"
MEGABYTES = 200
PAGES = 12


def large_pdf(path: Path) -> Path:
    """A few pages of text, and a comment before `startxref` that makes the file as large as asked."""
    document = pymupdf.open()
    for number in range(PAGES):
        document.new_page().insert_text((72, 90), f"Page {number + 1} of a large document")
    head, mark, tail = bytes(document.tobytes()).rpartition(b"startxref")
    with path.open("wb") as file:
        file.write(head + b"%")
        file.seek(MEGABYTES * 2**20, os.SEEK_CUR)
        file.write(b"\n" + mark + tail)
    return path


def delivery(page_no: int) -> Delivery[PageTask]:
    task = PageTask(document_id="large", generation=0, page_no=page_no, task_id=f"layout-g0-p{page_no:05d}")
    return delivered(task, offset=page_no)


async def test_one_get_per_worker_for_all_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(objects=Objects(kind="folder", folder=tmp_path / "objects", bucket=BUCKET))
    install(settings.engines.models, LAYOUT)
    store = FolderStore(settings.objects.folder)
    for bucket in ("in", BUCKET):
        await store.ensure_bucket(bucket)
    file = large_pdf(tmp_path / "large.pdf")
    stat = await store.put_file("in", "large.pdf", file, "application/pdf")
    gets: list[str] = []
    for method in ("get", "download"):
        plain = getattr(FolderStore, method)

        async def counted(self, bucket, key, *rest, plain=plain, **named):
            gets.extend([key] if bucket == "in" else [])
            return await plain(self, bucket, key, *rest, **named)

        monkeypatch.setattr(FolderStore, method, counted)
    inspection = Inspection(
        document_id="large",
        generation=0,
        source=SourceInfo(bucket="in", key="large.pdf", etag=stat.etag, size=stat.size, mime_type="application/pdf"),
        options=Options(layout="fast"),
        options_hash="h",
        pipeline_fingerprint="f",
        unit="pt",
        pages=[PageGeometry(width=595, height=842)] * PAGES,
        selected=f"1-{PAGES}",
    )
    await store.put_once(BUCKET, keys.inspection("large", 0), encode(inspection))
    stage = LayoutWorker(settings)
    await stage.start()
    try:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        await asyncio.gather(*(stage.process(delivery(number)) for number in range(1, PAGES + 1)))
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    finally:
        await stage.stop()
        await store.close()
    assert gets == ["large.pdf"]
    assert grown < 64 * 1024, f"the worker's memory grew by {grown // 1024} MB over a source of {MEGABYTES} MB"


def test_the_child_keeps_documents_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = []
    for number in range(child.KEEP_OPEN + 1):
        document = pymupdf.open()
        document.new_page()
        document.new_page()
        paths.append(tmp_path / f"{number}.pdf")
        document.save(paths[-1])
    ours = DocumentChild(bounds_of(Limits()))
    opened: list[str] = []
    plain = DocumentChild._opened

    def counted(self: DocumentChild, path: Path, mime_type: str, password: str | None):
        opened.append(path.name)
        return plain(self, path, mime_type, password)

    monkeypatch.setattr(DocumentChild, "_opened", counted)
    kept = paths[: child.KEEP_OPEN]
    for page_no in (1, 2, 1):  # pages of a few documents, interleaved
        for path in kept:
            call = PageCall(path=str(path), mime_type="application/pdf", page_no=page_no, dpi=72, picture="none")
            ours.open_page(call, [])
    assert opened == [path.name for path in kept]
    ours.open_page(PageCall(path=str(paths[-1]), mime_type="application/pdf", page_no=1, dpi=72, picture="none"), [])
    ours.open_page(PageCall(path=str(kept[-1]), mime_type="application/pdf", page_no=1, dpi=72, picture="none"), [])
    ours.open_page(PageCall(path=str(kept[0]), mime_type="application/pdf", page_no=1, dpi=72, picture="none"), [])
    assert opened[child.KEEP_OPEN :] == [paths[-1].name, kept[0].name], "the least recently used was closed"
