"""Which spans are recorded, below which, and that work never depends on it."""

from __future__ import annotations

import sys
import time

import pytest

from services.assembler.join.driver import Record, traces
from services.assembler.join.turn import Outcome
from services.rec_worker.batcher import Flush
from services.rec_worker.call import BatchFact
from services.rec_worker.facts import record_batches
from shared.settings import Telemetry
from shared.streams.traced import caused
from shared.telemetry import metrics, spans, tracing
from shared.telemetry.tracing import TraceParent

pytestmark = pytest.mark.unit

SENT = TraceParent("a" * 32, "b" * 16, 1)
UNSENT = TraceParent("a" * 32, "b" * 16, 0)


class Recorded:
    """A recorder whose spans lie in `exporter`."""

    def __init__(self, ratio: float = 1.0) -> None:
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        self.exporter = InMemorySpanExporter()
        self.recorder = spans.Recorder("rec_worker", ratio, self.exporter, at_once=True)
        spans.install(self.recorder)

    def all(self) -> list:
        return list(self.exporter.get_finished_spans())


@pytest.fixture
def recorded():
    yield Recorded()
    spans.install(None)


@pytest.fixture(autouse=True)
def _off():
    yield
    spans.install(None)


def head(trace: TraceParent | None) -> list[tuple[str, bytes | None]]:
    return [] if trace is None else [("traceparent", str(trace).encode())]


def test_nothing_is_recorded_unless_it_is_asked_for():
    assert not tracing.new().sampled
    assert spans.decided(tracing.new()).sampled is False
    assert spans.begin("x", SENT) is spans.NOT_RECORDED
    began = time.perf_counter()
    for _ in range(10_000):
        spans.begin("x", SENT).end()
    assert time.perf_counter() - began < 5, "half a millisecond each is a hundred times what it takes"


def test_a_span_has_the_ids_its_records_carried_before_it_began(recorded):
    child = SENT.child()
    span = spans.begin("process", child, SENT, "consumer", {"docfleet.page_no": 3}, at=10.0)
    span.failed("crashed", "as told")
    span.end(12.5)
    (found,) = recorded.all()
    assert f"{found.context.trace_id:032x}" == SENT.trace_id
    assert f"{found.context.span_id:016x}" == child.span_id
    assert f"{found.parent.span_id:016x}" == SENT.span_id
    assert (found.start_time, found.end_time) == (10_000_000_000, 12_500_000_000)
    assert dict(found.attributes) == {"docfleet.page_no": 3, "error.type": "crashed"}
    assert found.resource.attributes["service.name"] == "docfleet/rec_worker"
    assert not found.status.is_ok


def test_the_first_span_of_a_trace_has_no_parent(recorded):
    spans.begin("send", SENT, kind="producer").end()
    (found,) = recorded.all()
    assert found.parent is None
    assert f"{found.context.trace_id:032x}" == SENT.trace_id


def test_the_share_of_documents_is_what_was_asked_for_and_depends_on_the_trace_only():
    Recorded(ratio=0.1)
    traces = [tracing.new() for _ in range(5_000)]
    chosen = [spans.decided(trace).sampled for trace in traces]
    assert 350 < sum(chosen) < 650, "ten standard deviations around 500"
    assert chosen == [spans.decided(trace).sampled for trace in traces]
    Recorded(ratio=0.0)
    assert not any(spans.decided(trace).sampled for trace in traces)
    Recorded(ratio=1.0)
    assert all(spans.decided(trace).sampled for trace in traces)


def test_who_sent_the_flag_has_decided_and_else_ingest_does(recorded):
    trace, parent = caused(head(SENT), decides=False)
    assert (trace.trace_id, trace.sampled, parent) == (SENT.trace_id, True, SENT)
    trace, parent = caused(head(SENT), decides=True)
    assert (trace.trace_id, trace.sampled, parent) == (SENT.trace_id, True, SENT)
    trace, parent = caused(head(UNSENT), decides=True)
    assert (trace.trace_id, trace.sampled, parent) == (UNSENT.trace_id, True, None), "what came before is nowhere"
    assert caused(head(UNSENT), decides=False)[0].sampled is False
    trace, parent = caused(head(None), decides=True)
    assert (trace.sampled, parent) == (True, None)
    assert caused([("traceparent", b"\xff")], decides=False)[0].sampled is False


def event(trace: TraceParent | None) -> Record:
    return Record("docs.results", 0, 0, 0, b"d", b"", head(trace))


def test_what_the_join_does_lies_below_what_caused_it_or_below_the_opening_of_the_document():
    opened = TraceParent(SENT.trace_id, "c" * 16, 1)
    outcome = Outcome("d", trace_id=SENT.trace_id, traceparent=str(opened))
    trace, parent = traces(event(SENT), outcome)
    assert (trace.trace_id, trace.sampled, parent) == (SENT.trace_id, True, SENT)
    timer = TraceParent("9" * 32, "8" * 16, 0)
    for header in (timer, None):
        trace, parent = traces(event(header), outcome)
        assert (trace.trace_id, trace.sampled, parent) == (SENT.trace_id, True, opened)
    trace, parent = traces(event(timer), Outcome("d", trace_id=SENT.trace_id))
    assert (trace.trace_id, trace.sampled, parent) == (SENT.trace_id, False, None), "opened by an earlier version"
    trace, parent = traces(event(SENT), Outcome("d"))
    assert parent == SENT


def test_a_batch_lies_below_its_first_page_and_links_to_the_others(recorded):
    other = TraceParent("d" * 32, "e" * 16, 1)
    fact = BatchFact(
        bucket=320,
        items=4,
        room=8,
        documents=2,
        width=900,
        flush=Flush.full,
        seconds=0.5,
        ended_at=100.0,
        traces=[str(SENT), str(other)],
    )
    silent = BatchFact(bucket=320, items=4, room=8, documents=2, width=900, flush=Flush.full, seconds=0.5)
    record_batches([fact, silent])
    (found,) = recorded.all()
    assert f"{found.parent.span_id:016x}" == SENT.span_id
    assert [f"{link.context.span_id:016x}" for link in found.links] == [other.span_id]
    assert (found.start_time, found.end_time) == (99_500_000_000, 100_000_000_000)
    assert found.attributes["docfleet.batch.crops"] == 4


def test_a_recorder_that_fails_costs_a_span_and_no_work(recorded, monkeypatch):
    monkeypatch.setattr(recorded.recorder, "_tracer", None)
    assert spans.begin("x", SENT) is spans.NOT_RECORDED


def test_a_collector_that_is_away_costs_spans_and_not_the_end_of_the_process():
    spans.configure(Telemetry(otlp_endpoint="http://127.0.0.1:9", trace_ratio=1.0), "rec_worker")
    trace = spans.decided(tracing.new())
    assert trace.sampled
    for _ in range(5_000):  # more than its queue holds
        spans.begin("process", trace.child(), trace).end()
    began = time.monotonic()
    spans.flush()
    assert time.monotonic() - began < spans.END_S + 30


def test_without_an_endpoint_nothing_is_configured():
    spans.configure(Telemetry(trace_ratio=1.0), "rec_worker")
    assert not spans.recording(SENT)


def test_asking_for_traces_without_opentelemetry_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(spans.NoTracing, match=r"docfleet\[tracing\]"):
        spans.configure(Telemetry(otlp_endpoint="http://127.0.0.1:9"), "rec_worker")


def test_a_slow_sample_names_its_trace_only_where_it_is_recorded():
    assert metrics.exemplar(SENT) == {"trace_id": SENT.trace_id}
    assert metrics.exemplar(UNSENT) is None
    assert metrics.exemplar(None) is None
