"""What an audit says that could not be made."""

from __future__ import annotations

import json

import pytest

from tests.support.audit import verdict

pytestmark = pytest.mark.unit

SOUND = {"name": "certifi", "version": "2026.1.1", "vulns": []}
BAD = {"name": "pillow", "version": "9.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["9.1"], "aliases": []}]}
UNKNOWN = {"name": "lxml", "skip_reason": "Dependency not found on PyPI and could not be audited: lxml (6.1)"}


@pytest.mark.parametrize(
    ("packages", "code", "told"),
    [
        ([SOUND], 0, "1 packages, 0 with"),
        ([SOUND, BAD], 1, "PYSEC-1, mended in 9.1"),
        ([SOUND, UNKNOWN], 2, "no such data of lxml"),
        ([UNKNOWN, BAD], 1, "PYSEC-1"),
        ([], 2, "0 packages"),
    ],
)
def test_a_package_that_nobody_knows_is_not_called_sound(packages, code: int, told: str) -> None:
    found, lines = verdict(json.dumps({"dependencies": packages}), "")
    assert found == code
    assert told in "\n".join(lines)


def test_no_answer_is_no_result() -> None:
    assert verdict("", "ConnectionError: away")[0] == 2
    assert "away" in verdict("", "ConnectionError: away")[1][0]
