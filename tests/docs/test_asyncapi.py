"""The AsyncAPI document against AsyncAPI's own parser, with its rules; and that these rules find something where a document is wrong."""

from __future__ import annotations

import json

import pytest

from tests.conftest import without
from tests.docs.fences import ROOT
from tests.support import asyncapi_check
from tests.support.processes import Missing

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1200)]
FILE = ROOT / "docs" / "reference" / "asyncapi.json"


def test_the_document_is_valid_and_a_wrong_one_is_not(tmp_path):
    value = json.loads(FILE.read_text(encoding="utf-8"))
    value["operations"]["join.send.docs.parsed"]["action"] = "publish"
    wrong = tmp_path / "asyncapi.json"
    wrong.write_text(json.dumps(value))
    try:
        found = [one for one in asyncapi_check.findings(FILE, wrong) if one["severity"] <= 1]
    except Missing as missing:
        without(missing)
    assert [one for one in found if one["path"] == str(FILE)] == []
    assert [one for one in found if one["path"] == str(wrong) and one["severity"] == 0]
