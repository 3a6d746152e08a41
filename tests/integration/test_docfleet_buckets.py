"""`docfleet buckets apply`, against a simulator of the few S3 calls it makes: no server that can be had here takes notification targets
of its own (MinIO does; versitygw tells of every bucket, SeaweedFS of none). On a real store, buckets only: tests/kafka/objects."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from docfleet.buckets import apply
from docfleet.cli.main import app
from shared.contracts.errors import DocfleetError, Unavailable
from shared.settings import Settings

pytestmark = pytest.mark.integration
ARN = "arn:minio:sqs::DOCFLEET:kafka"
EMPTY = b'<NotificationConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"/>'
NO_SUCH_QUEUE = (
    b"<Error><Code>InvalidArgument</Code><Message>A specified destination ARN does not exist</Message></Error>"
)


class BucketsSimulator:
    """Buckets and their notification configurations, kept as they were written; knows the queue ARN and no other."""

    def __init__(self, port: int = 0) -> None:
        self.configurations: dict[str, bytes] = {}
        self.writes = 0
        outer = self

        class Request(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self._answer(200 if self._bucket() in outer.configurations else 404)

            def do_GET(self) -> None:
                known = outer.configurations.get(self._bucket())
                self._answer(404 if known is None else 200, known or b"<Error><Code>NoSuchBucket</Code></Error>")

            def do_PUT(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if "notification" not in parse_qs(urlsplit(self.path).query, keep_blank_values=True):
                    outer.configurations.setdefault(self._bucket(), EMPTY)
                elif ARN.encode() not in body:
                    return self._answer(400, NO_SUCH_QUEUE)
                else:
                    outer.configurations[self._bucket()] = body
                    outer.writes += 1
                return self._answer(200)

            def _bucket(self) -> str:
                return urlsplit(self.path).path.strip("/")

            def _answer(self, status: int, body: bytes = b"") -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/xml")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Request)
        self.endpoint = f"127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def simulator() -> Iterator[BucketsSimulator]:
    one = BucketsSimulator()
    yield one
    one.close()


def of(endpoint: str, *sources: str) -> Settings:
    key = SecretStr("k" * 8)
    objects = {"endpoint": endpoint, "access_key": key, "secret_key": key, "sources": list(sources)}
    return Settings(objects=objects)  # type: ignore[arg-type]


async def test_buckets_are_made_and_sources_are_announced_once(simulator):
    told: list[str] = []
    settings = of(simulator.endpoint, "incoming", "scans")
    await apply(settings, notify=ARN, told=told.append)
    assert set(simulator.configurations) == {"docfleet", "incoming", "scans"}
    assert simulator.configurations["docfleet"] == EMPTY, "the fleet's own objects are no documents"
    assert ARN.encode() in simulator.configurations["scans"]
    assert b"s3:ObjectCreated:*" in simulator.configurations["scans"]
    await apply(settings, notify=ARN, told=told.append)
    assert simulator.writes == 2
    assert told[3:5] == [
        f"new objects of incoming are now told to {ARN}",
        f"new objects of scans are now told to {ARN}",
    ]
    assert told[-1] == f"new objects of scans are told to {ARN}"


async def test_a_queue_that_the_store_does_not_know_is_said(simulator):
    with pytest.raises(Unavailable, match="destination ARN does not exist"):
        await apply(of(simulator.endpoint, "incoming"), notify="arn:minio:sqs::OTHER:kafka")


async def test_a_store_that_comes_later_is_waited_for():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    started: list[BucketsSimulator] = []

    def told(line: str) -> None:
        if line.startswith("waiting") and not started:
            started.append(BucketsSimulator(port))

    try:
        await apply(of(f"127.0.0.1:{port}"), wait_s=60, told=told)
        assert set(started[0].configurations) == {"docfleet"}
    finally:
        started[0].close()


async def test_a_store_that_does_not_come_is_told_of():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(Unavailable):
        await apply(of(f"127.0.0.1:{port}"))


async def test_what_cannot_be_announced(tmp_path: Path, simulator):
    with pytest.raises(DocfleetError, match="a folder tells nobody"):
        await apply(Settings(objects={"kind": "folder", "folder": tmp_path}), notify=ARN)  # type: ignore[arg-type]
    with pytest.raises(DocfleetError, match="DOCFLEET_OBJECTS__SOURCES"):
        await apply(of(simulator.endpoint), notify=ARN)


def test_the_command(simulator, monkeypatch):
    monkeypatch.setenv("DOCFLEET_OBJECTS__ENDPOINT", simulator.endpoint)
    monkeypatch.setenv("DOCFLEET_OBJECTS__ACCESS_KEY", "docfleet")
    monkeypatch.setenv("DOCFLEET_OBJECTS__SECRET_KEY", "docfleet-secret")
    monkeypatch.setenv("DOCFLEET_OBJECTS__SOURCES", '["incoming"]')
    done = CliRunner().invoke(app, ["buckets", "apply", "--notify", ARN, "--wait", "1m"])
    assert done.exit_code == 0, done.output
    assert "bucket incoming is there" in done.output
