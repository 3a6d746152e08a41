"""The reader of fences, so that no command hides from the tests that need it."""

from __future__ import annotations

import pytest

from tests.docs.fences import commands, fences

pytestmark = pytest.mark.unit


def test_fences_are_found_with_their_language_line_and_mark(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A\n\n```sh\none\n\ntwo\n```\n\n<!-- not run: needs a cluster -->\n\n```sh\nthree\n```\n- item\n  ```json\n  {}\n  ```\n"
        "````md\n```sh\ninside\n```\n````\n"
    )
    found = [(f.line, f.language, f.code, f.not_run) for f in fences(page)]
    assert found == [
        (4, "sh", "one\n\ntwo", None),
        (12, "sh", "three", "needs a cluster"),
        (16, "json", "{}", None),
        (19, "md", "```sh\ninside\n```", None),
    ]


def test_a_fence_that_is_not_closed_is_an_error(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```sh\none\n")
    with pytest.raises(ValueError, match="not closed"):
        list(fences(page))


def test_commands_are_lines_and_go_on_after_a_backslash():
    assert list(commands("# why\none  # two\n\nthree \\\n  --four\n")) == [(1, "one  # two"), (3, "three   --four")]
