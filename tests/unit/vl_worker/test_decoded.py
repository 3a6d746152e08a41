"""A page is decoded once for all its regions."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import numpy as np
import pytest

from services.vl_worker.decoded import DecodedPages
from shared.children.block import Block
from shared.contracts.errors import DocfleetError, ErrorCode

pytestmark = pytest.mark.unit


class Store:
    async def get(self, bucket: str, key: str) -> bytes:
        await asyncio.sleep(0.01)
        if key == "gone":
            raise DocfleetError(ErrorCode.source_missing, "gone")
        return key.encode()


class Documents:
    async def decode(self, jpeg: Block) -> tuple[int, int, Block]:
        name = jpeg.tobytes()
        return 10, 10, Block.of(np.full((10, 10, 3), name[-1], np.uint8))


def pages(most_bytes: int = 1000, most: int = 1000) -> DecodedPages:
    store: Any = Store()
    documents: Any = Documents()
    return DecodedPages(store, "bucket", documents, most_bytes, most)


async def test_many_regions_decode_their_page_once() -> None:
    held = pages()
    found = await asyncio.gather(*(held.page("a") for _ in range(20)))
    assert held.decoded == 1
    assert all((one == ord("a")).all() for one in found)
    await held.page("a")
    assert held.decoded == 1


async def test_the_least_recently_used_goes_and_stays_valid_for_who_holds_it() -> None:
    held = pages(600)
    first = await held.page("a")
    await held.page("b")
    await held.page("a")
    await held.page("c")
    await held.page("a")
    assert held.decoded == 3
    await held.page("b")
    assert held.decoded == 4
    assert (first == ord("a")).all()


def handles() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts handles as Linux shows them")
async def test_small_pages_are_bounded_by_their_number_because_each_holds_a_handle() -> None:
    held = pages(most_bytes=10**9, most=5)
    for name in "abcde":
        await held.page(name)
    full = handles()
    for number in range(30):
        await held.page(f"more{number}")
    assert handles() == full
    assert held.decoded == 35
    await held.page("more25")
    assert held.decoded == 35
    await held.page("more24")
    assert held.decoded == 36


async def test_a_cancelled_region_takes_nothing_from_the_others_and_a_failure_is_not_kept() -> None:
    held = pages()
    one = asyncio.create_task(held.page("a"))
    two = asyncio.create_task(held.page("a"))
    await asyncio.sleep(0)
    one.cancel()
    assert (await two).shape == (10, 10, 3)
    for _ in range(2):
        with pytest.raises(DocfleetError):
            await held.page("gone")
    assert held.decoded == 1
