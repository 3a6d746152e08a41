"""Tables and seals through a vision-language model (its simulator), in the whole embedded fleet."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from shared.contracts.document import ParsedDocument
from tests.support.schema import assert_valid_document
from tests.support.vl_server import Act, VlServerSimulator

pytestmark = [pytest.mark.integration, pytest.mark.slow]
SCAN = Path(__file__).parents[3] / "samples" / "scan.pdf"
TABLE = "<table><tr><th>阶段</th><th>VL</th></tr><tr><td>布局</td><td>12.5</td></tr></table>"


async def parse(server: VlServerSimulator, out: Path) -> ParsedDocument:
    command = [
        "-m",
        "docfleet.cli.main",
        "parse",
        str(SCAN),
        "-o",
        str(out),
        "--no-overlays",
        "--vl-endpoint",
        server.url,
    ]
    process = await asyncio.create_subprocess_exec(sys.executable, *command, stdout=asyncio.subprocess.PIPE, stderr=-2)
    output, _ = await asyncio.wait_for(process.communicate(), 240)
    assert process.returncode == 0, output.decode()
    return assert_valid_document((out / "scan.json").read_bytes())


async def test_a_table_comes_from_the_model_and_the_rest_from_the_recogniser(tmp_path):
    async with VlServerSimulator([TABLE]) as server:
        document = await parse(server, tmp_path)
    (table,) = [block for block in document.blocks if block.label == "table"]
    assert table.method == "vl"
    assert table.table is not None
    assert [cell.text for cell in table.table.cells] == ["阶段", "VL", "布局", "12.5"]
    assert any(block.method == "det_rec" and "消费者组" in block.text for block in document.blocks)
    assert "Table Recognition:" in {body["messages"][0]["content"][1]["text"] for body in server.requests}
    assert document.totals.vl_regions >= 1


async def test_a_cut_answer_is_asked_for_once_more_and_then_read_by_the_small_models(tmp_path):
    async with VlServerSimulator([Act(text="<table><tr><td>cut", finish_reason="length")]) as server:
        document = await parse(server, tmp_path)
    (table,) = [block for block in document.blocks if block.label == "table"]
    assert table.method != "vl"
    assert table.fallback_from == "glm-ocr"
    assert "12.5" in table.text
    assert "cut" not in table.text
    assert any(warning.code in ("vl_fallback", "vl_truncated") for warning in document.warnings)
    corrected = [body for body in server.requests if body["temperature"] == 0.2]
    assert 2 * len(corrected) == len(server.requests)
