"""What the fleet under test stands on: a broker, a store, a VL model server. All real but the last, which is a simulator.

Whoever puts something in front of them (a proxy, two more brokers) inherits from `Servers`; `env` is asked for every process that starts,
so each role may have a way of its own.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Self

from minio import Minio

from tests.faults.roles import Role
from tests.support.kafka import KafkaServer
from tests.support.processes import end, free_ports, spawn
from tests.support.s3 import S3Server

ROOT = Path(__file__).parents[2]


class Servers:
    """Context manager. `kafka`, `s3` and `vl` may be paused and started again by an injection.

    `bootstrap`, `s3_endpoint` and `vl_url` are the servers themselves, past anything in front of them: load and checker use these.
    """

    def __init__(self, folder: Path, kafka: KafkaServer | None = None, s3: S3Server | None = None) -> None:
        """`kafka`, `s3`: servers of somebody else, already started, left as they are at the end."""
        self.folder = folder
        self._own = [server for server, given in ((KafkaServer, kafka), (S3Server, s3)) if given is None]
        self.kafka = kafka or KafkaServer()
        self.s3 = s3 or S3Server()
        self.vl = VlSimulator(folder)
        self._minio: Minio | None = None

    @property
    def bootstrap(self) -> str:
        return self.kafka.bootstrap

    @property
    def s3_endpoint(self) -> str:
        return self.s3.endpoint

    @property
    def vl_url(self) -> str:
        return self.vl.url

    def env(self, role: Role) -> dict[str, str]:
        """Settings by which a process of this role reaches the three."""
        return {
            "DOCFLEET_KAFKA__BOOTSTRAP_SERVERS": self.bootstrap,
            "DOCFLEET_OBJECTS__KIND": "s3",
            "DOCFLEET_OBJECTS__ENDPOINT": self.s3_endpoint,
            "DOCFLEET_OBJECTS__ACCESS_KEY": self.s3.access_key,
            "DOCFLEET_OBJECTS__SECRET_KEY": self.s3.secret_key,
            "DOCFLEET_VL__ENDPOINTS": f'["{self.vl_url}"]',
        }

    # --- the store, by a plain client -----------------------------------------------------------------------------------

    def put(self, bucket: str, key: str, data: bytes) -> None:
        """Put an object, and make its bucket where there is none."""
        store = self._client()
        if not store.bucket_exists(bucket_name=bucket):
            store.make_bucket(bucket_name=bucket)
        store.put_object(bucket_name=bucket, object_name=key, data=io.BytesIO(data), length=len(data))

    def get(self, bucket: str, key: str) -> bytes:
        """An object. Raises what the client raises."""
        answer = self._client().get_object(bucket_name=bucket, object_name=key)
        try:
            return bytes(answer.read())
        finally:
            answer.close()
            answer.release_conn()

    def keys(self, bucket: str, prefix: str) -> list[str]:
        """Keys of all objects that begin so."""
        found = self._client().list_objects(bucket_name=bucket, prefix=prefix, recursive=True)
        return [str(one.object_name) for one in found if not one.is_dir]

    def _client(self) -> Minio:
        if self._minio is None:
            access, secret = self.s3.access_key, self.s3.secret_key
            self._minio = Minio(
                self.s3_endpoint, access_key=access, secret_key=secret, secure=False, region="us-east-1"
            )
        return self._minio

    # --- all of them ----------------------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Start all three. Raises `Missing`."""
        if KafkaServer in self._own:
            self.kafka.start()
        if S3Server in self._own:
            self.s3.start()
        self.vl.start()
        return self

    def stop(self) -> None:
        """End them and remove what they held."""
        self.vl.stop()
        if S3Server in self._own:
            self.s3.stop()
        if KafkaServer in self._own:
            self.kafka.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


class VlSimulator:
    """The simulated VL model server as a process: answers every request with the same table. `start` after `stop` keeps the port."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "vl-server.log"
        (self.port,) = free_ports(1)
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._process = None

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.support.vl_server", "--port", str(self.port)]
        self._process = spawn(command, self._log, ROOT)

    def stop(self) -> None:
        end(self._process)
        self._process = None
