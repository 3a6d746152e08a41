"""DOCX through its child and through the fleet: limits hold there, nothing is fetched, pictures come out."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from services.layout_worker.service import LayoutWorker
from shared.contracts.codec import encode
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.layout import Inspection, PageGeometry
from shared.contracts.options import Options
from shared.contracts.records import PageTask, SourceInfo
from shared.documents.opener import Documents
from shared.documents.sniff import DOCX
from shared.objects import keys
from shared.objects.folder import FolderStore
from shared.settings import Limits, Objects, Settings
from tests.support.deliveries import delivered
from tests.support.docx import docx, p, tbl, tc
from tests.support.faces import face
from tests.support.schema import assert_valid_document

pytestmark = pytest.mark.integration


async def test_the_child_reads_a_document_refuses_a_bomb_and_reads_on(tmp_path: Path) -> None:
    documents = Documents(
        Limits(child_memory_bytes=512 * 2**20, max_archive_ratio=10_000, max_unpacked_bytes=32 * 2**20)
    )
    good, bomb = tmp_path / "good.docx", tmp_path / "bomb.docx"
    good.write_bytes(docx(p("still reading")))
    noise = "".join(p(os.urandom(40).hex()) for _ in range(400_000 // 40))
    bomb.write_bytes(docx(noise * 40))
    try:
        inspected = await documents.inspect(good)
        assert (inspected.mime_type, inspected.unit, len(inspected.pages)) == (DOCX, None, 1)
        with pytest.raises(DocfleetError) as caught:
            await documents.read_flow(bomb, DOCX)
        assert caught.value.code is ErrorCode.resource_limit
        answer, data = await documents.read_flow(good, DOCX)
        assert ([one.text for one in answer.blocks], data) == (["still reading"], b"")
        page, shown = await documents.open_page(good, DOCX, 1)
        with shown:
            assert (page.blank, page.unit, shown.full) == (True, None, None)
    finally:
        await documents.close()


async def test_pictures_are_stored_with_the_result_where_they_are_asked_for(tmp_path: Path) -> None:
    settings = Settings(objects=Objects(kind="folder", folder=tmp_path / "objects", bucket="docfleet"))
    store = FolderStore(settings.objects.folder)
    for bucket in ("in", "docfleet"):
        await store.ensure_bucket(bucket)
    drawing = p('<w:r><w:drawing><a:blip r:embed="i"/></w:drawing></w:r>')
    content = b"\x89PNG\r\n\x1a\nand the rest"
    source = docx(drawing * 2, parts={"media/i.png": content}, links={"i": ("image", "media/i.png")})
    await store.put("in", "a.docx", source, DOCX)
    stat = await store.stat("in", "a.docx")
    worker = LayoutWorker(settings)  # not started: no engine may be needed
    try:
        for document_id, pictures in (("with", True), ("without", False)):
            inspection = Inspection(
                document_id=document_id,
                generation=0,
                source=SourceInfo(bucket="in", key="a.docx", etag=stat.etag, size=stat.size, mime_type=DOCX),
                options=Options(pictures=pictures),
                options_hash="",
                pipeline_fingerprint="",
                unit=None,
                pages=[PageGeometry(width=0.0, height=0.0)],
                selected="1",
            )
            await store.put("docfleet", keys.inspection(document_id, 0), encode(inspection), "application/json")
            task = PageTask(document_id=document_id, generation=0, page_no=1, task_id="layout-g0-p00001")
            emitted = await worker.process(delivered(task))
            assert [one.topic for one in emitted] == ["docs.results"], "nothing is left to be read"
        assert await store.get("docfleet", keys.flow_image("with", 0, 1, "png")) == content
        assert not await store.exists("docfleet", keys.flow_image("with", 0, 2, "png")), "shown twice, stored once"
        assert not await store.exists("docfleet", keys.flow_image("without", 0, 1, "png"))
    finally:
        await worker.stop()


@pytest.mark.slow
def test_through_the_fleet_with_pictures_and_without_fetching_anything(tmp_path: Path) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    asked: list[str] = []

    def answer() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            asked.append("somebody called")
            connection.close()

    threading.Thread(target=answer, daemon=True).start()
    outside = f"http://127.0.0.1:{listener.getsockname()[1]}/x"
    png = io.BytesIO()
    paper = Image.new("RGB", (900, 160), "white")
    font = face("helv", 32)
    ImageDraw.Draw(paper).text((40, 60), "The crane was out of order", fill="black", font=font)
    paper.save(png, "PNG")
    field = (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
        f'<w:r><w:instrText> INCLUDEPICTURE "{outside}" \\d </w:instrText></w:r>'
        '<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>[placeholder]</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )

    def picture(relation: str) -> str:
        return f"<w:r><w:drawing><a:blip {relation}/></w:drawing></w:r>"

    path = tmp_path / "letter.docx"
    path.write_bytes(
        docx(
            p("Testing ", field) + p(picture('r:embed="i"')) + p(picture('r:link="far"')) + tbl([tc("a"), tc("b")]),
            parts={"media/i.png": png.getvalue()},
            links={"i": ("image", "media/i.png")},
            external={"far": ("image", outside), "t": ("attachedTemplate", outside)},
        )
    )
    command = [sys.executable, "-m", "docfleet.cli.main", "parse", str(path), "-o", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    listener.close()
    assert done.returncode == 0, done.stderr
    written = (tmp_path / "out" / "letter.json").read_bytes()
    assert_valid_document(written)
    document = json.loads(written)
    assert document["status"] == "success"
    assert [(b["label"], b["text"]) for b in document["blocks"]] == [
        ("text", "Testing [placeholder]"),
        ("picture", "The crane was out of order"),
        ("picture", ""),
        ("table", "a\tb"),
    ]
    assert [b["method"] for b in document["blocks"]] == ["docx", "det_rec", "docx", "docx"]
    assert [b["prov"][0]["bbox"] for b in document["blocks"]] == [None] * 4
    assert [(p["width"], p["unit"], p["kind"]) for p in document["pages"]] == [(0.0, None, "mixed")]
    assert "not fetched" in document["blocks"][2]["reason"]
    assert asked == []
