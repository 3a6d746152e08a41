"""MinIO, or any S3, as object store.

minio-py waits five minutes by default and has no conditional put, so it gets its own connection pool with short timeouts
and few retries, and `put_once` is a presigned PUT with `If-None-Match: *`: the server decides who is first. The region is
given, so that no request is spent on asking for it.
"""

from __future__ import annotations

import asyncio
import io
import os
import re
import ssl
import time
import uuid
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from email.utils import parsedate_to_datetime
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import certifi
import httpx
import urllib3
from minio import Minio
from minio.error import MinioException, S3Error

from shared.contracts.errors import DocfleetError, ErrorCode, Unavailable
from shared.contracts.places import bare
from shared.objects.notifications import with_queue
from shared.objects.paths import check
from shared.objects.store import LISTED, ObjectStat
from shared.settings import Objects

T = TypeVar("T")
_MISSING = {"NoSuchKey", "NoSuchBucket", "NoSuchVersion", "NoSuchObject", "ResourceNotFound", "MethodNotAllowed"}
"""`MethodNotAllowed` is the answer for a delete marker."""
_FORBIDDEN = {"AccessDenied", "Forbidden", "InvalidBucketName", "InvalidObjectName", "XMinioInvalidObjectName"}
_CODE = re.compile(r"<Code>(\w{1,80})</Code>")
_SKEWED_S = 600.0
"""S3 refuses requests signed more than 15 minutes from its own time; from here on that is taken to be the reason of a refusal."""
_ATTEMPTS = 3
_PAUSE_S = 0.2
_CHUNK = 1 << 20


class S3Store:
    """`ObjectStore` over S3. Blocking requests run on threads of its own, as many as there are connections."""

    def __init__(self, settings: Objects) -> None:
        """Opens no connection yet."""
        authorities = str(settings.ssl_ca_location or os.environ.get("SSL_CERT_FILE") or certifi.where())
        retry = urllib3.Retry(
            total=_ATTEMPTS - 1,
            backoff_factor=_PAUSE_S,
            status_forcelist=(500, 502, 503, 504),
            respect_retry_after_header=False,
        )
        self._pool = urllib3.PoolManager(
            timeout=urllib3.Timeout(connect=settings.connect_timeout_s, read=settings.read_timeout_s),
            maxsize=settings.connections,
            block=True,
            retries=retry,
            ca_certs=authorities,
        )
        self._minio = Minio(
            endpoint=settings.endpoint,
            access_key=settings.access_key.get_secret_value() if settings.access_key else None,
            secret_key=settings.secret_key.get_secret_value() if settings.secret_key else None,
            secure=settings.secure,
            region=settings.region,
            http_client=self._pool,
        )
        self._http = httpx.Client(
            timeout=httpx.Timeout(settings.read_timeout_s, connect=settings.connect_timeout_s),
            limits=httpx.Limits(max_connections=settings.connections),
            verify=ssl.create_default_context(cafile=authorities) if settings.secure else False,
            trust_env=False,
        )
        self._endpoint = settings.endpoint
        self._threads = ThreadPoolExecutor(settings.connections, thread_name_prefix="objects")

    async def stat(self, bucket: str, key: str, *, version_id: str | None = None) -> ObjectStat:
        check(bucket, key)
        return await self._on_thread(
            lambda: _stat_of(self._minio.stat_object(bucket_name=bucket, object_name=key, version_id=version_id))
        )

    async def get(self, bucket: str, key: str, *, etag: str | None = None, version_id: str | None = None) -> bytes:
        check(bucket, key)

        return await self._on_thread(lambda: self._read(bucket, key, etag, version_id))

    async def download(
        self, bucket: str, key: str, target: Path, *, etag: str | None = None, version_id: str | None = None
    ) -> ObjectStat:
        check(bucket, key)
        return await self._on_thread(lambda: self._download(bucket, key, target, etag, version_id))

    async def put_once(self, bucket: str, key: str, data: bytes, content_type: str = "application/json") -> bytes:
        check(bucket, key)
        return await self._on_thread(lambda: self._put_once(bucket, key, data, content_type))

    async def put(
        self, bucket: str, key: str, data: bytes, content_type: str = "application/octet-stream"
    ) -> ObjectStat:
        check(bucket, key)

        def write() -> ObjectStat:
            written = self._minio.put_object(
                bucket_name=bucket, object_name=key, data=io.BytesIO(data), length=len(data), content_type=content_type
            )
            return _written(key, len(data), written)

        return await self._on_thread(write)

    async def put_file(
        self, bucket: str, key: str, path: Path, content_type: str = "application/octet-stream"
    ) -> ObjectStat:
        check(bucket, key)

        def write() -> ObjectStat:
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                written = self._minio.put_object(
                    bucket_name=bucket, object_name=key, data=file, length=size, content_type=content_type
                )
            return _written(key, size, written)

        return await self._on_thread(write)

    async def exists(self, bucket: str, key: str) -> bool:
        try:
            await self.stat(bucket, key)
        except DocfleetError as error:
            if error.code is ErrorCode.source_missing:
                return False
            raise
        return True

    async def remove(self, bucket: str, key: str) -> None:
        check(bucket, key)
        try:
            await self._on_thread(lambda: self._minio.remove_object(bucket_name=bucket, object_name=key))
        except DocfleetError as error:
            if error.code is not ErrorCode.source_missing:
                raise

    async def list(self, bucket: str, prefix: str = "") -> list[ObjectStat]:
        check(bucket, "-")

        def listed() -> list[ObjectStat]:
            found = self._minio.list_objects(bucket_name=bucket, prefix=prefix, recursive=True)
            return sorted((_stat_of(one) for one in found if not one.is_dir), key=lambda stat: stat.key)

        return await self._on_thread(listed)

    async def walk(self, bucket: str, prefix: str = "") -> AsyncIterator[ObjectStat]:
        check(bucket, "-")
        found = self._minio.list_objects(bucket_name=bucket, prefix=prefix, recursive=True)

        def page() -> list[ObjectStat]:
            return [_stat_of(one) for one in islice(found, LISTED) if not one.is_dir]

        while True:
            # Folders are dropped below, so only the iterator itself says that it has ended.
            first = await self._on_thread(lambda: next(found, None))
            if first is None:
                return
            if not first.is_dir:
                yield _stat_of(first)
            for stat in await self._on_thread(page):
                yield stat

    async def ensure_bucket(self, bucket: str) -> None:
        check(bucket, "-")

        def make() -> None:
            if self._minio.bucket_exists(bucket_name=bucket):
                return
            try:
                self._minio.make_bucket(bucket_name=bucket)
            except S3Error as error:
                if error.code not in ("BucketAlreadyOwnedByYou", "BucketAlreadyExists"):
                    raise

        await self._on_thread(make)

    async def announce(self, bucket: str, queue: str) -> bool:
        """Have the store tell `queue` (an ARN that its own configuration defines) of new objects of a bucket; False where it does so already.

        Raises `source_missing` where there is no such bucket, `Unavailable` where the store knows no such queue, or no notifications.
        """
        check(bucket, "-")

        def configure() -> bool:
            wanted = with_queue(self._minio.get_bucket_notification(bucket_name=bucket), queue)
            if wanted is not None:
                self._minio.set_bucket_notification(bucket_name=bucket, config=wanted)
            return wanted is not None

        return await self._on_thread(configure)

    async def close(self) -> None:
        self._threads.shutdown(wait=False)
        self._pool.clear()
        self._http.close()

    async def _on_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: _typed(work, self._endpoint))

    def _open(self, bucket: str, key: str, etag: str | None, version_id: str | None) -> Any:
        headers = {"If-Match": f'"{etag}"'} if etag is not None else None
        response = self._minio.get_object(
            bucket_name=bucket, object_name=key, version_id=version_id, request_headers=headers
        )
        if etag is not None and _bare(response.headers.get("etag")) != etag:
            response.close()
            raise DocfleetError(ErrorCode.source_changed, "the object was replaced after it was announced")
        return response

    def _download(self, bucket: str, key: str, target: Path, etag: str | None, version_id: str | None) -> ObjectStat:
        temporary = target.with_name(f"{target.name[:100]}.{uuid.uuid4().hex}")
        response = self._open(bucket, key, etag, version_id)
        try:
            with open(temporary, "xb") as file:
                for chunk in response.stream(_CHUNK):
                    file.write(chunk)
                size = file.tell()
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        finally:
            response.close()
            response.release_conn()
        version = response.headers.get("x-amz-version-id")
        return ObjectStat(key=key, size=size, etag=_bare(response.headers.get("etag")), version_id=version)

    def _put_once(self, bucket: str, key: str, data: bytes, content_type: str) -> bytes:
        url = self._minio.get_presigned_url("PUT", bucket, key, expires=timedelta(minutes=15))
        trouble = ""
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(_PAUSE_S * 2**attempt)
            try:
                answer = self._http.put(url, content=data, headers={"If-None-Match": "*", "Content-Type": content_type})
            except httpx.TransportError as error:
                # Nobody knows whether it was written; the next attempt finds out, and reads what is there.
                trouble = _silent(self._endpoint, error)
                continue
            if answer.is_success:
                return data
            if answer.status_code == 412:
                try:
                    return self._read(bucket, key, None, None)
                except S3Error as error:
                    if error.code not in _MISSING:
                        raise
            # 409: another conditional put of the same key was under way; 404 after 412: removed in between.
            # Only the code of the answer: the rest may repeat what was signed, and with which key.
            told = _CODE.search(answer.text[:2_000])
            trouble = f"PUT {bucket}/{key} was answered {answer.status_code} {told[1] if told else ''}".rstrip()
        raise Unavailable("objects", trouble)

    def _read(self, bucket: str, key: str, etag: str | None, version_id: str | None) -> bytes:
        response = self._open(bucket, key, etag, version_id)
        try:
            return bytes(response.read())
        finally:
            response.close()
            response.release_conn()


def _typed(work: Callable[[], T], endpoint: str) -> T:
    """Run with the errors of two libraries turned into ours."""
    began = time.time()
    try:
        return work()
    except S3Error as error:
        raise _of_s3(error, began) from error
    except (MinioException, urllib3.exceptions.HTTPError, httpx.HTTPError, ssl.SSLError) as error:
        raise Unavailable("objects", _silent(endpoint, error)) from error
    except ValueError as error:
        # minio-py refuses names that S3 would not take.
        raise DocfleetError(ErrorCode.source_missing, f"no such object can exist: {error!s:.100}") from error


def _silent(endpoint: str, error: Exception) -> str:
    """That a store gave no answer: which one, what names it, and the library's words."""
    return f"no answer from the store at {endpoint} (objects.endpoint): {type(error).__name__}: {error!s:.300}"


def _of_s3(error: S3Error, began: float) -> Exception:
    """Our error for one of S3's; `began` is when the request was signed, by the clock of then (Unix seconds)."""
    if error.code in _MISSING:
        return DocfleetError(ErrorCode.source_missing, "there is no such object")
    if error.code in _FORBIDDEN and abs(wrong_s := _clock_error(error, began)) > _SKEWED_S:
        return Unavailable("objects", f"the clock of this process is wrong by {wrong_s:.0f} s: the store refuses it")
    if error.code in _FORBIDDEN:
        return DocfleetError(
            ErrorCode.source_missing, f"the object cannot be reached with these credentials ({error.code})"
        )
    if error.code == "PreconditionFailed":
        return DocfleetError(ErrorCode.source_changed, "the object was replaced after it was announced")
    return Unavailable("objects", f"{error.code}: {error.message!s:.200}")


def _clock_error(error: S3Error, began: float) -> float:
    """By how many seconds our clock is, or was as we signed, ahead of the server's; 0 where it does not tell its time.

    A refused HEAD has no other reason in it, and a clock can be put right between the request and its answer.
    """
    told = error.response.headers.get("Date") if error.response is not None else None
    try:
        server = parsedate_to_datetime(told).timestamp() if told else None
    except ValueError:
        server = None
    return max((ours - server for ours in (began, time.time())), key=abs) if server is not None else 0.0


def _stat_of(found: Any) -> ObjectStat:
    modified = found.last_modified
    return ObjectStat(
        key=found.object_name,
        size=found.size or 0,
        etag=_bare(found.etag),
        version_id=found.version_id,
        last_modified=modified.timestamp() if modified else 0.0,
    )


def _written(key: str, size: int, result: Any) -> ObjectStat:
    return ObjectStat(
        key=key, size=size, etag=_bare(result.etag), version_id=result.version_id, last_modified=time.time()
    )


def _bare(etag: str | None) -> str:
    return bare(etag) or ""
