"""The folder store keeps the contract of object stores, also between processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shared.contracts.errors import ErrorCode, Unavailable
from shared.objects.folder import FolderStore
from tests.support import store_contract

pytestmark = pytest.mark.unit


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "objects"


@pytest.fixture
def store(root: Path) -> FolderStore:
    return FolderStore(root)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "files").mkdir()
    return tmp_path / "files"


async def test_keeps_what_is_put(store: FolderStore, folder: Path, root: Path) -> None:
    await store_contract.keeps_what_is_put(store, "docs", folder)
    assert list((root / ".writing").iterdir()) == []


async def test_says_what_is_missing_or_changed(store: FolderStore, folder: Path) -> None:
    await store_contract.says_what_is_missing_or_changed(store, "docs", folder)


async def test_lets_one_writer_win(store: FolderStore, root: Path) -> None:
    await store_contract.lets_one_writer_win(store, "docs")
    assert list((root / ".writing").iterdir()) == []


def test_one_process_wins(root: Path) -> None:
    script = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from shared.objects.folder import FolderStore\n"
        "async def main():\n"
        "    store = FolderStore(Path(sys.argv[1]))\n"
        "    for number in range(200):\n"
        "        stored = await store.put_once('b', f'k/{number}', sys.argv[2].encode() * 5000)\n"
        "        assert len(set(stored.split(b'-'))) == 2, 'a torn object'\n"
        "        print(stored[:1].decode(), end='')\n"
        "asyncio.run(main())\n"
    )
    here = Path(__file__).parents[3]
    writers = [
        subprocess.Popen([sys.executable, "-c", script, str(root), f"{n}-"], stdout=subprocess.PIPE, cwd=here)
        for n in range(4)
    ]
    said = [writer.communicate()[0] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * 4
    assert len(said[0]) == 200
    assert len(set(said)) == 1, "everybody goes on from the same bytes"


async def test_etag_is_stable_and_sees_replacement_of_equal_size(store: FolderStore, root: Path) -> None:
    first = await store.put("b", "k", b"one")
    assert (await FolderStore(root).stat("b", "k")).etag == first.etag
    (root / "b" / "new").write_bytes(b"two")
    os.utime(root / "b" / "new", ns=(0, int(first.last_modified * 1e9)))
    os.replace(root / "b" / "new", root / "b" / "k")
    assert (await store.stat("b", "k")).etag != first.etag


async def test_an_object_cannot_also_be_a_folder(store: FolderStore) -> None:
    await store.put("b", "k", b"one")
    assert await store_contract.code_of(store.put("b", "k/below", b"")) is ErrorCode.conflict
    assert await store_contract.code_of(store.put_once("b", "k/below", b"")) is ErrorCode.conflict
    await store.put("b", "f/below", b"one")
    assert await store_contract.code_of(store.put("b", "f", b"")) is ErrorCode.conflict
    assert await store_contract.code_of(store.put_once("b", "f", b"")) is ErrorCode.conflict
    assert await store_contract.code_of(store.get("b", "f")) is ErrorCode.source_missing


async def test_keys_that_a_folder_cannot_hold(store: FolderStore) -> None:
    assert await store_contract.code_of(store.get("b", "a//b")) is ErrorCode.source_missing
    assert await store_contract.code_of(store.get(".writing", "k")) is ErrorCode.source_missing
    assert await store_contract.code_of(store.get("b", "k", version_id="3")) is ErrorCode.source_missing
    with pytest.raises(Unavailable):
        await store.put("b", "x" * 300, b"")


def test_old_leftovers_are_swept(root: Path) -> None:
    (root / ".writing").mkdir(parents=True)
    for name, age in (("old", 100_000), ("fresh", 10)):
        (root / ".writing" / name).write_bytes(b"half")
        os.utime(root / ".writing" / name, (time.time() - age,) * 2)
    FolderStore(root)
    assert [path.name for path in (root / ".writing").iterdir()] == ["fresh"]
