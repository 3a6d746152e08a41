"""An S3 server that is not there: every call says which one was asked, and the setting that names it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from shared.contracts.errors import Unavailable
from shared.objects.s3 import S3Store
from shared.settings import Objects

pytestmark = pytest.mark.integration

CALLS: dict[str, Callable[[S3Store, Path], Awaitable[Any]]] = {
    "stat": lambda store, _: store.stat("docfleet", "a"),
    "get": lambda store, _: store.get("docfleet", "a"),
    "download": lambda store, folder: store.download("docfleet", "a", folder / "a"),
    "put": lambda store, _: store.put("docfleet", "a", b""),
    "put_once": lambda store, _: store.put_once("docfleet", "a", b""),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_it_is_named(call: Callable[[S3Store, Path], Awaitable[Any]], tmp_path: Path) -> None:
    # Port 1 is nobody's.
    store = S3Store(Objects(endpoint="127.0.0.1:1", access_key=SecretStr("a"), secret_key=SecretStr("b")))
    try:
        with pytest.raises(Unavailable, match=r"no answer from the store at 127\.0\.0\.1:1 \(objects\.endpoint\)"):
            await call(store, tmp_path)
    finally:
        await store.close()
