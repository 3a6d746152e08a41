"""Nothing honest is taken for a loop: every text and every table of the corpus' truth passes the guards."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from services.vl_worker.grammars.html_table import parse_html_table
from services.vl_worker.guards import fault_of_table, is_hopeless
from services.vl_worker.loops import is_looping

pytestmark = pytest.mark.integration
TRUTH = Path(__file__).parents[4] / "shared" / "corpus" / "truth"
FILES = sorted(TRUTH.glob("*")) if TRUTH.is_dir() else []


@pytest.mark.skipif(not FILES, reason="the corpus with its truth is not there")
def test_texts_and_tables_of_the_corpus_pass() -> None:
    texts = [(file.name, file.read_text(encoding="utf-8")) for file in FILES]
    whole = [name for name, text in texts if not name.endswith((".json", ".html")) and is_looping(text)]
    parts = [(name, part) for name, text in texts for part in text.split("\n\n") if is_looping(part)]
    tables = [
        (name, table)
        for name, text in texts
        for table in re.findall(r"<table.*?</table>", text, re.DOTALL | re.IGNORECASE)
    ]
    faults = [
        name for name, table in tables if is_hopeless(table) or fault_of_table(parse_html_table(table, page_no=1))
    ]
    assert len(tables) >= 15
    assert whole == parts == faults == []
