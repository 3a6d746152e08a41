"""A folder store as the checker and the load see it: the few calls of a store's client that they make, straight on the files."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple


class Found(NamedTuple):
    """An object in a listing."""

    object_name: str
    is_dir: bool = False


class Answer(io.BytesIO):
    """An object's bytes, with what a client of S3 has to call at the end."""

    def release_conn(self) -> None:
        """There is no connection."""


class FolderClient:
    """Signatures of `minio.Minio`. Shares no code with `shared.objects.folder`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def bucket_exists(self, bucket_name: str) -> bool:
        return (self._root / bucket_name).is_dir()

    def make_bucket(self, bucket_name: str) -> None:
        (self._root / bucket_name).mkdir()

    def put_object(self, bucket_name: str, object_name: str, data: BinaryIO, length: int) -> None:
        path = self._root / bucket_name / object_name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.read(length))

    def get_object(self, bucket_name: str, object_name: str) -> Answer:
        return Answer((self._root / bucket_name / object_name).read_bytes())

    def list_objects(self, bucket_name: str, prefix: str, recursive: bool = True) -> Iterator[Found]:
        bucket = self._root / bucket_name
        start = bucket / prefix.rpartition("/")[0]
        for path in sorted(start.rglob("*")):
            key = path.relative_to(bucket).as_posix()
            if path.is_file() and key.startswith(prefix):
                yield Found(key)
