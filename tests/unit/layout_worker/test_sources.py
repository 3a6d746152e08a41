"""A source is fetched once, kept while it is used, and gone when there is no room."""

import asyncio
import errno
from pathlib import Path

import pytest

from services.layout_worker.sources import Sources
from shared.contracts.errors import DocfleetError, ErrorCode, Unavailable
from shared.contracts.records import SourceInfo
from shared.objects.store import ObjectStat

pytestmark = pytest.mark.unit


class Store:
    """The part of an object store that the cache uses; `gate` holds downloads back, `error` is raised by the next."""

    def __init__(self) -> None:
        self.downloads: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.error: Exception | None = None

    async def download(self, bucket, key, target: Path, *, etag=None, version_id=None):
        self.downloads.append(key)
        await self.gate.wait()
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        await asyncio.to_thread(target.write_bytes, b"x" * 100)
        return ObjectStat(key=key, size=100, etag=etag or "")


def source(key, etag="1", size=None):
    return SourceInfo(bucket="b", key=key, etag=etag, size=size)


@pytest.fixture
def store():
    return Store()


@pytest.fixture
async def sources(store, tmp_path):
    cache = Sources(store, tmp_path / "cache", limit_bytes=250)
    yield cache
    await cache.close()
    assert list((tmp_path / "cache").iterdir()) == []


async def use(sources, item):
    async with sources.file(item) as path:
        return path.read_bytes()


async def test_pages_that_come_at_once_share_one_fetch(store, sources):
    store.gate.clear()
    pages = [asyncio.create_task(use(sources, source("a"))) for _ in range(5)]
    await asyncio.sleep(0.01)
    store.gate.set()
    assert await asyncio.gather(*pages) == [b"x" * 100] * 5
    assert await use(sources, source("a")) == b"x" * 100
    assert store.downloads == ["a"]
    assert sources.fetched == 1


async def test_another_etag_is_another_source(store, sources):
    await use(sources, source("a", "1"))
    await use(sources, source("a", "2"))
    assert store.downloads == ["a", "a"]


async def test_the_least_recently_used_goes_first(store, sources):
    for key in ("a", "b", "a", "c", "a", "b"):
        await use(sources, source(key))
    assert store.downloads == ["a", "b", "c", "b"]


async def test_a_source_in_use_stays(store, sources):
    async with sources.file(source("a")) as path:
        for key in ("b", "c", "d"):
            await use(sources, source(key))
        assert path.exists()
        await use(sources, source("a"))
    assert store.downloads == ["a", "b", "c", "d"]


async def test_one_larger_than_the_room_is_used_and_then_let_go(store, tmp_path):
    cache = Sources(store, tmp_path / "small", limit_bytes=50)
    assert await use(cache, source("a")) == b"x" * 100
    await use(cache, source("a"))
    assert store.downloads == ["a", "a"]
    await cache.close()


@pytest.mark.parametrize(
    "error", [Unavailable("objects", "away"), DocfleetError(ErrorCode.source_changed, "another object lies there now")]
)
async def test_a_failed_fetch_is_told_to_all_who_wait_and_forgotten(store, sources, error):
    store.gate.clear()
    store.error = error
    pages = [asyncio.create_task(use(sources, source("a"))) for _ in range(3)]
    await asyncio.sleep(0.01)
    store.gate.set()
    assert await asyncio.gather(*pages, return_exceptions=True) == [error] * 3
    assert await use(sources, source("a")) == b"x" * 100
    assert store.downloads == ["a", "a"]


async def test_a_cancelled_page_cancels_nothing_for_the_others(store, sources):
    store.gate.clear()
    first, second = (asyncio.create_task(use(sources, source("a"))) for _ in range(2))
    await asyncio.sleep(0.01)
    first.cancel()
    await asyncio.sleep(0.01)
    store.gate.set()
    assert await second == b"x" * 100
    assert first.cancelled()
    assert store.downloads == ["a"]


async def test_a_fetch_that_nobody_waits_for_ends(store, sources):
    store.gate.clear()
    page = asyncio.create_task(use(sources, source("a")))
    await asyncio.sleep(0.01)
    page.cancel()
    await asyncio.gather(page, return_exceptions=True)
    store.gate.set()
    assert await use(sources, source("a")) == b"x" * 100
    assert store.downloads == ["a", "a"]


async def test_a_folder_whose_process_is_gone_is_removed(store, tmp_path):
    parent = tmp_path / "cache"
    (parent / "docfleet-sources-dead").mkdir(parents=True)
    (parent / "docfleet-sources-dead" / "file").write_bytes(b"x")
    one, two = Sources(store, parent, 250), Sources(store, parent, 250)
    assert not (parent / "docfleet-sources-dead").exists()
    assert await use(one, source("a")) == await use(two, source("a"))
    await one.close()
    await two.close()


async def test_room_is_made_before_a_large_one_is_fetched(store, sources):
    await use(sources, source("a"))
    await use(sources, source("b"))
    store.gate.clear()
    page = asyncio.create_task(use(sources, source("c", size=100)))
    await asyncio.sleep(0.01)
    left = [file for file in sources._folder.iterdir() if file.name != ".lock"]
    assert len(left) == 1, "a is gone while c is still on its way"
    store.gate.set()
    await page
    await use(sources, source("b"))
    assert store.downloads == ["a", "b", "c"]


async def test_a_full_disk_takes_what_nobody_uses_and_then_waits(store, sources):
    await use(sources, source("a"))
    store.error = OSError(errno.ENOSPC, "no space left")
    assert await use(sources, source("b")) == b"x" * 100
    assert store.downloads == ["a", "b", "b"]
    await use(sources, source("a"))
    assert store.downloads == ["a", "b", "b", "a"], "a had to go"
    store.download = full_disk
    with pytest.raises(Unavailable):
        await use(sources, source("c"))


async def full_disk(bucket, key, target, *, etag=None, version_id=None):
    raise OSError(errno.ENOSPC, "no space left")


async def test_nothing_survives_a_restart(store, tmp_path):
    first = Sources(store, tmp_path / "cache", 250)
    await use(first, source("a"))
    await first.close()
    second = Sources(store, tmp_path / "cache", 250)
    await use(second, source("a"))
    await second.close()
    assert store.downloads == ["a", "a"]
