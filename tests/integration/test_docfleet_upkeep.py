"""reconcile, purge, erase and reparse, on a folder store with what ingest and compose store, and an in-process broker."""

from __future__ import annotations

import io
import os
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pytest
from confluent_kafka import Consumer
from PIL import Image

from docfleet.removal import Removal
from docfleet.reparsing import reparse
from docfleet.sending import Sender
from docfleet.sweep import sweep
from services.ingest.service import Ingest
from shared.children.preference import in_lane
from shared.contracts.codec import decode, encode
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.layout import DoneMark, Inspection
from shared.contracts.records import DocumentCached, DocumentForgotten, DocumentOpened, DocumentSubmitted, decode_result
from shared.objects import keys
from shared.objects.folder import FolderStore
from shared.settings import Settings
from shared.streams.clients import reader_config
from shared.streams.local import LocalBroker
from tests.support.deliveries import delivered
from tests.support.ending import end

pytestmark = pytest.mark.integration
BUCKET, IN, UPLOADS = "docfleet", "in", "docfleet-uploads"


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    rules = [{"name": "notes", "suffixes": [".txt"], "accept": False}]
    with LocalBroker() as broker:
        yield Settings(
            kafka={"embedded": True, "bootstrap_servers": broker.bootstrap_servers},  # type: ignore[arg-type]
            objects={"kind": "folder", "folder": tmp_path / "objects"},  # type: ignore[arg-type]
            ingest={"rules": rules},  # type: ignore[arg-type]
        )


@pytest.fixture
async def ingest(settings: Settings) -> AsyncIterator[Ingest]:
    stage = Ingest(settings)
    await stage.start()
    yield stage
    await stage.stop()


@pytest.fixture
def store(settings: Settings) -> FolderStore:
    return FolderStore(settings.objects.folder)


def picture(number: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (8, 8), (number, 7, 7)).save(out, "PNG")
    return out.getvalue()


def records(settings: Settings, topic: str, count: int) -> list[bytes]:
    """Exactly so many values of a topic."""
    consumer = Consumer({**reader_config(settings, f"test-{topic}"), "enable.partition.eof": False})
    try:
        consumer.subscribe([topic])
        found = consumer.consume(count, timeout=15) + consumer.consume(1, timeout=1)
        return [message.value() for message in found]
    finally:
        consumer.close()


async def taken(ingest: Ingest, raw: bytes) -> list[DocumentOpened | DocumentCached]:
    emits = await ingest.process(delivered(ingest.decode(raw, b"k"), key=b"k", timestamp=time.time(), raw=raw))
    return [emit.record for emit in emits]  # type: ignore[misc]


async def submitted(ingest: Ingest, key: str, **fields: object) -> DocumentOpened | DocumentCached:
    (record,) = await taken(ingest, encode({"source": {"bucket": IN, "key": key}} | fields))
    return record


async def test_a_lost_event_is_found_and_sent_and_is_then_no_more_lost(settings, ingest, store) -> None:
    for number, key in enumerate(["done.png", "a b/中文+1%.png", "open.png", "note.txt", "young.png"]):
        await store.put(IN, key, picture(number))
    await end(store, BUCKET, (await submitted(ingest, "done.png")).document_id)
    await submitted(ingest, "open.png")
    hour_ago = time.time() - 3_600
    for path in (settings.objects.folder / IN).rglob("*"):
        if path.is_file() and path.name not in ("young.png", "done.png", "open.png"):
            os.utime(path, (hour_ago, hour_ago))

    heard: list[tuple[str, str]] = []
    dry = await sweep(settings, store, IN, older_than_s=600, told=lambda key, state: heard.append((key, state)))
    assert (dry.new, dry.young, dry.unwanted, dry.sent) == (1, 3, 1, 0)
    assert heard == [("a b/中文+1%.png", "new")]
    dry = await sweep(settings, store, IN, older_than_s=-1)
    assert (dry.new, dry.open, dry.done, dry.unwanted) == (2, 1, 1, 1)

    with Sender(settings, "test") as sender:
        swept = await sweep(settings, store, IN, "a b/", older_than_s=600, sender=sender)
    assert (swept.new, swept.sent) == (1, 1)
    (value,) = records(settings, "docs.incoming.bulk", 1)
    (opened,) = await taken(ingest, value)
    assert isinstance(opened, DocumentOpened)
    assert opened.source.key == "a b/中文+1%.png"
    await end(store, BUCKET, opened.document_id, "failure")
    again = await sweep(settings, store, IN, "a b/", older_than_s=600)
    assert (again.new, again.done) == (0, 1), "a failure is an answer too"


async def test_what_was_taken_and_lost_is_sent_when_asked_for(settings, ingest, store) -> None:
    await store.put(IN, "open.png", picture(1))
    await submitted(ingest, "open.png")
    with Sender(settings, "test") as sender:
        assert (await sweep(settings, store, IN, older_than_s=-1, sender=sender)).sent == 0
        assert (await sweep(settings, store, IN, older_than_s=-1, also_open=True, sender=sender)).sent == 1


async def test_purge_takes_everything_but_the_mark_and_reconcile_does_not_bring_it_back(
    settings, ingest, store
) -> None:
    await store.put(IN, "old.png", picture(1))
    await store.put(IN, "again.png", picture(2))
    old = (await submitted(ingest, "old.png")).document_id
    await end(store, BUCKET, old)
    busy = (await submitted(ingest, "again.png", document_id="busy")).document_id
    await end(store, BUCKET, busy)
    await submitted(ingest, "again.png", document_id="busy", generation=1)
    removal = Removal(settings, store, UPLOADS)
    assert (await removal.purge(3_600, None)).documents == 0
    would = await removal.purge(-1, None)
    assert (would.documents, would.busy) == (1, 1)
    assert await store.exists(BUCKET, keys.document(old, 0))

    with Sender(settings, "test") as sender:
        removed = await removal.purge(-1, sender)
        assert removed == would
        assert (await removal.purge(-1, sender)).documents == 0
    left = [stat.key for stat in await store.list(BUCKET)]
    assert [key for key in left if old in key] == [keys.done(old)]
    assert decode(await store.get(BUCKET, keys.done(old)), DoneMark).removed
    assert len([key for key in left if key.startswith("cache/")]) == 2, "entry and lease of the other one"
    assert await store.exists(IN, "old.png")
    (value,) = records(settings, "docs.results", 1)
    assert decode_result(value) == DocumentForgotten(document_id=old, generation=0)
    assert (await sweep(settings, store, IN, "old", older_than_s=-1)).done == 1
    opened = await submitted(ingest, "old.png", document_id="new-id")
    assert isinstance(opened, DocumentOpened), "nothing is left to be copied"


async def test_erase_takes_one_document_whatever_its_state_and_nothing_of_its_twin(settings, ingest, store) -> None:
    await store.put(IN, "a.png", picture(1))
    await store.put(UPLOADS, "mine/a.png", picture(1))
    await end(store, BUCKET, (await submitted(ingest, "a.png", document_id="first")).document_id)
    copied = await submitted(ingest, "mine/a.png", source={"bucket": UPLOADS, "key": "mine/a.png"}, document_id="mine")
    assert isinstance(copied, DocumentCached)
    await submitted(ingest, "a.png", document_id="mine-too", options={"ocr": "off"})
    removal = Removal(settings, store, UPLOADS)
    with Sender(settings, "test") as sender:
        assert await removal.erase("mine", sender, drain_s=0) >= 4
        await removal.erase("mine-too", sender, drain_s=0)
        with pytest.raises(DocfleetError) as unknown:
            await removal.erase("nobody", sender, drain_s=0)
    assert unknown.value.code is ErrorCode.source_missing
    left = [stat.key for stat in await store.list(BUCKET)]
    assert [key for key in left if "mine" in key] == ["done/mine", "done/mine-too"]
    assert await store.list(UPLOADS) == []
    assert await store.exists(BUCKET, keys.document("first", 0))
    third = await submitted(ingest, "a.png", document_id="third")
    assert isinstance(third, DocumentCached), "the first one's result is still there to be copied"
    events = [decode_result(value) for value in records(settings, "docs.results", 2)]
    assert {(e.document_id, e.generation) for e in events} == {("mine", 0), ("mine-too", 0)}


async def test_objects_that_come_while_a_document_is_erased_go_too(settings, ingest, store, monkeypatch) -> None:
    await store.put(IN, "a.png", picture(1))
    await submitted(ingest, "a.png", document_id="d")
    removal = Removal(settings, store, UPLOADS)
    delete = removal._delete

    async def late(objects: list[tuple[str, str]]) -> None:
        await delete(objects)
        if objects:
            monkeypatch.setattr(removal, "_delete", delete)
            await store.put(BUCKET, keys.composed_page("d", 0, 1), b"a worker was at it")

    monkeypatch.setattr(removal, "_delete", late)
    with Sender(settings, "test") as sender:
        await removal.erase("d", sender, drain_s=0)
    assert [stat.key for stat in await store.list(BUCKET) if "/d/" in stat.key] == []


async def test_what_other_models_parsed_is_parsed_again_at_the_next_generation(settings, ingest, store) -> None:
    await store.put(IN, "a.png", picture(1))
    await store.put(IN, "b.png", picture(2))
    for key in ("a", "b"):
        options = {"ocr": "force"} if key == "a" else {}
        await end(store, BUCKET, (await submitted(ingest, f"{key}.png", document_id=key, options=options)).document_id)
    counts = await reparse(settings, store)
    assert (counts.current, counts.old) == (2, 0)
    found = decode(await store.get(BUCKET, keys.inspection("a", 0)), Inspection)
    older = msgspec.structs.replace(found, pipeline_fingerprint="0" * 64)
    await store.put(BUCKET, keys.inspection("a", 0), encode(older))
    with Sender(settings, "test") as sender:
        counts = await reparse(settings, store, sender=sender)
        named = await reparse(settings, store, documents=["b"], priority="normal", sender=sender)
    assert (counts.current, counts.old, counts.sent) == (1, 1, 1)
    assert named.sent == 1
    again = decode(records(settings, "docs.incoming.bulk", 1)[0], DocumentSubmitted)
    assert (again.document_id, again.generation, again.priority, again.options.ocr) == ("a", 1, "bulk", "force")
    with in_lane("bulk"):
        (opened,) = await taken(ingest, encode(again))
    assert isinstance(opened, DocumentOpened), "never from the cache"
    other = decode(records(settings, "docs.incoming", 1)[0], DocumentSubmitted)
    assert (other.document_id, other.generation) == ("b", 1)
