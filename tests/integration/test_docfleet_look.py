"""`docfleet look` as a person calls it: a file, a page, a picture and a table."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from shared.contracts.codec import decode
from shared.contracts.layout import PageLayout
from tests.integration.layout_worker.pages import HEADER, PAGES, document

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("look") / "harbour.pdf"
    path.write_bytes(document())
    return path


def look(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "docfleet.cli.main", "look", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "COLUMNS": "200"},
    )


def test_pages_become_pictures_and_tables(file: Path, tmp_path: Path) -> None:
    mixed, rotated = 1 + PAGES.index("mixed"), 1 + PAGES.index("rotated")
    done = look(file, "--page", f"{mixed},{rotated}", "-o", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    assert f"harbour.pdf, page {mixed} of {len(PAGES)}: mixed" in done.stdout
    assert "tasks: 1 rec" in done.stdout
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"harbour.page-00{n}{end}" for n in (mixed, rotated) for end in (".layout.json", ".png")]
    layout = decode((tmp_path / names[0]).read_bytes(), PageLayout)
    assert HEADER in [line.text for region in layout.regions for line in region.lines]
    with Image.open(tmp_path / names[3]) as picture:
        assert picture.width > picture.height, "a turned page is drawn as it is displayed"


def test_what_is_wrong_is_one_line(tmp_path: Path, file: Path) -> None:
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7\nnothing")
    done = look(broken)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "corrupt" in done.stderr
    assert "has no page 99" in look(file, "--page", 99).stderr
    assert "is not a page range" in look(file, "--page", "0").stderr


def test_help_teaches() -> None:
    said = look("--help").stdout
    for word in ("--page", "--layout", "--ocr", "reading order", "docfleet look report.pdf --page 3"):
        assert word in said
