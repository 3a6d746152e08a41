"""Open state on disk: for fleets with more open pages than memory (`join.store=rocksdb`).

One RocksDB for all partitions of a process, behind the same interface as a dictionary. It is a cache of the changelog and nothing more:
wiped when the process starts and when a partition goes (kept over a SIGKILL it lost documents in every run: it is written before the changelog
is acknowledged). So there is no write-ahead log, and nothing is ever synced.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, MutableMapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from services.assembler.join.offsets import CannotStart

V = TypeVar("V")

MOST_PROCESSES = 64
"""Joins that can share one folder; each takes the first place that nobody has locked."""


class Disk:
    """The database of one process. Not thread safe."""

    def __init__(self, folder: Path, cache_bytes: int) -> None:
        """Take a place below `folder` that no living process has, and wipe it. Raises `CannotStart`.

        `cache_bytes` bounds blocks and unwritten rows together; RocksDB's indexes of open files come on top, about 1 % of the data.
        """
        try:
            import rocksdict as rocks
        except ImportError as error:
            raise CannotStart(
                "join.store=rocksdb needs the package rocksdict: pip install 'docfleet[rocksdb]'"
            ) from error
        self._lock, place = _place(folder)
        options = rocks.Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_db_write_buffer_size(cache_bytes // 2)
        options.set_write_buffer_size(cache_bytes // 4)
        options.set_max_write_buffer_number(2)
        options.set_keep_log_file_num(1)
        options.set_max_open_files(256)
        tables = rocks.BlockBasedOptions()
        tables.set_block_cache(rocks.Cache(cache_bytes // 2))
        tables.set_cache_index_and_filter_blocks(True)
        tables.set_bloom_filter(10, False)
        options.set_block_based_table_factory(tables)
        self.db: Any = rocks.Rdict(str(place / "db"), options)
        writes = rocks.WriteOptions()
        writes.disable_wal = True
        self.db.set_write_options(writes)

    def close(self) -> None:
        """Let the place go; what is in it is worth nothing."""
        self.db.close()
        os.close(self._lock)


def _place(folder: Path) -> tuple[int, Path]:
    """A locked place and its folder, empty."""
    for number in range(MOST_PROCESSES):
        place = folder / f"open-{number}"
        place.mkdir(parents=True, exist_ok=True)
        lock = os.open(place / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            continue
        shutil.rmtree(place / "db", ignore_errors=True)
        return lock, place
    raise CannotStart(f"{MOST_PROCESSES} joins share the folder {folder} (join.data)")


class DiskRows(MutableMapping[bytes, V], Generic[V]):
    """The rows of one partition. `read` makes a row of a key and its bytes, `written` the bytes of a row."""

    def __init__(
        self, disk: Disk, partition: int, read: Callable[[bytes, bytes], V], written: Callable[[V], bytes]
    ) -> None:
        """Empty, whatever the partition held before."""
        self._db = disk.db
        self._prefix = partition.to_bytes(4, "big")
        self._end = (partition + 1).to_bytes(4, "big")
        self._read = read
        self._written = written
        self._count = 0
        self.clear()

    def __getitem__(self, key: bytes) -> V:
        found = self._db.get(self._prefix + key)
        if found is None:
            raise KeyError(key)
        return self._read(key, found)

    def __setitem__(self, key: bytes, value: V) -> None:
        self._count += key not in self
        self._db.put(self._prefix + key, self._written(value))

    def __delitem__(self, key: bytes) -> None:
        if key not in self:
            raise KeyError(key)
        self._count -= 1
        self._db.delete(self._prefix + key)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, bytes) and self._db.get(self._prefix + key) is not None

    def __iter__(self) -> Iterator[bytes]:
        """Keys in their own order, of the moment this began."""
        cursor = self._db.iter()
        cursor.seek(self._prefix)
        while cursor.valid() and (key := cursor.key()) < self._end:
            yield key[len(self._prefix) :]
            cursor.next()

    def __len__(self) -> int:
        return self._count

    def clear(self) -> None:
        """Forget all rows."""
        self._db.delete_range(self._prefix, self._end)
        self._count = 0
