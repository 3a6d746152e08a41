"""The journal of a submission: whatever a file is called, it is known again."""

from __future__ import annotations

from pathlib import Path

import pytest

from docfleet.submitting import Journal

pytestmark = pytest.mark.unit

NAMES = [
    "a.pdf",
    "new\nline.pdf",
    "new\rline.pdf",
    "tab\there.pdf",
    "\udcff.pdf",
    "漢字 🙂.pdf",
    "back\\nslash.pdf",
    "",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_known_again_and_no_other_is(tmp_path: Path, name: str) -> None:
    journal = Journal(tmp_path / "j")
    journal.note("one", name)
    journal.close()
    again = Journal(tmp_path / "j")
    assert [other for other in NAMES if other in again] == [name]
    again.close()
