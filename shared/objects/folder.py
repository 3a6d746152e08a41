"""A folder as object store: a bucket is a folder, a key a path below it, for one machine and any number of its processes.

Objects become visible whole: they are written under another name first, then linked (`put_once`: the link fails where the
name exists, and the file system decides who is first) or renamed (`put`). Half-written files of killed processes lie in
`.writing/` beside the buckets, where no key leads, and are swept when a store is opened a day later.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TypeVar

from shared.contracts.errors import DocfleetError, ErrorCode, Unavailable
from shared.objects.paths import check
from shared.objects.store import LISTED, ObjectStat

T = TypeVar("T")
_THREADS = 8
_LEFTOVER_S = 86_400.0


class FolderStore:
    """`ObjectStore` in a folder. An etag is made of modification time, size and inode of the file; there are no versions."""

    def __init__(self, root: Path) -> None:
        """Create the folder where it is missing. Raises `OSError`."""
        self._root = root.absolute()
        self._writing = self._root / ".writing"
        self._writing.mkdir(parents=True, exist_ok=True)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="objects")
        self._sweep()

    async def stat(self, bucket: str, key: str, *, version_id: str | None = None) -> ObjectStat:
        path = self._path(bucket, key, version_id)
        return await self._on_thread(lambda: _stat_of(key, _file_status(path)))

    async def get(self, bucket: str, key: str, *, etag: str | None = None, version_id: str | None = None) -> bytes:
        path = self._path(bucket, key, version_id)
        return await self._on_thread(lambda: _read(path, key, etag))

    async def download(
        self, bucket: str, key: str, target: Path, *, etag: str | None = None, version_id: str | None = None
    ) -> ObjectStat:
        path = self._path(bucket, key, version_id)

        def copy() -> ObjectStat:
            temporary = target.with_name(f"{target.name[:100]}.{uuid.uuid4().hex}")
            try:
                with _opened(path, key, etag) as (source, stat), open(temporary, "xb") as copied:
                    shutil.copyfileobj(source, copied, 1 << 20)
                os.replace(temporary, target)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
            return stat

        return await self._on_thread(copy)

    async def put_once(self, bucket: str, key: str, data: bytes, content_type: str = "application/json") -> bytes:
        path = self._path(bucket, key)

        def write() -> bytes:
            if path.is_dir():
                raise _conflict()
            while True:
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    return path.read_bytes()
                with self._written(lambda file: file.write(data)) as temporary:
                    _make_folder(path.parent)
                    with contextlib.suppress(FileExistsError):
                        os.link(temporary, path)
                        return data

        return await self._on_thread(write)

    async def put(
        self, bucket: str, key: str, data: bytes, content_type: str = "application/octet-stream"
    ) -> ObjectStat:
        path = self._path(bucket, key)
        return await self._on_thread(lambda: self._replace(path, key, lambda file: file.write(data)))

    async def put_file(
        self, bucket: str, key: str, path: Path, content_type: str = "application/octet-stream"
    ) -> ObjectStat:
        target = self._path(bucket, key)

        def copy(file: BinaryIO) -> None:
            with open(path, "rb") as source:
                shutil.copyfileobj(source, file, 1 << 20)

        return await self._on_thread(lambda: self._replace(target, key, copy))

    async def exists(self, bucket: str, key: str) -> bool:
        path = self._path(bucket, key)
        return await self._on_thread(path.is_file)

    async def remove(self, bucket: str, key: str) -> None:
        path = self._path(bucket, key)

        def unlink() -> None:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
                path.unlink()

        await self._on_thread(unlink)

    async def list(self, bucket: str, prefix: str = "") -> list[ObjectStat]:
        check(bucket, "-")
        return await self._on_thread(lambda: sorted(self._below(bucket, prefix), key=lambda stat: stat.key))

    async def walk(self, bucket: str, prefix: str = "") -> AsyncIterator[ObjectStat]:
        check(bucket, "-")
        found = self._below(bucket, prefix)
        while page := await self._on_thread(lambda: list(islice(found, LISTED))):
            for stat in page:
                yield stat

    async def ensure_bucket(self, bucket: str) -> None:
        check(bucket, "-")
        await self._on_thread(lambda: (self._root / bucket).mkdir(exist_ok=True))

    async def close(self) -> None:
        self._threads.shutdown(wait=False)

    async def _on_thread(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
            raise DocfleetError(ErrorCode.source_missing, "there is no such object") from error
        except OSError as error:
            raise Unavailable("objects", f"folder store {self._root}: {error.strerror or error}") from error

    def _path(self, bucket: str, key: str, version_id: str | None = None) -> Path:
        check(bucket, key)
        if "" in key.split("/"):
            raise DocfleetError(ErrorCode.source_missing, "a folder has no objects whose key has an empty part")
        if version_id is not None:
            raise DocfleetError(ErrorCode.source_missing, "a folder keeps no versions; name the object without one")
        return self._root / bucket / key

    @contextlib.contextmanager
    def _written(self, write: Callable[[BinaryIO], object]) -> Iterator[Path]:
        temporary = self._writing / uuid.uuid4().hex
        try:
            with open(temporary, "xb") as file:
                write(file)
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)

    def _replace(self, path: Path, key: str, write: Callable[[BinaryIO], object]) -> ObjectStat:
        with self._written(write) as temporary:
            _make_folder(path.parent)
            if path.is_dir():
                raise _conflict()
            stat = _stat_of(key, temporary.stat())
            os.replace(temporary, path)
            return stat

    def _below(self, bucket: str, prefix: str) -> Iterator[ObjectStat]:
        base = self._root / bucket
        start = base / prefix.rpartition("/")[0]
        if ".." in start.parts:
            return
        for folder, _, names in os.walk(start):
            for name in names:
                path = Path(folder, name)
                key = path.relative_to(base).as_posix()
                if key.startswith(prefix):
                    with contextlib.suppress(FileNotFoundError):
                        yield _stat_of(key, path.stat())

    def _sweep(self) -> None:
        for path in self._writing.iterdir():
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < time.time() - _LEFTOVER_S:
                    path.unlink()


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise _conflict() from error


def _conflict() -> DocfleetError:
    return DocfleetError(
        ErrorCode.conflict, "a folder cannot hold an object and objects below its name; choose another key"
    )


def _file_status(path: Path) -> os.stat_result:
    status = path.stat()
    if path.is_dir():
        raise IsADirectoryError
    return status


def _stat_of(key: str, status: os.stat_result) -> ObjectStat:
    etag = f"{status.st_mtime_ns:x}-{status.st_size:x}-{status.st_ino:x}"
    return ObjectStat(key=key, size=status.st_size, etag=etag, last_modified=status.st_mtime)


def _read(path: Path, key: str, etag: str | None) -> bytes:
    with _opened(path, key, etag) as (file, _):
        return file.read()


@contextlib.contextmanager
def _opened(path: Path, key: str, etag: str | None) -> Iterator[tuple[BinaryIO, ObjectStat]]:
    """The file, pinned: the same before and after it was read."""
    with open(path, "rb") as file:
        stat = _stat_of(key, os.fstat(file.fileno()))
        if etag is not None and etag != stat.etag:
            raise DocfleetError(ErrorCode.source_changed, "the object was replaced after it was announced")
        yield file, stat
        if _stat_of(key, os.fstat(file.fileno())).etag != stat.etag:
            raise DocfleetError(ErrorCode.source_changed, "the object was written to while it was read")
