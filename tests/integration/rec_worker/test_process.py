"""`python -m services.rec_worker` on the in-process broker: tasks in, readings and announcements out."""

from __future__ import annotations

import asyncio
import io
import json
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from shared.contracts.codec import decode, encode, sha256
from shared.contracts.layout import PageLayout, Reading
from shared.contracts.records import RecTask
from shared.models.install import install
from shared.objects import keys
from shared.objects.folder import FolderStore
from shared.settings import Settings
from shared.streams.local import LocalBroker
from tests.integration.rec_worker.drawing import SCALE, page_of, region_of, without_blanks
from tests.support import topic
from tests.support.fleet import Service
from tests.support.networks import READING
from tests.support.schema import assert_valid

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]

BUCKET = "docfleet"


def texts_of(number: int) -> list[str]:
    return [f"{number}{number}", f"Total {number}", f"Invoice No. {number}", "a line of text that every document has"]


class Place:
    """A broker, a folder store and what the service needs to find them."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self.bootstrap = bootstrap
        self.folder = folder
        self.store = FolderStore(folder / "objects")
        self.writer = topic.Writer(bootstrap)

    @contextmanager
    def service(self) -> Iterator[Service]:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        service = Service(
            "rec_worker",
            {
                "DOCFLEET_KAFKA__BOOTSTRAP_SERVERS": self.bootstrap,
                "DOCFLEET_KAFKA__EMBEDDED": "true",
                "DOCFLEET_OBJECTS__KIND": "folder",
                "DOCFLEET_OBJECTS__FOLDER": str(self.folder / "objects"),
                "DOCFLEET_HTTP_HOST": "127.0.0.1",
                "DOCFLEET_REC__LINGER_MS": "50",
            },
            self.folder / "service.log",
            port,
        )
        try:
            yield service
        finally:
            if service.process.poll() is None:
                service.terminate()

    async def ask(self, number: int) -> None:
        """Store a page and send its task."""
        document = f"doc-{number}"
        picture, lines = page_of(texts_of(number))
        jpeg = io.BytesIO()
        Image.fromarray(picture).save(jpeg, "JPEG", quality=92)
        height, width = picture.shape[:2]
        layout = encode(
            PageLayout(
                document_id=document,
                generation=0,
                page_no=1,
                width=width / SCALE,
                height=height / SCALE,
                unit="pt",
                kind="scanned",
                picture_key=keys.picture(document, 0, 1),
                regions=[region_of(picture, lines)],
            )
        )
        await self.store.put_once(BUCKET, keys.picture(document, 0, 1), jpeg.getvalue(), "image/jpeg")
        await self.store.put_once(BUCKET, keys.layout(document, 0, 1), layout)
        task = RecTask(document_id=document, generation=0, page_no=1, task_id="rec", layout_sha256=sha256(layout))
        self.writer.write("docs.rec", encode(task), key=f"{document}/1".encode())

    async def reading(self, number: int) -> Reading:
        data = await self.store.get(BUCKET, keys.reading(f"doc-{number}", 0, 1, "rec"))
        assert_valid("reading", data)
        return decode(data, Reading)

    async def answered(self, count: int) -> set[str]:
        """Documents announced as read, once there are `count` of them."""

        def enough(messages: Sequence[Any]) -> bool:
            return len({json.loads(message.value())["document_id"] for message in messages}) >= count

        messages = await asyncio.to_thread(topic.wait, self.bootstrap, "docs.results", enough, 120.0, 0.5)
        values = [json.loads(message.value()) for message in messages]
        assert {value["type"] for value in values} == {"RegionsRead"}
        return {value["document_id"] for value in values}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    install(Settings().engines.models, READING)
    with LocalBroker() as broker:
        yield Place(broker.bootstrap_servers, tmp_path)


def sample(metrics: str, name: str, labels: str = "") -> float:
    found = re.search(rf"^{re.escape(name + labels)} (\S+)$", metrics, re.MULTILINE)
    assert found, f"{name}{labels} is not in /metrics"
    return float(found[1])


async def test_tasks_of_many_documents_are_read_and_share_batches(place: Place) -> None:
    for number in range(8):
        await place.ask(number)
    place.writer.flush()
    with place.service() as service:
        assert await place.answered(8) == {f"doc-{number}" for number in range(8)}
        metrics = service.get("/metrics")
        assert service.terminate() == 0
    for number in range(8):
        reading = await place.reading(number)
        lines = [without_blanks(line.text) for region in reading.regions for line in region.lines]
        assert lines == [without_blanks(text) for text in texts_of(number)]
        assert [model.name for model in reading.models] == ["ppocrv6-rec-tiny+ppocrv6-rec-small"]
    batches = sample(metrics, "docfleet_rec_batch_documents_count")
    of_two_or_less = sample(metrics, "docfleet_rec_batch_documents_bucket", '{le="2.0"}')
    assert batches - of_two_or_less >= 1, "no batch held crops of three documents"
    assert sample(metrics, "docfleet_rec_crops_total") == 32
    assert sample(metrics, "docfleet_rec_batch_crops_sum") == 32 - sample(metrics, "docfleet_rec_cache_hits_total")


@pytest.mark.slow
async def test_a_killed_worker_loses_nothing(place: Place) -> None:
    for number in range(12):
        await place.ask(number)
    place.writer.flush()
    with place.service() as service:
        await place.answered(1)
        service.kill()
    with place.service():
        assert await place.answered(12) == {f"doc-{number}" for number in range(12)}
    for number in range(12):
        (region,) = (await place.reading(number)).regions
        assert [without_blanks(line.text) for line in region.lines] == [without_blanks(t) for t in texts_of(number)]
