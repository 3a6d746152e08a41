"""Every fault of a model server and what it becomes in the document: nothing cut or looping is ever a plain success."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.vl_outcomes import FAULTS, WRONG, Fault, Outcome, outcomes, page_of

pytestmark = [pytest.mark.integration, pytest.mark.slow]
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "vl-faults.md"

BELIEVED = {"none", "sixty-rows", "passing", "script", "status-500-once", "status-429-twice", "reset-once"}
CUT = {
    "length",
    "loop-to-cap",
    "loop",
    "loop-in-text",
    "loop-of-rows",
    "more-rows-than-room",
    "loop-in-a-cell",
    "open-table",
    "overlong",
}
WAITING = {"away"}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    made = asyncio.run(outcomes(tmp_path_factory.mktemp("faults")))
    return {outcome.fault.name: outcome for outcome in made}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_and_its_outcome(fault: Fault, found: dict[str, Outcome]) -> None:
    outcome = found[fault.name]
    assert outcome.waits == (fault.name in WAITING)
    if outcome.waits:
        return
    block = outcome.block
    assert outcome.document is not None
    assert block.route == "model"
    if fault.blank:
        assert (outcome.asked, outcome.text, block.fallback_from, outcome.codes) == (0, "", None, [])
    elif fault.name in BELIEVED:
        assert (block.method, block.fallback_from, outcome.codes) == ("vl", None, [])
        assert "n/a" in outcome.text if fault.name == "sixty-rows" else "Size" in outcome.text
    else:
        assert block.method == "det_rec"
        assert block.fallback_from == "glm-ocr"
        assert outcome.codes == ["vl_truncated" if fault.name in CUT else "vl_fallback"]
        assert "12.5" in outcome.text
    assert WRONG not in str(outcome.document.blocks)


def test_the_honest_table_of_sixty_rows_passes_untouched(found: dict[str, Outcome]) -> None:
    table = found["sixty-rows"].block.table
    assert table is not None
    assert (table.num_rows, table.num_cols) == (60, 2)
    assert [cell.text for cell in table.cells] == ["0", "n/a"] * 60
    assert found["sixty-rows"].asked == 1


def test_each_answer_that_is_refused_is_asked_for_once_more(found: dict[str, Outcome]) -> None:
    for name in ("passing", "length", "loop", "empty", "echo", "think", "prose", "overlong", "formula", "spans"):
        assert found[name].asked == 2, name


def test_the_page_of_the_documentation_says_what_is_so(found: dict[str, Outcome]) -> None:
    assert PAGE.read_text(encoding="utf-8") == page_of(list(found.values()))
