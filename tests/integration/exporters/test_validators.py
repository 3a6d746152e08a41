"""docling-core loads what is exported and says what the document says; hocr-spec finds nothing wrong."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from docfleet import exports
from docfleet.exporters import Name
from shared.contracts.document import Link, ParsedDocument
from shared.contracts.records import SourceInfo
from shared.contracts.tables import table_of
from shared.documents import sniff
from shared.settings import Limits
from tests.support import formats_check
from tests.support.parsed import block, document, everything, page
from tests.support.processes import Missing

pytestmark = pytest.mark.integration
AWKWARD = "<b>&amp; \x00\x01\x0b\x1f \u2028 \ufffe 𠮷 \\ | ` \u202e rtl"


def samples() -> dict[str, ParsedDocument]:
    """A document with everything, one with text that is hard to hold, one without pages, one without anything."""
    ring = [
        block(0, "caption", "a", caption_ids=["p00001-b001"]),
        block(1, "caption", "b", caption_ids=["p00001-b000"]),
    ]
    hard = [block(2 + i, label, AWKWARD) for i, label in enumerate(("text", "list_item", "code", "title", "formula"))]
    hard.append(block(8, "text", "our site", links=[Link(start=0, end=8, uri="https://example.org/a b?c=<d>")]))
    hard.append(block(9, "table", table=table_of([])))
    types = {
        mime: document(
            [block(0, "text", "words")], source=SourceInfo(bucket="in", key="a/b", mime_type=mime, sha256="ab" * 32)
        )[0]
        for mime in (sniff.PDF, sniff.DOCX, *sniff.IMAGES)
    }
    return types | {
        "everything": everything()[0],
        "awkward": document([*ring, *hard])[0],
        "flow": document([block(0, "text", "words")], [page(1, unit=None, width=0.0, height=0.0)])[0],
        "empty": document([], [page(1, kind="blank", status="blank")])[0],
    }


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[str, Any]]:
    """By sample and format. Without the validators the tests skip and say why; in CI they fail."""
    folder = tmp_path_factory.mktemp("exports")
    files: dict[tuple[str, str], Path] = {}
    wanted: list[tuple[str, Name]] = [(name, "docling") for name in samples()]
    wanted += [(name, "hocr") for name in samples() if name != "flow"]
    for name, form in wanted:
        target = folder / f"{name.replace('/', ' ')}{'.hocr' if form == 'hocr' else '.json'}"
        target.write_bytes(exports.export(exports.Given(samples()[name]), form, Limits()))
        files[name, form] = target
    files["broken", "docling"] = folder / "broken.json"
    files["broken", "docling"].write_text('{"schema_name": "DoclingDocument", "name": "x", "version": "99.0.0"}')
    files["broken", "hocr"] = folder / "broken.hocr"
    files["broken", "hocr"].write_text(files["everything", "hocr"].read_text().replace("bbox 0 0", "bbox zero 0", 1))
    try:
        return dict(zip(files, formats_check.validated(list(files.values())), strict=True))
    except Missing as missing:
        if os.environ.get("DOCFLEET_TEST_REQUIRE_KAFKA") == "1":
            pytest.fail(str(missing))
        pytest.skip(str(missing))


def test_docling_core_loads_every_sample(answers: dict[tuple[str, str], dict[str, Any]]) -> None:
    assert [
        (key, one["said"])
        for key, one in answers.items()
        if key[1] == "docling" and key[0] in samples() and not one["ok"]
    ] == []


def test_docling_core_reads_what_the_document_says(answers: dict[tuple[str, str], dict[str, Any]]) -> None:
    facts = answers["everything", "docling"]["facts"]
    assert facts["texts"][:4] == [
        "Fish & chips <2026>",
        "1 Fish",
        "Fish swim in the sea.\nChips do not; “they” sink.",
        "salt",
    ]
    assert facts["tables"][0][0] == ["Name", "Count"]
    assert facts["tables"][0][4] == ["r4 c0 & <b>", "r4 c1 & <b>"]
    assert facts["tables"][1] == [["both", "both"], ["left", "right"]]
    for words in ("# Fish &amp; chips", "2. vinegar", "| Name", "Table 1: what there is", "公司章", "- [x] agreed"):
        assert words in facts["markdown"], words
    for words in ("Annual report", "hidden words"):
        assert words not in facts["markdown"], "only the body"
    assert facts["markdown"].count("Table 1: what there is") == 1


def test_hocr_spec_finds_every_sample_valid(answers: dict[tuple[str, str], dict[str, Any]]) -> None:
    assert [
        (key, one["said"]) for key, one in answers.items() if key[1] == "hocr" and key[0] in samples() and not one["ok"]
    ] == []


def test_the_validators_do_refuse(answers: dict[tuple[str, str], dict[str, Any]]) -> None:
    assert [answers["broken", form]["ok"] for form in ("docling", "hocr")] == [False, False]
