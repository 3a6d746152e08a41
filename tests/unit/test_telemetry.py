"""Logs, health and traces: what an operator sees."""

from __future__ import annotations

import json
import logging
import urllib.error
import urllib.request

import pytest
import structlog
from prometheus_client import REGISTRY

from shared.settings import Telemetry
from shared.telemetry import logs, metrics, tracing
from shared.telemetry.health import Health, serve

pytestmark = pytest.mark.unit


def test_json_lines_name_the_service_and_hold_ours_and_others(capsys):
    logs.configure(Telemetry(format="json"), "rec_worker")
    structlog.get_logger().info("batch", crops=3)
    structlog.get_logger().debug("not shown")
    logging.getLogger("other").warning("away %s", "x")
    logging.getLogger("other").info("not shown")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(line["event"], line["service"], line["level"]) for line in lines] == [
        ("batch", "rec_worker", "info"),
        ("away x", "rec_worker", "warning"),
    ]
    assert lines[0]["crops"] == 3


@pytest.mark.parametrize("form", ["json", "text"])
def test_an_exception_keeps_its_stack(capsys, form):
    logs.configure(Telemetry(format=form), "ingest")
    try:
        raise ValueError("boom")
    except ValueError:
        structlog.get_logger().exception("failed", document_id="a b")
    err = capsys.readouterr().err
    assert "ValueError: boom" in err
    assert "Traceback" in err
    assert "a b" in err


def test_liveness_is_every_heart_within_its_limit():
    now = [0.0]
    health = Health(clock=lambda: now[0])
    assert health.silent() == {}
    health.limit("poll", 5)
    health.beat("poll")
    now[0] = 5.0
    assert health.silent() == {}
    now[0] = 5.1
    assert set(health.silent()) == {"poll"}
    health.forget("poll")
    assert health.silent() == {}


def test_readiness_is_every_named_condition():
    health = Health()
    assert health.unready() == {"start": "not started"}
    health.ready("models", False, "loading")
    health.ready("broker", True)
    assert health.unready() == {"models": "loading"}
    health.ready("models", True)
    assert health.unready() == {}


def test_started_is_ready_once_or_waiting_for_others():
    health = Health()
    assert health.starting(), "nothing was said yet"
    health.ready("group", True)
    health.ready("stage", False, "warming up, 3 of 12")
    assert health.starting(), "only what a process brings about by itself counts"
    health.ready("stage", False, "objects: no connection", away=True)
    assert not health.starting(), "killing it would not bring the store back"
    health.ready("stage", False, "warming up, 4 of 12")
    assert health.starting(), "the store is back, the start is its own business again"
    health.ready("stage", True)
    health.ready("stage", False, "stopping")
    assert not health.starting(), "what has started once stays started"


def test_startup_is_served():
    health = Health()
    port = serve(health, "127.0.0.1", 0)
    assert _get(port, "/startupz")[0] == 503
    health.ready("recovery", True)
    assert _get(port, "/startupz")[0] == 200


def _get(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_the_server_answers_on_every_path():
    health = Health()
    port = serve(health, "127.0.0.1", 0)
    assert _get(port, "/livez")[0] == 200
    assert _get(port, "/readyz")[0] == 503
    health.ready("models", True)
    assert [_get(port, path)[0] for path in ("/readyz", "/ready", "/health", "/livez", "/x")] == [
        200,
        200,
        200,
        200,
        404,
    ]
    health.limit("poll", -1)
    health.beat("poll")
    assert _get(port, "/livez")[0] == 503
    assert "docfleet_records_polled_total" in _get(port, "/metrics")[1]


def test_a_scraper_that_asks_for_openmetrics_gets_the_traces_of_slow_samples():
    metrics.PAGE_SECONDS.observe(0.3, exemplar=metrics.exemplar(tracing.TraceParent("7" * 32, "b" * 16, 1)))
    port = serve(Health(), "127.0.0.1", 0)
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/metrics", headers={"Accept": "application/openmetrics-text;version=1.0.0"}
    )
    with urllib.request.urlopen(request, timeout=5) as answer:
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
        text = answer.read().decode()
    assert text.endswith("# EOF\n")
    assert f'trace_id="{"7" * 32}"' in text
    assert "trace_id" not in _get(port, "/metrics")[1], "the plain form has no place for them"


def test_every_metric_is_ours_and_explained():
    ours = {value for name, value in vars(metrics).items() if name.isupper() and not name.startswith("_")}
    assert len(ours) > 20
    names = {metric._name for metric in ours}
    assert all(name.startswith("docfleet_") for name in names)
    assert all(metric._documentation.endswith(".") for metric in ours)
    assert names <= {family.name for family in REGISTRY.collect()}


def test_a_trace_goes_on_and_garbage_begins_a_new_one():
    first = tracing.new()
    assert tracing.parse(str(first)) == first
    assert tracing.parse(str(first).encode()) == first
    after = tracing.continued(str(first))
    assert after.trace_id == first.trace_id
    assert after.span_id != first.span_id
    for bad in (
        None,
        b"\xff",
        "",
        "00-1-2-3",
        f"ff-{'1' * 32}-{'1' * 16}-01",
        f"00-{'0' * 32}-{'1' * 16}-01",
        f"00-{'1' * 32}-{'1' * 16}-01-more",
    ):
        assert tracing.parse(bad) is None
        assert tracing.continued(bad).trace_id != first.trace_id
    assert tracing.parse(f"01-{'1' * 32}-{'1' * 16}-00-more") == tracing.TraceParent("1" * 32, "1" * 16, 0)
