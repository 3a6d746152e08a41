"""The S3 store before a troubled server: whatever goes wrong on the way is `Unavailable`, and what was said to be stored is stored."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from shared.contracts.errors import Unavailable
from shared.objects.s3 import S3Store
from shared.settings import Objects
from tests.support.s3_faults import S3Faults

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]
KEYS = 30
SIZE = 200_000
T = TypeVar("T")


@pytest.fixture
def faults(s3: Objects) -> Iterator[S3Faults]:
    with S3Faults(s3.endpoint, seed=7) as proxy:
        yield proxy


@pytest.fixture
async def store(s3: Objects, faults: S3Faults) -> AsyncIterator[S3Store]:
    one = S3Store(s3.model_copy(update={"endpoint": f"127.0.0.1:{faults.port}", "read_timeout_s": 0.3}))
    yield one
    await one.close()


@pytest.fixture
async def bucket(store: S3Store) -> str:
    name = f"test-{uuid.uuid4().hex[:12]}"
    await through(lambda: store.ensure_bucket(name))
    return name


def value(number: int) -> bytes:
    return f"{number:08d}".encode() * (SIZE // 8)


async def through(work: Callable[[], Awaitable[T]]) -> tuple[T, int]:
    """As a stage does: again while it is `Unavailable`; any other error is an outcome. The result, and how often it was away."""
    for away in range(100):
        try:
            return await work(), away
        except Unavailable:
            continue
    raise AssertionError("never got through")


async def test_connections_that_break_anywhere_lose_and_double_nothing(
    store: S3Store, faults: S3Faults, bucket, tmp_path
) -> None:
    faults.cut(0.4)
    written = await asyncio.gather(
        *(through(lambda n=n: store.put_once(bucket, f"k/{n}", value(n))) for n in range(KEYS))
    )
    assert [data for data, _ in written] == [value(n) for n in range(KEYS)]
    read = await asyncio.gather(*(through(lambda n=n: store.get(bucket, f"k/{n}")) for n in range(KEYS)))
    assert [data for data, _ in read] == [value(n) for n in range(KEYS)]
    for number in range(KEYS):

        async def fetched(number: int = number) -> bytes:
            await store.download(bucket, f"k/{number}", tmp_path / "copy")
            return (tmp_path / "copy").read_bytes()

        data, _ = await through(fetched)
        assert data == value(number)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy"], "nothing half-written is left"
    assert all(faults.counts[what] for what in ("cut_answer", "cut_upload", "lost_answer")), faults.counts
    assert sum(away for _, away in [*written, *read]) > 0
    faults.mend()
    listed, _ = await through(lambda: store.list(bucket, "k/"))
    assert [stat.size for stat in listed] == [SIZE] * KEYS


async def test_a_race_of_writers_whose_answers_get_lost_has_one_winner_that_all_agree_on(
    store: S3Store, faults: S3Faults, bucket
) -> None:
    faults.cut(0.4)
    offers = await asyncio.gather(*(through(lambda n=n: store.put_once(bucket, "k", value(n))) for n in range(24)))
    faults.mend()
    stored, _ = await through(lambda: store.get(bucket, "k"))
    assert {data for data, _ in offers} == {stored}


OPERATIONS: dict[str, Callable[[S3Store, str, Path], Awaitable[object]]] = {
    "stat": lambda store, bucket, folder: store.stat(bucket, "there"),
    "get": lambda store, bucket, folder: store.get(bucket, "there"),
    "download": lambda store, bucket, folder: store.download(bucket, "there", folder / "copy"),
    "put": lambda store, bucket, folder: store.put(bucket, "other", b"x"),
    "put_once": lambda store, bucket, folder: store.put_once(bucket, "other", b"x"),
    "exists": lambda store, bucket, folder: store.exists(bucket, "there"),
    "remove": lambda store, bucket, folder: store.remove(bucket, "other"),
    "list": lambda store, bucket, folder: store.list(bucket),
    "ensure_bucket": lambda store, bucket, folder: store.ensure_bucket(bucket),
}


@pytest.mark.parametrize("trouble", ["503", "silent"])
async def test_a_server_that_refuses_or_is_silent_is_away_whatever_is_asked(
    store: S3Store, faults: S3Faults, bucket, tmp_path, trouble: str
) -> None:
    await through(lambda: store.put(bucket, "there", b"data"))
    faults.refuse(1.0) if trouble == "503" else faults.slow(20.0)
    asked = (work(store, bucket, tmp_path) for work in OPERATIONS.values())
    answers = dict(zip(OPERATIONS, await asyncio.gather(*asked, return_exceptions=True), strict=True))
    assert {name: type(answer) for name, answer in answers.items()} == dict.fromkeys(OPERATIONS, Unavailable)
    assert {getattr(answer, "what", None) for answer in answers.values()} == {"objects"}
    faults.mend()
    for work in OPERATIONS.values():
        await through(lambda work=work: work(store, bucket, tmp_path))
