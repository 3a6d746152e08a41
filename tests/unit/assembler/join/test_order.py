"""In whatever order and however often results come, the same is composed: what compose makes of it has the same bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.contracts import records as r
from shared.contracts.codec import encode
from tests.unit.assembler.join import tables as t
from tests.unit.assembler.join.test_state import Run

pytestmark = pytest.mark.unit

PAGES = 6


def events(ranges: int) -> list[Any]:
    """Results of all pages: layouts with no, one or two tasks, readings, one failed layout and one failed reading."""
    found: list[Any] = [t.failed([PAGES], f"layout-g0-p{PAGES:05d}")]
    for page in range(1, PAGES):
        tasks = [t.rec(page), f"vl-{page}"][: page % 3]
        found.append(t.laid_out(page, tasks))
        found += [(t.failed if (page, task) == (2, "vl-2") else t.read)([page], task) for task in tasks]
    if ranges:
        for first in range(1, PAGES + 1, ranges):
            last = min(first + ranges - 1, PAGES)
            task = f"vl-g0-p{first:05d}" + (f"-{last:05d}" if last > first else "")
            found.append(t.read([page for page in range(first, last + 1) if page < PAGES], task))
    return [event for event in found if getattr(event, "pages", [1])]


def composed(sequence: list[Any], ranges: int, window: int) -> dict[str, bytes]:
    """What is asked of compose, by task; it answers each the first time."""
    run = Run(window)
    asked: dict[str, bytes] = {}
    waiting = [t.opened(pages=PAGES, range_size=ranges, vl_profile="p" if ranges else None), *sequence]
    while waiting:
        for emit in run(waiting.pop(0)).emits:
            task = emit.record
            if isinstance(task, r.ComposePage | r.ComposeDocument):
                assert asked.setdefault(task.task_id, encode(task)) == encode(task)
            if isinstance(task, r.ComposePage):
                waiting.append(t.composed(task.page_no))
    return asked


@given(data=st.data(), ranges=st.sampled_from([0, 2, 4]), window=st.integers(4, 9))
@settings(max_examples=150)
def test_order_and_repetition_do_not_matter(data: st.DataObject, ranges: int, window: int) -> None:
    straight = events(ranges)
    expected = composed(straight, ranges, window)
    assert len(expected) == PAGES + 1, "every page and the document"
    doubled = straight + data.draw(st.lists(st.sampled_from(straight), max_size=12))
    assert composed(data.draw(st.permutations(doubled)), ranges, window) == expected
