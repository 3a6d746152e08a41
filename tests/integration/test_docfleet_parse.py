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
from confluent_kafka import Producer
from PIL import Image

from docfleet.client import Client
from docfleet.inputs import Input
from docfleet.outcomes import exit_code
from docfleet.parsing import Run
from shared.contracts.codec import encode
from shared.contracts.document import ParsedDocument
from shared.contracts.options import Options
from shared.contracts.records import DocumentParsed, SourceInfo
from shared.objects import keys
from shared.settings import Settings
from shared.streams.clients import producer_config
from shared.streams.local import LocalBroker
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


def test_one_file_that_cannot_be_read_or_written_costs_no_other(tmp_path, mark):
    folder, out = tmp_path / "given", tmp_path / "out"
    folder.mkdir()
    page = _pdf(folder / "good.pdf", 1).read_bytes()
    secret = tmp_path / "my password, é.txt"
    secret.write_text("open sesame\n", encoding="utf-8")
    locked = pymupdf.open(folder / "good.pdf")
    locked.save(folder / "locked.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="open sesame", owner_pw="o")
    for name in (b"\xff\xfe.pdf", b"L" * 251 + b".pdf", b"in the way.pdf", b"new\nline.pdf"):
        Path(os.fsdecode(os.path.join(os.fsencode(folder), name))).write_bytes(page)
    (out / "in the way.json").mkdir(parents=True)
    done = _parse(folder, "-o", out, "--layout", "fast", "--ocr", "off", "--password-file", secret, "--no-overlays")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "6 documents: 6 success" in done.stdout
    assert "results cannot be written: Is a directory" in done.stdout
    names = {os.fsencode(path.name) for path in out.glob("*.json") if path.is_file()}
    assert names == {b"good.json", b"locked.json", b"\xff\xfe.json", b"L" * 200 + b".json", b"new\nline.json"}
    assert "new\\nline  success" in done.stdout
    assert not list(out.glob("*.part"))
    assert _left(mark) == []


def test_a_file_that_vanished_or_may_not_be_read_is_an_outcome(tmp_path):
    with LocalBroker() as broker:
        settings = Settings(
            kafka={"embedded": True, "bootstrap_servers": broker.bootstrap_servers},
            objects={"kind": "folder", "folder": tmp_path / "objects"},
        )
        given = Input(tmp_path / "gone.pdf", "gone")
        with Client(settings) as client, Run(client, [given], tmp_path / "out", options=Options()) as run:
            (outcome,) = run.step()
            assert run.done
    (error,) = outcome.parsed.errors
    assert (error.code, outcome.parsed.status) == ("source_missing", "failure")
    assert "not there any more" in error.message
    assert exit_code([outcome]) == 2


def test_results_stay_until_the_end_is_marked_and_nobody_waits_for_them(tmp_path):
    """Compose reads them to write the mark; files with the same content wait for the mark and are answered from them."""
    for name in ("a.pdf", "b.pdf"):
        (tmp_path / name).write_bytes(b"the same")
    with LocalBroker() as broker:
        settings = Settings(
            kafka={"embedded": True, "bootstrap_servers": broker.bootstrap_servers},
            objects={"kind": "folder", "folder": tmp_path / "objects"},
        )
        given = [Input(tmp_path / name, name) for name in ("a.pdf", "b.pdf")]
        producer = Producer(producer_config(settings))
        with Client(settings) as client, Run(client, given, tmp_path / "out", options=Options(), draw=False) as run:
            store, bucket = client.store, settings.objects.bucket
            client.background.run(store.ensure_bucket(bucket))
            run.step()
            first, second = run.tracker.courses
            uploads = {
                name: next((tmp_path / "objects/docfleet-uploads" / name).rglob("*.pdf")) for name in (first, second)
            }

            def end(name: str) -> None:
                upload = uploads[name].relative_to(tmp_path / "objects/docfleet-uploads").as_posix()
                source = SourceInfo(bucket="docfleet-uploads", key=upload)
                record = DocumentParsed(document_id=name, generation=0, status="failure", source=source)
                producer.produce("docs.parsed", key=name, value=encode(record))
                assert producer.flush(10) == 0
                deadline = time.monotonic() + 20
                while not run.step():
                    assert time.monotonic() < deadline

            end(first)
            client.background.run(store.put(bucket, keys.done(first), b"{}"))
            time.sleep(1)
            assert all(path.exists() for path in uploads.values())
            end(second)
            deadline = time.monotonic() + 20
            while uploads[first].exists():
                assert time.monotonic() < deadline
                time.sleep(0.1)
            time.sleep(1)
            assert uploads[second].exists()
            client.background.run(store.put(bucket, keys.done(second), b"{}"))
            while uploads[second].exists():
                assert time.monotonic() < deadline
                time.sleep(0.1)
