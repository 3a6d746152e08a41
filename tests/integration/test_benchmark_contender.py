"""Systems of `bench reading` as processes: asked, measured, failing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.lib.contender import Contender, Failed

pytestmark = pytest.mark.integration

PROGRAM = """
import os, subprocess, sys, time
from benchmarks.peers.serve import serve

def read(request):
    print("noise on stdout")
    name = request["pdf"]
    if name == "bad":
        raise ValueError("cannot read this")
    if name == "dead":
        os._exit(3)
    if name == "busy":
        held = bytearray(80 * 2**20)
        held[::4096] = b"x" * len(held[::4096])
        end = time.process_time() + 0.5
        while time.process_time() < end:
            pass
    if name == "child":
        subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.5: pass"])
    return {"pages": request["pictures"], "status": "fine"}

serve(read, "a toy")
"""


@pytest.fixture
def toy(tmp_path: Path) -> Contender:
    return Contender("toy", [sys.executable, "-c", PROGRAM], tmp_path / "log")


def test_documents_are_read_and_what_is_printed_is_kept_apart(toy: Contender, tmp_path: Path) -> None:
    with toy:
        assert toy.about == "a toy"
        found = toy.read(Path("a.pdf"), [Path("1.png"), Path("2.png")])
        assert found.pages == ["1.png", "2.png"]
        assert found.extra == {"status": "fine"}
    assert "noise" in (tmp_path / "log").read_text()


@pytest.mark.parametrize("name", ["busy", "child"])
def test_cpu_counts_children_that_have_ended(toy: Contender, name: str) -> None:
    with toy:
        idle = toy.read(Path("idle"), [])
        found = toy.read(Path(name), [])
        assert idle.cpu_s < 0.3
        assert 0.4 < found.cpu_s < 2.0
        assert found.wall_s >= 0.4
        if name == "busy":
            assert found.resident - idle.resident > 60 * 2**20
            assert found.largest <= found.resident


def test_one_failure_is_told_and_the_next_document_read(toy: Contender) -> None:
    with toy:
        with pytest.raises(Failed, match="cannot read this"):
            toy.read(Path("bad"), [])
        assert toy.read(Path("good"), []).pages == []
        with pytest.raises(Failed, match="gone"):
            toy.read(Path("dead"), [])


def test_a_program_that_does_not_start_is_told(tmp_path: Path) -> None:
    with (
        pytest.raises(Failed, match="gone"),
        Contender("toy", [sys.executable, "-c", "raise SystemExit(1)"], tmp_path / "log"),
    ):
        pass
