"""What every object store does, asked of each of them."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.objects.store import ObjectStore


async def keeps_what_is_put(store: ObjectStore, bucket: str, folder: Path) -> None:
    await store.ensure_bucket(bucket)
    await store.ensure_bucket(bucket)
    written = await store.put(bucket, "in/a b/中文+1%.pdf", b"%PDF", "application/pdf")
    stat = await store.stat(bucket, "in/a b/中文+1%.pdf")
    assert (stat.size, stat.etag) == (4, written.etag)
    assert '"' not in stat.etag
    assert await store.get(bucket, stat.key, etag=stat.etag) == b"%PDF"
    source = folder / "source.bin"
    source.write_bytes(bytes(range(256)) * 5000)
    await store.put_file(bucket, "in/large", source)
    got = await store.download(bucket, "in/large", folder / "copy.bin")
    assert (folder / "copy.bin").read_bytes() == source.read_bytes()
    assert got.size == 1_280_000
    assert got.etag == (await store.stat(bucket, "in/large")).etag
    assert [one.key for one in await store.list(bucket, "in/")] == ["in/a b/中文+1%.pdf", "in/large"]
    assert [one.key for one in await store.list(bucket, "in/l")] == ["in/large"]
    assert await store.list(bucket, "elsewhere/") == []
    assert sorted([one.key async for one in store.walk(bucket, "in/")]) == ["in/a b/中文+1%.pdf", "in/large"]
    assert [(one.key, one.size, one.etag) async for one in store.walk(bucket, "in/l")] == [
        ("in/large", got.size, got.etag)
    ]
    assert [one async for one in store.walk(bucket, "elsewhere/")] == []
    assert await store.exists(bucket, "in/large")
    await store.remove(bucket, "in/large")
    await store.remove(bucket, "in/large")
    assert not await store.exists(bucket, "in/large")
    assert {"copy.bin", "source.bin"} == {name for name in os.listdir(folder) if "." in name}


async def says_what_is_missing_or_changed(store: ObjectStore, bucket: str, folder: Path) -> None:
    await store.ensure_bucket(bucket)
    first = await store.put(bucket, "doc", b"one")
    second = await store.put(bucket, "doc", b"two!")
    assert first.etag != second.etag
    for call in (
        store.get(bucket, "doc", etag=first.etag),
        store.download(bucket, "doc", folder / "doc", etag=first.etag),
    ):
        assert await code_of(call) is ErrorCode.source_changed
    for call in (
        store.get(bucket, "nothing"),
        store.get(bucket, "doc/below"),
        store.stat(bucket, "nothing"),
        store.download(bucket, "nothing", folder / "nothing"),
        store.get("no-such-bucket", "doc"),
        store.get(bucket, "../doc"),
        store.get(bucket, "/etc/passwd"),
        store.get(bucket, ""),
        store.get("../other", "doc"),
    ):
        assert await code_of(call) is ErrorCode.source_missing
    assert not [name for name in os.listdir(folder) if "doc" in name or "nothing" in name]


async def lets_one_writer_win(store: ObjectStore, bucket: str) -> None:
    await store.ensure_bucket(bucket)
    for number in range(2):
        key = f"work/d/0/{number:05d}.read/rec-g0.json"
        offers = [f'{{"writer":{writer}}}'.encode() for writer in range(16)]
        stored = await asyncio.gather(*(store.put_once(bucket, key, offer) for offer in offers))
        assert len(set(stored)) == 1
        assert stored[0] in offers
        assert await store.get(bucket, key) == stored[0]
        assert await store.put_once(bucket, key, b"too late") == stored[0]


async def code_of(call: object) -> ErrorCode:
    with pytest.raises(DocfleetError) as error:
        await call  # type: ignore[misc]
    return error.value.code
