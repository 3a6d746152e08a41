"""Which pages a follower hands out: each once, whatever is reported, listed, lost or repeated."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docfleet.cli.watch import progress_line
from docfleet.following import Following, ready
from shared.contracts import records as r
from shared.contracts.options import page_ranges

pytestmark = pytest.mark.unit


class Shelf:
    """A store with these pages, of a document that has ended or not."""

    def __init__(self, *pages: int, ended: bool = False) -> None:
        self.pages, self.done, self.looks = list(pages), ended, 0

    def composed(self, document_id: str, generation: int) -> list[int]:
        self.looks += 1
        return sorted(self.pages)

    def ended(self, document_id: str, generation: int) -> bool:
        return self.done


def report(pages: list[int], selected: list[int], generation: int = 0, **more: Any) -> r.DocumentProgress:
    bits = sum(1 << selected.index(page) for page in pages).to_bytes((len(selected) + 7) // 8, "little")
    return r.DocumentProgress(
        **{
            "document_id": "d",
            "generation": generation,
            "state": "open",
            "pages_total": len(selected),
            "pages_done": len(pages),
            "pages_failed": 0,
            "pages_ready": base64.b64encode(bits).decode(),
            "updated_at": datetime.now(UTC),
            "selected": page_ranges(selected),
            **more,
        }
    )


def parsed(generation: int = 0) -> r.DocumentParsed:
    source = r.SourceInfo(bucket="b", key="k")
    return r.DocumentParsed(document_id="d", generation=generation, status="success", source=source)


SELECTED = [2, 3, 7, 11, 12, 13, 14, 15, 900]


def test_pages_come_as_they_are_reported_each_once() -> None:
    following = Following("d", 0, Shelf(3))
    assert following.take() == [3], "finished before anybody listened"
    following.hear(report([2, 3], SELECTED))
    following.hear(report([2, 3, 900], SELECTED))
    following.hear(report([7], SELECTED, document_id="another"))
    following.hear(report([7], SELECTED, generation=1))
    assert following.take() == [2, 900]
    assert following.take() == []
    assert not following.ended


def test_the_last_look_finds_what_was_never_reported() -> None:
    shelf = Shelf()
    following = Following("d", None, shelf)
    assert following.take() == []
    assert shelf.looks == 0, "no generation is known yet"
    following.hear(report([2], SELECTED, generation=4))
    assert following.generation == 4
    assert following.take() == [2]
    shelf.pages = [2, 3, 7]
    following.hear(parsed(3))
    assert not following.ended, "a lower generation says nothing of this one"
    following.hear(parsed(4))
    assert following.ended
    assert following.take() == [3, 7]


def test_a_document_that_ended_before_is_listed_and_done() -> None:
    following = Following("d", 0, Shelf(1, 2, ended=True))
    assert following.ended
    assert following.take() == [1, 2]


@given(st.sets(st.integers(1, 5_000), min_size=1, max_size=40), st.data())
def test_bits_are_page_numbers(selected: set[int], data: st.DataObject) -> None:
    pages = sorted(data.draw(st.sets(st.sampled_from(sorted(selected)))))
    assert ready(report(pages, sorted(selected))) == pages


def test_a_foreign_report_has_no_pages() -> None:
    assert ready(report([], [1], pages_ready="§")) == []
    assert ready(msgspec.structs.replace(report([1], [1]), selected="x")) == []


def test_progress_in_a_line_says_where_the_pages_are() -> None:
    line = progress_line(report([2], SELECTED, stages=r.PageStages(layout=3, composing=1)))
    assert "1/9 pages, 3 in layout, 1 being composed" in line
