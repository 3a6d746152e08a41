"""Tables and seals through a vision-language model (its simulator), in the whole embedded fleet."""

from __future__ import annotations

import asyncio
import io
import sys
from pathlib import Path

import numpy as np
import pymupdf
import pytest
from PIL import Image

from shared.contracts.document import ParsedDocument
from shared.vlm.profile import FOLDER
from tests.support.schema import assert_valid_document
from tests.support.vl_server import Act, VlServerSimulator
from tests.unit.vl_worker import samples

pytestmark = [pytest.mark.integration, pytest.mark.slow]
SCAN = Path(__file__).parents[3] / "samples" / "scan.pdf"
TABLE = "<table><tr><th>阶段</th><th>VL</th></tr><tr><td>布局</td><td>12.5</td></tr></table>"


async def parse(server: VlServerSimulator, out: Path, *more: str, file: Path = SCAN) -> ParsedDocument:
    command = [
        "-m",
        "docfleet.cli.main",
        "parse",
        str(file),
        "-o",
        str(out),
        "--no-overlays",
        "--vl-endpoint",
        server.url,
        *more,
    ]
    process = await asyncio.create_subprocess_exec(sys.executable, *command, stdout=asyncio.subprocess.PIPE, stderr=-2)
    output, _ = await asyncio.wait_for(process.communicate(), 240)
    assert process.returncode == 0, output.decode()
    return assert_valid_document((out / f"{file.stem}.json").read_bytes())


async def test_a_table_comes_from_the_model_by_a_profile_of_the_users_own_and_the_rest_from_the_recogniser(tmp_path):
    own = (
        (FOLDER / "glm-ocr.yaml")
        .read_text()
        .replace("name: glm-ocr", "name: mine")
        .replace("Table Recog", "My Table Recog")
    )
    (tmp_path / "mine.yaml").write_text(own)
    async with VlServerSimulator([TABLE]) as server:
        document = await parse(server, tmp_path, "--vl-profile", str(tmp_path / "mine.yaml"))
    (table,) = [block for block in document.blocks if block.label == "table"]
    assert table.method == "vl"
    assert table.table is not None
    assert [cell.text for cell in table.table.cells] == ["阶段", "VL", "布局", "12.5"]
    assert any(block.method == "det_rec" and "消费者组" in block.text for block in document.blocks)
    assert table.model == "glm-ocr@mine"
    assert "My Table Recognition:" in {body["messages"][0]["content"][1]["text"] for body in server.requests}
    assert document.totals.vl_regions >= 1


async def test_a_cut_answer_is_asked_for_once_more_and_then_read_by_the_small_models(tmp_path):
    async with VlServerSimulator([Act(text="<table><tr><td>cut", finish_reason="length")]) as server:
        document = await parse(server, tmp_path)
    (table,) = [block for block in document.blocks if block.label == "table"]
    assert table.method != "vl"
    assert table.fallback_from == "glm-ocr"
    assert "12.5" in table.text
    assert "cut" not in table.text
    assert table.id in [warning.block_id for warning in document.warnings if warning.code == "vl_truncated"]
    assert table.route == "model"
    corrected = [body for body in server.requests if body["temperature"] == 0.2]
    assert 2 * len(corrected) == len(server.requests)


def speckled_page() -> bytes:
    """A white page with scanner speckle (report allenai/olmocr#292)."""
    rng = np.random.default_rng(5)
    page = np.full((2339, 1654), 250, dtype=np.uint8)
    for _ in range(60):
        y, x = rng.integers(0, 2337), rng.integers(0, 1652)
        page[y : y + 2, x : x + 2] = 90
    out = io.BytesIO()
    Image.fromarray(page).save(out, "JPEG", quality=90)
    return out.getvalue()


def scans(path: Path, *kinds: str) -> Path:
    """A PDF of scanned pages: `scan` is that of the samples, `blank` one with nothing but speckle."""
    with pymupdf.open() as made, pymupdf.open(SCAN) as sample:
        for kind in kinds:
            if kind == "scan":
                made.insert_pdf(sample)
            else:
                page = made.new_page(width=595, height=842)
                page.insert_image(page.rect, stream=speckled_page())
        made.save(path)
    return path


async def test_whole_pages_come_as_the_models_own_blocks_and_a_blank_page_is_never_asked(tmp_path):
    file = scans(tmp_path / "pages.pdf", "scan", "blank")
    async with VlServerSimulator([samples.DEEPSEEK_PAGE]) as server:
        document = await parse(server, tmp_path, "--vl", "page", "--vl-profile", "deepseek-ocr-2", file=file)
    assert [page.status for page in document.pages] == ["ok", "blank"]
    assert [body["messages"][0]["content"][1]["text"] for body in server.requests] == [
        "<|grounding|>Convert the document to markdown."
    ]
    blocks = [block for block in document.blocks if block.method == "vl"]
    assert {block.prov[0].page_no for block in document.blocks} == {1}
    assert [(block.label, block.text) for block in blocks][:3] == [
        ("title", "On retro reactions"),
        ("section_header", "1 Aim"),
        ("text", "Words of the first paragraph."),
    ]
    x0, y0, _, _ = blocks[0].prov[0].bbox
    assert (x0, y0) == (round(75 / 999 * 595, 2), round(133 / 999 * 842, 2))
    (table,) = [block.table for block in blocks if block.table is not None]
    assert [cell.text for cell in table.cells] == ["Item", "Amount", "Fee", "82"]
    assert document.status == "success"


async def test_a_document_is_read_several_pages_at_once(tmp_path):
    file = scans(tmp_path / "several.pdf", "scan", "scan")
    async with VlServerSimulator([samples.UNLIMITED_RANGE]) as server:
        document = await parse(server, tmp_path, "--vl", "document", "--vl-profile", "unlimited-ocr", file=file)
    (body,) = server.requests
    assert len(body["messages"][0]["content"]) == 3
    assert [page.status for page in document.pages] == ["ok", "ok"]
    assert [b.text for b in document.blocks if b.prov[0].page_no == 2 and b.label == "text"] == ["The second page."]
    assert "Total: 123.45 USD" in [block.text for block in document.blocks if block.prov[0].page_no == 1]
    assert {block.method for block in document.blocks if block.label != "picture"} == {"vl"}
    assert document.status == "success"


async def test_a_range_with_another_number_of_pages_is_read_page_by_page_and_one_of_them_by_the_small_models(tmp_path):
    file = scans(tmp_path / "other.pdf", "scan", "scan")
    script = [f"<PAGE>{samples.UNLIMITED_PAGE}", samples.UNLIMITED_PAGE, *[Act(text="cut", finish_reason="length")] * 2]
    async with VlServerSimulator(script) as server:
        document = await parse(server, tmp_path, "--vl", "document", "--vl-profile", "unlimited-ocr", file=file)
    kinds = [len(body["messages"][0]["content"]) - 1 for body in server.requests]
    assert kinds[0] == 2
    assert set(kinds[1:]) == {1}
    assert [page.status for page in document.pages] == ["ok", "ok"]
    methods = {block.prov[0].page_no: block.method for block in document.blocks if block.label != "picture"}
    assert sorted(methods.values()) == ["det_rec", "vl"]
    (fallen,) = [page for page, method in methods.items() if method == "det_rec"]
    assert any(w.code == "vl_truncated" and w.page_no == fallen and w.block_id for w in document.warnings)
    assert "cut" not in [block.text for block in document.blocks]
