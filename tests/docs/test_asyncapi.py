"""The AsyncAPI document against AsyncAPI's own parser, with its rules."""

from __future__ import annotations

import json

import pytest

from tests.conftest import without
from tests.docs.fences import ROOT
from tests.support import asyncapi_check
from tests.support.processes import Missing

pytestmark = pytest.mark.integration
FILE = ROOT / "docs" / "reference" / "asyncapi.json"


def _errors(*files):
    try:
        return [one for one in asyncapi_check.findings(*files) if one["severity"] <= 1]
    except Missing as missing:
        without(missing)


def test_the_document_is_valid():
    assert _errors(FILE) == []


def test_a_document_that_is_wrong_is_refused(tmp_path):
    value = json.loads(FILE.read_text(encoding="utf-8"))
    value["operations"]["join.send.docs.parsed"]["action"] = "publish"
    wrong = tmp_path / "asyncapi.json"
    wrong.write_text(json.dumps(value))
    assert [one for one in _errors(wrong) if one["severity"] == 0]
