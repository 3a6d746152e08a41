"""The benchmark of the join measures whole lives of documents, not events that are ignored."""

from __future__ import annotations

import pytest

from benchmarks.lib.join_cost import Counted, Rows, cost, life, state_bytes
from services.assembler.join.driver import Driver, Record
from shared.contracts.codec import encode
from shared.contracts.records import DocumentComposed

pytestmark = pytest.mark.unit


def test_a_life_ends_with_one_terminal_record_and_asks_for_all_work() -> None:
    outbox = Counted()
    rows = Rows(outbox)
    topics: list[str] = []
    append = outbox.append
    outbox.append = lambda topic, *given, **more: (topics.append(topic), append(topic, *given, **more))[1]  # type: ignore[method-assign]
    driver = Driver(rows, outbox, 128, 300.0)  # type: ignore[arg-type]
    events = list(life("d", 7))
    assert isinstance(events[-1], DocumentComposed)
    for at, event in enumerate(events):
        driver.handle(Record("docs.results", 0, at, 0, b"d", encode(event), []))
    assert topics.count("parsed") == 1
    assert topics.count("docs.compose") == 7 + 1
    assert topics.count("docs.dlq") == 0
    assert rows.marks["d"].status == "success"


def test_costs_are_of_every_event() -> None:
    found = cost(10, 64, 1)
    assert found.us > 1
    assert found.records > 2


def test_state_takes_room() -> None:
    assert 200 < state_bytes("open", 20_000) < 2_000
    assert 100 < state_bytes("ended", 20_000) < 500
