"""A second vl_worker joins while requests are under way: those of the partitions that move are cancelled at the model server at once."""

from __future__ import annotations

import asyncio
import json
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from shared.contracts.codec import encode
from shared.objects.open import open_store
from shared.settings import Objects, Settings
from tests.support import topic
from tests.support.fleet import Fleet, Service
from tests.support.processes import end, free_ports, spawn
from tests.support.vl_work import Work

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]
IN_FLIGHT = 130


def state(port: int) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/state", timeout=5) as answer:
        return dict(json.loads(answer.read()))


def metric(service: Service, start: str) -> float:
    return sum(
        float(line.rpartition(" ")[2]) for line in service.get("/metrics").splitlines() if line.startswith(start)
    )


def until(condition: Any, seconds: float, what: str) -> float:
    """When it came true."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, what
        time.sleep(0.05)
    return time.monotonic()


def test_requests_of_revoked_partitions_are_cancelled_and_answered_once_by_the_other(tmp_path, fresh_kafka, s3):
    work = Work(IN_FLIGHT // 10)
    run = Work(IN_FLIGHT // 10).tasks()
    bucket = f"docfleet-{time.time_ns():x}"
    asyncio.run(stored(work, s3, bucket))
    (port,) = free_ports(1)
    options = ["--port", str(port), "--tokens", "20-20", "--held"]
    server = spawn(
        [sys.executable, "-m", "tests.support.vl_server", *options], tmp_path / "server.log", Path(__file__).parents[3]
    )
    keys = (s3.access_key.get_secret_value(), s3.secret_key.get_secret_value())
    env = {
        "DOCFLEET_OBJECTS__BUCKET": bucket,
        "DOCFLEET_VL__ENDPOINTS": json.dumps([f"http://127.0.0.1:{port}/v1"]),
        "DOCFLEET_VL__START_IN_FLIGHT": "200",
        "DOCFLEET_VL__MIN_IN_FLIGHT": "200",
    }
    try:
        with Fleet(tmp_path, fresh_kafka.bootstrap, s3.endpoint, *keys, **env) as fleet:
            writer = topic.Writer(fresh_kafka.bootstrap)
            for task in run:
                writer.write(
                    "docs.vl", encode(task), key=f"{task.document_id}/{task.pages[0]}/{task.region_id}".encode()
                )
            writer.flush()
            first = fleet.start("vl_worker")
            fleet.wait_ready(first)
            until(lambda: state(port)["in_flight"] == IN_FLIGHT, 120, "all are in flight")
            second = fleet.start("vl_worker")
            until(lambda: state(port)["disconnected"] > 0, 60, "the first cancellation")
            began = time.monotonic()
            until(lambda: metric(first, "docfleet_drain_seconds_count") >= 1, 10, "the first worker has drained")
            assert time.monotonic() - began < 2
            drained = metric(first, "docfleet_drain_seconds_sum")
            cancelled = int(
                metric(first, f'docfleet_vl_requests_total{{endpoint="127.0.0.1:{port}/v1",outcome="cancelled"}}')
            )
            assert drained < 2, "from the revoke until nothing of those partitions was in flight"
            assert cancelled >= 40, "about half of them"
            until(lambda: state(port)["disconnected"] == cancelled, 2, "the server knows of every one")
            fleet.wait_ready(second)
            until(lambda: state(port)["in_flight"] == IN_FLIGHT, 120, "the other worker has asked again")
            urllib.request.urlopen(f"http://127.0.0.1:{port}/release", timeout=5).close()
            found = Counter(
                json.loads(m.value())["task_id"]
                for m in topic.read(fresh_kafka.bootstrap, "docs.results", len(run), 120, 3.0)
            )
            assert found == Counter(task.task_id for task in run)
            assert metric(second, 'docfleet_vl_tasks_total{outcome="read"}') == cancelled
            assert state(port)["disconnected"] == cancelled
            print(f"{cancelled} of {IN_FLIGHT} cancelled, drained in {drained:.2f} s")
    finally:
        end(server)


async def stored(work: Work, s3: Objects, bucket: str) -> None:
    settings = Settings(objects=s3.model_copy(update={"bucket": bucket}))
    store = open_store(settings)
    await work.store(store, bucket)
    await store.close()
