"""The reference pages are what the code says today."""

from __future__ import annotations

from pathlib import Path

import pytest

from docfleet import reference
from shared.contracts.errors import ErrorCode
from shared.settings import Settings

pytestmark = pytest.mark.unit

FOLDER = Path(__file__).parents[2] / "docs" / "reference"


@pytest.mark.parametrize("name", list(reference.PAGES))
def test_pages_are_current(name):
    assert (FOLDER / name).read_text(encoding="utf-8") == reference.PAGES[name](), "run ./dev schemas"


def test_every_error_is_explained():
    assert set(reference.MEANING) == set(ErrorCode)


def test_every_setting_is_described_and_listed():
    page = reference.settings_page()
    listed = {
        variable for variable, _, _ in reference.effective(Settings()) if "__" not in variable.partition("_STAGES__")[2]
    }
    missing = [variable for variable in listed if "STAGES" not in variable and f"`{variable}`" not in page]
    assert not missing
    assert not [line for line in page.splitlines() if line.startswith("| `DOCFLEET") and line.endswith("|  |")]


def test_pages_do_not_depend_on_the_machine(monkeypatch):
    before = {name: page() for name, page in reference.PAGES.items()}
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    monkeypatch.setenv("DOCFLEET_KAFKA__BOOTSTRAP_SERVERS", "other:1")
    assert before == {name: page() for name, page in reference.PAGES.items()}
