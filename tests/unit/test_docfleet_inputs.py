"""Which files a command line means, and what their results are called."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docfleet.exporters import FORMATS
from docfleet.inputs import find, unique_names
from docfleet.sources import _below

pytestmark = pytest.mark.unit


def _touch(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def test_a_folder_gives_its_documents_with_their_folders(tmp_path):
    _touch(tmp_path, "b.PDF", "a/b.pdf", "a/c.tiff", "notes.txt", ".hidden/x.pdf", "a/.x.pdf")
    found = find([tmp_path])
    assert [given.name for given in found.inputs] == ["a/b", "a/c", "b"]
    assert found.left_out == 1


def test_a_named_file_is_taken_whatever_it_is_called(tmp_path):
    _touch(tmp_path, "odd.bin")
    assert [given.name for given in find([tmp_path / "odd.bin"]).inputs] == ["odd"]


def test_a_file_named_twice_is_parsed_once(tmp_path):
    _touch(tmp_path, "a.pdf")
    assert len(find([tmp_path / "a.pdf", tmp_path, tmp_path / "a.pdf"]).inputs) == 1


def test_what_an_earlier_run_wrote_is_no_document(tmp_path):
    results = ["r.json", "r.md", "r.overlays/page-001.png", "r.searchable.pdf"]
    _touch(tmp_path, "r.pdf", *results, *(f"out/{name}" for name in results))
    _touch(tmp_path, "mine.overlays/page-001.png", "mine.searchable.pdf")
    names = ["mine.overlays/page-001", "mine.searchable", "r"]
    assert [given.name for given in find([tmp_path]).inputs] == names
    assert len(find([tmp_path / "r.searchable.pdf"]).inputs) == 1
    below = sorted(Path(path).relative_to(tmp_path).with_suffix("").as_posix() for path in _below(str(tmp_path)))
    assert below == names


def test_what_is_no_file_is_told_and_found_in_no_folder(tmp_path):
    os.mkfifo(tmp_path / "pipe.pdf")
    (tmp_path / "loop.pdf").symlink_to("loop.pdf")
    (tmp_path / "gone.pdf").symlink_to("nothing")
    (tmp_path / "self").symlink_to(".")
    assert find([tmp_path]).inputs == []
    with pytest.raises(OSError, match="neither a file nor a folder"):
        find([tmp_path / "pipe.pdf"])


def test_a_path_that_is_not_there_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"gone\.pdf"):
        find([tmp_path / "gone.pdf"])


def test_equal_names_keep_their_suffix_and_then_a_number(tmp_path):
    _touch(tmp_path, "1/r.pdf", "2/r.pdf", "2/R.png", "2/q.pdf")
    found = find([tmp_path / "1/r.pdf", tmp_path / "2/r.pdf", tmp_path / "2/R.png", tmp_path / "2/q.pdf"])
    assert [given.name for given in found.inputs] == ["r.pdf", "r.pdf-2", "R.png", "q"]


@pytest.mark.parametrize("letter", ["L", "漢", "🙂", "\udcff"])
@pytest.mark.parametrize("suffix", [".pdf", ".", "." + "s" * 240])
def test_a_long_name_leaves_room_for_the_names_of_results(letter, suffix):
    stem = letter * ((255 - len(suffix)) // len(os.fsencode(letter)))
    names = unique_names([Path("a", stem + suffix), Path("b", stem + suffix), Path("b", stem + suffix.upper())])
    assert len({name.casefold() for name in names}) == 3
    longest = max(len(form.suffix) for form in FORMATS.values()) + len(".part")
    assert max(len(os.fsencode(Path(name).name)) for name in names) + longest <= 255


@given(st.lists(st.sampled_from(["r.pdf", "R.pdf", "r.png", "r.pdf.pdf", "r.pdf-2.png", "r.PDF.tif", "r"]), max_size=9))
def test_no_result_overwrites_another(files):
    names = unique_names([Path(file) for file in files])
    assert len({name.casefold() for name in names}) == len(files)
