"""A process whose clock is wrong: an S3 server takes its requests for forged and answers 403. That is said of the clock, not of the object."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from pydantic import SecretStr

from shared.contracts.errors import DocfleetError, ErrorCode, Unavailable
from shared.objects.s3 import S3Store
from shared.settings import Objects

pytestmark = pytest.mark.integration


class Refuses(BaseHTTPRequestHandler):
    """Answers everything with 403, as its clock is `ahead` seconds of ours."""

    ahead = 0.0

    def _answer(self) -> None:
        self.send_response_only(403)
        self.send_header("Date", formatdate(time.time() + self.ahead, usegmt=True))
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET = do_PUT = _answer

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refuses)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def store(server: ThreadingHTTPServer) -> S3Store:
    secret = SecretStr("secret")
    return S3Store(Objects(endpoint=f"127.0.0.1:{server.server_port}", access_key=secret, secret_key=secret))


@pytest.mark.parametrize("ahead", [3_600.0, -3_600.0])
async def test_a_refusal_while_the_clocks_differ_is_no_fault_of_the_object(server, monkeypatch, ahead):
    monkeypatch.setattr(Refuses, "ahead", ahead)
    with pytest.raises(Unavailable, match="clock"):
        await store(server).stat("bucket", "key.pdf")


async def test_a_refusal_with_the_clocks_agreed_is_one_of_the_credentials(server):
    with pytest.raises(DocfleetError) as caught:
        await store(server).stat("bucket", "key.pdf")
    assert caught.value.code is ErrorCode.source_missing
