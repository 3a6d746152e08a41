"""Which files a command line means, and what their results are called."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docfleet.inputs import find, unique_names

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


def test_a_path_that_is_not_there_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"gone\.pdf"):
        find([tmp_path / "gone.pdf"])


def test_equal_names_keep_their_suffix_and_then_a_number(tmp_path):
    _touch(tmp_path, "1/r.pdf", "2/r.pdf", "2/R.png", "2/q.pdf")
    found = find([tmp_path / "1/r.pdf", tmp_path / "2/r.pdf", tmp_path / "2/R.png", tmp_path / "2/q.pdf"])
    assert [given.name for given in found.inputs] == ["r.pdf", "r.pdf-2", "R.png", "q"]


@given(st.lists(st.sampled_from(["r.pdf", "R.pdf", "r.png", "r.pdf.pdf", "r.pdf-2.png", "r.PDF.tif", "r"]), max_size=9))
def test_no_result_overwrites_another(files):
    names = unique_names([Path(file) for file in files])
    assert len({name.casefold() for name in names}) == len(files)
