"""What is recorded of a record's way, and what its outputs say: around a toy stage and around the client, on the in-process broker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from docfleet import Client
from docfleet.sending import Sender
from shared.contracts import records as r
from shared.contracts.codec import encode
from shared.settings import Settings
from shared.streams.local import LocalBroker
from shared.streams.runner import Runner
from shared.telemetry import spans
from shared.telemetry.health import Health
from shared.telemetry.tracing import TraceParent, parse
from tests.support import topic
from tests.support.toy import ToyStage, task

pytestmark = pytest.mark.integration

SENT = TraceParent("a" * 32, "b" * 16, 1)
UNSENT = TraceParent("c" * 32, "d" * 16, 0)


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    found = InMemorySpanExporter()
    spans.install(spans.Recorder("rec_worker", 1.0, found, at_once=True))
    yield found
    spans.install(None)


@pytest.fixture
def settings(tmp_path) -> Iterator[Settings]:
    with LocalBroker() as broker:
        yield Settings(
            kafka={"embedded": True, "bootstrap_servers": broker.bootstrap_servers},
            objects={"kind": "folder", "folder": tmp_path / "objects"},
            stages={"rec_worker": {"commit_interval_s": 0.1, "drain_s": 5}},
        )


def sent_by(message: Any) -> TraceParent | None:
    return parse(dict(message.headers())["traceparent"])


def ids(span: Any) -> tuple[str, str, str | None]:
    """Trace, span and parent, in hex."""
    parent = None if span.parent is None else f"{span.parent.span_id:016x}"
    return f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}", parent


async def test_the_span_of_a_record_lies_below_its_cause_and_above_its_outputs(settings, exporter) -> None:
    bootstrap = settings.kafka.bootstrap_servers
    writer = topic.Writer(bootstrap)
    for name, trace in (("ok-1", SENT), ("fail-crashed-2", SENT), ("die-in-company-3", SENT), ("ok-4", UNSENT)):
        writer.write("docs.rec", encode(task(name)), key=b"k", headers={"traceparent": str(trace)}, partition=0)
    writer.flush()
    runner = Runner(ToyStage(), settings, Health())
    ended = asyncio.create_task(runner.run())
    try:
        messages = await asyncio.to_thread(topic.read, bootstrap, "docs.results", 4, 60.0, 0.5)
    finally:
        runner.stop()
        await asyncio.wait_for(ended, 30)
    found: dict[str, list[Any]] = {}
    for span in exporter.get_finished_spans():
        found.setdefault(span.attributes["docfleet.task_id"], []).append(span)
    assert set(found) == {"ok-1", "fail-crashed-2", "die-in-company-3"}, "nobody records the fourth"
    for name, recorded in found.items():
        for span in recorded:
            assert (ids(span)[0], ids(span)[2]) == (SENT.trace_id, SENT.span_id), name
            assert span.attributes["messaging.destination.name"] == "docs.rec"
            assert span.attributes["docfleet.waited_s"] >= 0
    (failed,) = found["fail-crashed-2"]
    assert failed.attributes["error.type"] == "crashed"
    assert not failed.status.is_ok
    carried = {trace.span_id for m in messages if (trace := sent_by(m)) is not None and trace.sampled}
    assert carried <= {ids(span)[1] for recorded in found.values() for span in recorded}
    quiet = [trace for m in messages if (trace := sent_by(m)) is not None and trace.trace_id == UNSENT.trace_id]
    assert [trace.sampled for trace in quiet] == [False]


async def test_a_record_that_runs_again_has_a_span_for_each_run(settings, exporter) -> None:
    bootstrap = settings.kafka.bootstrap_servers
    writer = topic.Writer(bootstrap)
    writer.write("docs.rec", encode(task("die-1")), key=b"k", headers={"traceparent": str(SENT)}, partition=0)
    writer.flush()
    stage = ToyStage()
    runner = Runner(stage, settings, Health())
    ended = asyncio.create_task(runner.run())
    try:
        await asyncio.to_thread(topic.read, bootstrap, "docs.results", 1, 60.0)
    finally:
        runner.stop()
        await asyncio.wait_for(ended, 30)
    recorded = [ids(span) for span in exporter.get_finished_spans()]
    assert stage.runs["die-1"] == len(recorded) > 1
    assert len({span for _, span, _ in recorded}) == len(recorded)
    assert {parent for _, _, parent in recorded} == {SENT.span_id}


def test_what_a_client_submits_begins_the_trace(settings, exporter) -> None:
    with Client(settings) as client:
        client.submit("s3://in/a.pdf", document_id="one")
    with Sender(settings, "tools") as sender:
        record = r.DocumentSubmitted(document_id="two", source=r.SourceRef(bucket="in", key="b.pdf"))
        sender.send("docs.incoming", "two", record)
    messages = topic.read(settings.kafka.bootstrap_servers, "docs.incoming", 2, 60.0)
    recorded = {ids(span) for span in exporter.get_finished_spans()}
    headers = [trace for m in messages if (trace := sent_by(m)) is not None]
    assert recorded == {(trace.trace_id, trace.span_id, None) for trace in headers}
    assert all(trace.sampled for trace in headers)
    assert {span.name for span in exporter.get_finished_spans()} == {"send DocumentSubmitted"}
