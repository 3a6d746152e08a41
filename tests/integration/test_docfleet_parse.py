"""`docfleet parse` as a user runs it: the whole embedded fleet, from a command to files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pymupdf
import pytest
from PIL import Image

from shared.contracts.document import ParsedDocument
from tests.support.schema import assert_valid_document

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]


@pytest.fixture
def mark(monkeypatch, tmp_path):
    """A name in the environment of everything that is started here. Temporary folders go to a place that can be looked at."""
    name = uuid.uuid4().hex
    monkeypatch.setenv("DOCFLEET_TEST_MARK", name)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    return name


def _left(mark: str) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes() and int(process.name) != os.getpid():
                found.append(int(process.name))
        except OSError:
            continue
    return found


def _command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "docfleet.cli.main", "parse", *map(str, arguments)]


def _parse(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(_command(*arguments), capture_output=True, text=True, timeout=240, check=False)


def _pdf(path: Path, pages: int, text: str = "The quick brown fox jumps over the lazy dog.") -> Path:
    document = pymupdf.open()
    for number in range(pages):
        page = document.new_page()
        page.insert_text((72, 72), f"Chapter {number + 1}", fontsize=20)
        for line in range(12):
            page.insert_text((72, 120 + 16 * line), f"{text} ({number + 1}.{line + 1})", fontsize=11)
    document.save(path)
    return path


def _document(path: Path) -> ParsedDocument:
    return assert_valid_document(path.read_bytes())


def test_a_born_digital_page(tmp_path, mark):
    with pymupdf.open(_pdf(tmp_path / "plain.pdf", 1)) as source:
        where = source[0].search_for("brown fox")[2]
        source[0].insert_link({"kind": pymupdf.LINK_URI, "from": where, "uri": "https://example.org/fox"})
        source.save(tmp_path / "page.pdf")
    done = _parse(tmp_path / "page.pdf", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    document = _document(tmp_path / "out" / "page.json")
    assert [(b.text[k.start : k.end], k.uri) for b in document.blocks for k in b.links] == [
        ("brown fox", "https://example.org/fox")
    ]
    assert (
        "[brown fox](https://example.org/fox) jumps over the lazy dog. (1.3)"
        in (tmp_path / "out" / "page.md").read_text()
    )
    text = "\n".join(block.text for block in document.blocks)
    assert "Chapter 1" in text
    assert "lazy dog. (1.12)" in text
    assert all(block.method == "native" for block in document.blocks)
    assert "lazy dog. (1.12)" in (tmp_path / "out" / "page.md").read_text()
    with Image.open(tmp_path / "out" / "page.overlays" / "page-001.png") as overlay:
        assert overlay.width > 600
        assert len(overlay.getcolors(1 << 24) or ()) > 20
    assert "page  success  1 page" in done.stdout
    assert _left(mark) == []
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_picture_of_a_page_is_read(tmp_path, mark):
    page = pymupdf.open(_pdf(tmp_path / "page.pdf", 1))[0]
    page.get_pixmap(dpi=150).save(tmp_path / "scan.png")
    done = _parse(
        tmp_path / "scan.png", "-o", tmp_path / "out", "--export", "pdf", "--export", "html", "--export", "chunks"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    document = _document(tmp_path / "out" / "scan.json")
    text = "".join(block.text for block in document.blocks)
    assert "quick brown fox" in text
    assert {block.method for block in document.blocks} & {"det_rec", "direct_rec"}
    assert document.pages[0].unit == "px"
    assert (tmp_path / "out" / "scan.overlays" / "page-001.png").exists()
    with pymupdf.open(tmp_path / "out" / "scan.searchable.pdf") as searchable:
        said = [" ".join(line.split()) for line in searchable[0].get_text().splitlines()]
        assert sorted(said) == sorted(line.text for block in document.blocks for line in block.lines)
        assert len(searchable[0].get_images()) == 1
    assert "data:image/jpeg;base64," in (tmp_path / "out" / "scan.html").read_text()
    pieces = [json.loads(line) for line in (tmp_path / "out" / "scan.chunks.jsonl").read_text().splitlines()]
    markdown = (tmp_path / "out" / "scan.md").read_text()
    assert all(markdown[piece["start"] : piece["end"]] == piece["text"] for piece in pieces)
    assert _left(mark) == []


def test_a_folder_with_a_bad_file_gives_every_other_result(tmp_path, mark):
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    _pdf(folder / "a.pdf", 2)
    _pdf(folder / "sub" / "a.pdf", 20)
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing else")
    (folder / "empty.png").write_bytes(b"")
    (folder / "notes.txt").write_text("x")
    done = _parse(folder, "-o", tmp_path / "out", "--no-overlays")
    assert done.returncode == 2, done.stdout + done.stderr
    assert len(_document(tmp_path / "out" / "a.json").pages) == 2
    assert len(_document(tmp_path / "out" / "sub" / "a.json").pages) == 20
    assert not (tmp_path / "out" / "broken.json").exists()
    assert "corrupt" in done.stdout
    assert "empty_file" in done.stdout
    assert "4 documents: 2 success, 2 failure" in done.stdout
    assert "1 files of other types" in done.stderr
    assert not list((tmp_path / "out").rglob("*.png"))


def test_only_the_pages_that_are_wanted(tmp_path, mark):
    done = _parse(_pdf(tmp_path / "a.pdf", 5), "-o", tmp_path / "out", "--pages", "2,4-")
    assert done.returncode == 0, done.stdout + done.stderr
    pages = _document(tmp_path / "out" / "a.json").pages
    assert [page.status for page in pages] == ["skipped", "ok", "skipped", "ok", "ok"]
    assert sorted(path.name for path in (tmp_path / "out" / "a.overlays").iterdir()) == [
        "page-002.png",
        "page-004.png",
        "page-005.png",
    ]


@pytest.mark.parametrize("after_s", [0.2, 3.0])
def test_ctrl_c_ends_everything_and_leaves_nothing(tmp_path, mark, after_s):
    _pdf(tmp_path / "long.pdf", 400)
    command = _command(tmp_path / "long.pdf", "-o", tmp_path / "out", "--ocr", "force")
    running = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # A shell ignores SIGINT for what it starts in the background, and the tests may have been started so.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        while len(_left(mark)) < 2:  # the command and its launcher
            assert running.poll() is None
            time.sleep(0.05)
        time.sleep(after_s)
        assert running.poll() is None
        started = time.monotonic()
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=20)
    finally:
        running.kill()
        running.wait()
    assert time.monotonic() - started < 5
    assert running.returncode == 130, errors
    assert _left(mark) == []
    assert list((tmp_path / "temporary").iterdir()) == []
