"""A prober that does not wait for its answer is no news: it hangs up, and nothing is written about it."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest
from prometheus_client import REGISTRY
from prometheus_client.registry import Collector

from shared.telemetry.health import Health, serve
from shared.telemetry.probe import probe

pytestmark = pytest.mark.unit


class Slow(Collector):
    """Metrics that are made only when the test says so."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.go_on = threading.Event()
        self.fails = False

    def describe(self) -> Iterator[object]:
        return iter(())

    def collect(self) -> Iterator[object]:
        self.asked.set()
        assert self.go_on.wait(30)
        if self.fails:
            raise RuntimeError("a collector of ours is broken")
        return iter(())


@pytest.fixture
def slow() -> Iterator[Slow]:
    collector = Slow()
    REGISTRY.register(collector)
    yield collector
    collector.go_on.set()
    REGISTRY.unregister(collector)


def ask(port: int) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), 10)
    client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    return client


def at_rest(before: set[threading.Thread]) -> None:
    """Wait until no thread of a request is left."""
    for thread in set(threading.enumerate()) - before:
        if "process_request_thread" in thread.name:
            thread.join(30)
            assert not thread.is_alive()


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
def test_a_prober_that_hangs_up_before_its_answer(slow: Slow, capfd: pytest.CaptureFixture[str], reset: bool) -> None:
    port = serve(Health(), "127.0.0.1", 0)
    before = set(threading.enumerate())
    client = ask(port)
    assert slow.asked.wait(10)
    if reset:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    slow.go_on.set()
    at_rest(before)
    assert capfd.readouterr() == ("", "")
    assert probe(port=port, path="/livez")[0], "and the next one is answered"


def test_a_prober_that_resets_before_it_has_asked(capfd: pytest.CaptureFixture[str]) -> None:
    port = serve(Health(), "127.0.0.1", 0)
    before = set(threading.enumerate())
    client = socket.create_connection(("127.0.0.1", port), 10)
    client.sendall(b"GET /li")
    time.sleep(0.2)  # until it is read, and the rest waited for
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    at_rest(before)
    assert probe(port=port, path="/livez")[0]
    assert capfd.readouterr() == ("", "")


def test_a_fault_of_our_own_is_told(slow: Slow, capfd: pytest.CaptureFixture[str]) -> None:
    slow.fails = True
    slow.go_on.set()
    port = serve(Health(), "127.0.0.1", 0)
    before = set(threading.enumerate())
    with ask(port) as client:
        while client.recv(4_096):
            pass
    at_rest(before)
    assert "a collector of ours is broken" in capfd.readouterr().err
