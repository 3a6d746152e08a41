"""The S3 store against a real server: the contract of object stores, and what happens when the server is away."""

from __future__ import annotations

import asyncio
import socket
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shared.contracts.errors import ErrorCode, Unavailable
from shared.objects.s3 import S3Store
from shared.settings import Objects
from tests.support import store_contract

pytestmark = pytest.mark.kafka


@pytest.fixture
async def store(s3: Objects) -> AsyncIterator[S3Store]:
    one = S3Store(s3)
    yield one
    await one.close()


@pytest.fixture
def bucket() -> str:
    return f"test-{uuid.uuid4().hex[:12]}"


async def test_keeps_what_is_put(store: S3Store, bucket: str, tmp_path: Path) -> None:
    await store_contract.keeps_what_is_put(store, bucket, tmp_path)


async def test_says_what_is_missing_or_changed(store: S3Store, bucket: str, tmp_path: Path) -> None:
    await store_contract.says_what_is_missing_or_changed(store, bucket, tmp_path)


async def test_lets_one_writer_win(store: S3Store, bucket: str) -> None:
    await store_contract.lets_one_writer_win(store, bucket)


async def test_two_stores_agree(store: S3Store, s3: Objects, bucket: str) -> None:
    await store.ensure_bucket(bucket)
    other = S3Store(s3)
    try:
        offers = [(one, f"{n}".encode()) for n, one in enumerate([store, other] * 8)]
        stored = await asyncio.gather(*(one.put_once(bucket, "k", offer) for one, offer in offers))
        assert len(set(stored)) == 1
    finally:
        await other.close()


async def test_an_empty_object(store: S3Store, bucket: str) -> None:
    await store.ensure_bucket(bucket)
    assert await store.put_once(bucket, "empty", b"") == b""
    assert await store.get(bucket, "empty") == b""


async def test_wrong_credentials_are_no_fault_of_a_document(s3: Objects, bucket: str) -> None:
    wrong = S3Store(s3.model_copy(update={"access_key": type(s3.access_key)("nobody")}))  # type: ignore[misc]
    try:
        with pytest.raises(Unavailable):
            await wrong.put_once(bucket, "k", b"x")
    finally:
        await wrong.close()


async def test_a_server_that_is_away_is_unavailable_soon(s3: Objects) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    away = S3Store(s3.model_copy(update={"endpoint": f"127.0.0.1:{port}"}))
    try:
        begun = time.monotonic()
        for call in (
            away.get("b-1", "k"),
            away.stat("b-1", "k"),
            away.exists("b-1", "k"),
            away.put_once("b-1", "k", b""),
            away.put("b-1", "k", b"x"),
            away.list("b-1"),
            away.ensure_bucket("b-1"),
        ):
            with pytest.raises(Unavailable) as error:
                await call
            assert error.value.what == "objects"
        assert time.monotonic() - begun < 20
    finally:
        await away.close()


async def test_a_server_that_does_not_answer_is_unavailable_within_its_timeouts(s3: Objects) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        port = silent.getsockname()[1]
        mute = S3Store(s3.model_copy(update={"endpoint": f"127.0.0.1:{port}", "read_timeout_s": 0.3}))
        try:
            begun = time.monotonic()
            with pytest.raises(Unavailable):
                await mute.get("b-1", "k")
            with pytest.raises(Unavailable):
                await mute.put_once("b-1", "k", b"x")
            assert time.monotonic() - begun < 6
        finally:
            await mute.close()


async def test_a_missing_bucket_is_missing(store: S3Store) -> None:
    assert await store_contract.code_of(store.stat("never-made-bucket", "k")) is ErrorCode.source_missing
