"""A process whose clock is wrong: an S3 server takes its requests for forged and answers 403. That is said of the clock, not of the object."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from pydantic import SecretStr

import shared.objects.s3
from shared.contracts.errors import DocfleetError, ErrorCode, Unavailable
from shared.objects.s3 import S3Store
from shared.settings import Objects

pytestmark = pytest.mark.integration


class Refuses(BaseHTTPRequestHandler):
    """Answers everything with 403, as its clock is `ahead` seconds of ours."""

    ahead = 0.0
    arrived = 0

    def _answer(self) -> None:
        Refuses.arrived += 1
        body = b"" if self.command == "HEAD" else b"<Error><Code>AccessDenied</Code></Error>"
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response_only(403)
        self.send_header("Date", formatdate(time.time() + self.ahead, usegmt=True))
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

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


class PutRight:
    """A clock that was wrong until a request has arrived, and is right from then on."""

    def __init__(self, wrong_s: float) -> None:
        self._wrong_s, self._until = wrong_s, Refuses.arrived

    def time(self) -> float:
        return time.time() + (self._wrong_s if Refuses.arrived == self._until else 0.0)


@pytest.mark.parametrize("wrong_s", [7_200.0, -7_200.0])
@pytest.mark.parametrize("ask", ["stat", "get", "put", "list"])
async def test_a_refusal_of_what_was_signed_before_the_clock_was_put_right_is_none_of_the_object(
    server, monkeypatch, wrong_s, ask
):
    asking = store(server)
    work = {
        "stat": lambda: asking.stat("bucket", "key.pdf"),
        "get": lambda: asking.get("bucket", "key.pdf"),
        "put": lambda: asking.put("bucket", "key.pdf", b"data"),
        "list": lambda: asking.list("bucket"),
    }[ask]
    monkeypatch.setattr(shared.objects.s3, "time", PutRight(wrong_s))
    with pytest.raises(Unavailable, match="clock"):
        await work()


async def test_a_refusal_with_the_clocks_agreed_is_one_of_the_credentials(server):
    with pytest.raises(DocfleetError) as caught:
        await store(server).stat("bucket", "key.pdf")
    assert caught.value.code is ErrorCode.source_missing
