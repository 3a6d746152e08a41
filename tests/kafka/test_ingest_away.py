"""The object store goes away in the middle: ingest says so, gives nothing up, and finishes everything when it is back.

`DOCFLEET_AWAY_S=60` makes that longer than a group's session.
"""

from __future__ import annotations

import io
import os
import time
import urllib.error

import pytest

from tests.conftest import without
from tests.support.fleet import Fleet, Service
from tests.support.pdfs import contents
from tests.support.processes import Missing
from tests.support.s3 import S3Server

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(300)]
DOCUMENTS = 40
AWAY_S = float(os.environ.get("DOCFLEET_AWAY_S", "7"))


def why_not_ready(service: Service) -> str:
    try:
        service.get("/readyz")
        return ""
    except urllib.error.HTTPError as error:
        return error.read().decode()


def test_documents_wait_for_the_store_and_none_is_lost(tmp_path, fresh_kafka):
    server = S3Server()
    try:
        server.start()
    except Missing as missing:
        without(missing)
    try:
        with Fleet(tmp_path, fresh_kafka.bootstrap, server.endpoint, server.access_key, server.secret_key) as fleet:
            ingest = fleet.start_all("ingest")["ingest"]
            for number in range(DOCUMENTS):
                data = contents([f"Document {number}"])
                fleet.store.put_object("incoming", f"{number}.pdf", io.BytesIO(data), len(data))
            for number in range(DOCUMENTS):
                fleet.submit(f"d{number}", f"{number}.pdf")
                if number == DOCUMENTS // 4:
                    server.pause()
            time.sleep(AWAY_S)
            assert "objects" in why_not_ready(ingest)
            assert ingest.process.poll() is None
            opened = len(fleet.records("docs.results", 0, seconds=5, idle_s=1))
            assert opened < DOCUMENTS
            server.start()
            records = fleet.records("docs.results", DOCUMENTS, seconds=90, idle_s=3)
            assert sorted(r.key().decode() for r in records) == sorted(f"d{number}" for number in range(DOCUMENTS))
            assert {dict(r.headers())["ce_type"].decode().rpartition(".")[2] for r in records} == {"DocumentOpened"}
            assert fleet.records("docs.dlq", 0, seconds=5, idle_s=1) == []
            deadline = time.monotonic() + 30
            while reason := why_not_ready(ingest):
                assert time.monotonic() < deadline, reason
                time.sleep(0.5)
    finally:
        server.stop()
