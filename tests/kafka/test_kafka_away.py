"""Nobody reaches the broker for a while, in the middle of work: the fleet says so, gives nothing up, and finishes everything afterwards.

`DOCFLEET_AWAY_S=60` makes the outage longer than a group's session (45 s), so that every member has to join its group again.
"""

from __future__ import annotations

import io
import os
import time
import urllib.error

import pytest

from tests.support.fleet import Fleet, Service
from tests.support.pdfs import contents
from tests.support.proxy import LosesAnswers

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(600)]
DOCUMENTS = 60
AWAY_S = float(os.environ.get("DOCFLEET_AWAY_S", "12"))
PARTS = ("join", "ingest", "layout_worker", "compose")
STAGES = ("ingest", "layout_worker", "compose")


def why_not_ready(service: Service) -> str:
    try:
        service.get("/readyz")
        return ""
    except urllib.error.HTTPError as error:
        return error.read().decode()


def opened(ingest: Service) -> int:
    """Documents that this process has opened, by its own metric."""
    line = 'docfleet_ingest_documents_total{outcome="opened"} '
    return sum(
        int(float(row.removeprefix(line))) for row in ingest.get("/metrics").splitlines() if row.startswith(line)
    )


def test_documents_wait_for_the_broker_and_none_is_lost(tmp_path, kafka_behind_proxy, s3):
    _, proxy = kafka_behind_proxy
    keys = s3.access_key.get_secret_value(), s3.secret_key.get_secret_value()
    with Fleet(tmp_path, f"127.0.0.1:{proxy.port}", s3.endpoint, *keys) as fleet:
        work_is_interrupted(fleet, proxy)


def work_is_interrupted(fleet: Fleet, proxy: LosesAnswers) -> None:
    running = fleet.start_all(*PARTS)
    run = f"{time.time_ns():x}"  # the store may hold what an earlier run left
    names = [f"{run}-{number}" for number in range(DOCUMENTS)]
    for name in names:
        data = contents([f"Document {name}"])
        fleet.store.put_object("incoming", f"{name}.pdf", io.BytesIO(data), len(data))
    for name in names:
        fleet.submit(name, f"{name}.pdf", tenant=run, options={"layout": "fast", "ocr": "off"})
    deadline = time.monotonic() + 60
    while (before := opened(running["ingest"])) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    proxy.cut()
    assert before < DOCUMENTS, "cut in the middle"
    back = time.monotonic() + AWAY_S
    unready: dict[str, str] = {}
    while time.monotonic() < back:
        unready |= {part: why for part in STAGES if (why := why_not_ready(running[part]))}
        time.sleep(0.5)
    assert sorted(unready) == sorted(STAGES)
    assert all("broker" in why for why in unready.values()), unready
    assert {part: service.process.poll() for part, service in running.items()} == dict.fromkeys(PARTS)
    for service in running.values():
        service.get("/livez")  # raises where it would be restarted
    proxy.mend()
    parsed = fleet.parsed(DOCUMENTS, seconds=150, idle_s=3)
    assert {name: len(parsed.get(name, [])) for name in names} == dict.fromkeys(names, 1)
    assert {parsed[name][0]["status"] for name in names} == {"success"}
    assert fleet.records("docs.dlq", 0, seconds=5, idle_s=1) == []
    fleet.wait_ready(*running.values(), seconds=60)
