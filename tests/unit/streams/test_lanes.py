"""Which lane goes next."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.children.preference import BULK_EVERY, Preference, bulk_places
from shared.contracts.records import DocumentSubmitted, RecTask, RegionsRead, SourceRef
from shared.streams.lanes import lane_of, topic_of

pytestmark = pytest.mark.unit


def test_topics_follow_the_record() -> None:
    task = {"document_id": "d", "generation": 0, "page_no": 1, "task_id": "t", "layout_sha256": "0"}
    assert topic_of("docs.rec", RecTask(**task)) == "docs.rec"
    assert topic_of("docs.rec", RecTask(**task, lane="bulk")) == "docs.rec.bulk"
    source = SourceRef(bucket="b", key="k")
    assert topic_of("docs.incoming", DocumentSubmitted(source=source, priority="bulk")) == "docs.incoming.bulk"
    assert topic_of("docs.incoming", DocumentSubmitted(source=source, priority="interactive")) == "docs.incoming"
    read = RegionsRead(document_id="d", generation=0, pages=[1], task_id="t", stage="rec")
    assert topic_of("docs.results", read) == "docs.results"
    assert lane_of("docs.rec.bulk") == "bulk"
    assert lane_of("docs.rec") == "first"


def test_the_first_lane_is_preferred_and_the_second_never_starves() -> None:
    preference = Preference()
    chosen = []
    for _ in range(100):
        lane = preference.choose({"first": True, "bulk": True}, 0, 8)
        assert lane is not None
        preference.taken(lane, bulk_waiting=True)
        chosen.append(lane)
    assert chosen.count("bulk") == 100 // BULK_EVERY
    assert max(len(run) for run in "".join("b" if lane == "bulk" else "f" for lane in chosen).split("b")) < BULK_EVERY


def test_an_idle_lane_takes_nothing_from_the_other() -> None:
    preference = Preference()
    assert preference.choose({"first": False, "bulk": True}, 0, 8) == "bulk"
    assert preference.choose({"first": True, "bulk": False}, 0, 8) == "first"
    assert preference.choose({"first": False, "bulk": False}, 0, 8) is None


@given(st.integers(1, 2000))
def test_bulk_work_leaves_a_place_for_the_first_lane(places: int) -> None:
    assert 1 <= bulk_places(places) <= places
    if places > 1:
        assert bulk_places(places) < places


def test_bulk_at_its_places_waits() -> None:
    assert Preference().choose({"bulk": True}, bulk_places(8), bulk_places(8)) is None
