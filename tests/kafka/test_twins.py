"""Many ids of few contents, at once, over several partitions and two ingest processes: each content is computed once, each id has its record.

`DOCFLEET_TWINS=200` is the size that is asked for (200 contents, 600 ids); without it a tenth.
"""

from __future__ import annotations

import io
import json
import os
import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from PIL import Image

from tests.support.fleet import Fleet, Service

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(900)]
CONTENTS = int(os.environ.get("DOCFLEET_TWINS", "20"))
IDS = 3 * CONTENTS
SECONDS = 60 + IDS


def picture(number: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (8, 8), (number % 256, number // 256, 7)).save(out, "PNG")
    return out.getvalue()


def outcomes(ingests: list[Service]) -> Counter[str]:
    """What became of submissions, by the metric of these processes."""
    found: Counter[str] = Counter()
    for ingest in ingests:
        for row in ingest.get("/metrics").splitlines():
            if row.startswith("docfleet_ingest_documents_total{"):
                name, value = row.split('outcome="')[1].split('"} ')
                found[name] += int(float(value))
    return found


def submit(fleet: Fleet, names: list[str], tenant: str) -> None:
    for name in names:
        value = {
            "document_id": name,
            "source": {"bucket": "incoming", "key": f"{name}.png"},
            "tenant": tenant,
            "options": {"layout": "fast", "ocr": "off"},
        }
        fleet._producer.produce("docs.incoming", json.dumps(value).encode(), name.encode())
    assert fleet._producer.flush(60) == 0


def answered(ingests: list[Service], count: int) -> Counter[str]:
    """Wait until so many submissions have an answer."""
    deadline = time.monotonic() + SECONDS
    while (found := outcomes(ingests))["opened"] + found["cached"] < count:
        assert time.monotonic() < deadline, found
        time.sleep(0.5)
    return found


def test_every_content_is_computed_once_and_every_id_has_a_record_of_its_own(tmp_path, fresh_kafka, s3):
    run = f"{time.time_ns():x}"  # the store may hold what an earlier run left
    names = [f"{run}-{number}" for number in range(IDS)]
    keys = s3.access_key.get_secret_value(), s3.secret_key.get_secret_value()
    with Fleet(tmp_path, fresh_kafka.bootstrap, s3.endpoint, *keys) as fleet:
        ingests = [fleet.start_all("join", "ingest", "layout_worker", "compose")["ingest"], fleet.start("ingest")]
        fleet.wait_ready(ingests[1])

        def put(number: int) -> None:
            data = picture(number % CONTENTS)
            fleet.store.put_object("incoming", f"{names[number]}.png", io.BytesIO(data), len(data))

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(put, range(IDS)))
        random.Random(5).shuffle(names)
        submit(fleet, names, run)
        found = answered(ingests, IDS)
        assert (found["opened"], found["cached"], found["rejected"]) == (CONTENTS, IDS - CONTENTS, 0)
        assert min(outcomes([one]).total() for one in ingests) > 0, "both processes took part"
        assert len({record.partition() for record in fleet.records("docs.incoming", IDS, 20, 0)}) >= 4
        parsed = fleet.parsed(IDS, seconds=SECONDS, idle_s=2)
        assert {name: len(parsed.get(name, [])) for name in names} == dict.fromkeys(names, 1)
        for name in names:
            (record,) = parsed[name]
            assert (record["status"], record["source"]["key"]) == ("success", f"{name}.png")
        assert sum(records[0]["cached"] for records in parsed.values()) == IDS - CONTENTS
        for name in names[:: max(1, IDS // 20)]:
            document = json.loads(fleet.read(parsed[name][0]["result"]))
            assert (document["document_id"], document["source"]["key"]) == (name, f"{name}.png")

        submit(fleet, names, run)
        answered(ingests, 2 * IDS)
        once_more = fleet.parsed(IDS, seconds=SECONDS, idle_s=4)
        assert {name: len(records) for name, records in once_more.items()} == dict.fromkeys(names, 1)
        pages = [record for topic in ("docs.pages", "docs.pages.bulk") for record in fleet.records(topic, 0, 8, 1)]
        assert len(pages) == CONTENTS, "nothing but the first of each content was ever computed"
