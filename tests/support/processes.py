"""Servers that tests start: on the loopback, on free ports, ending with the process that started them."""

from __future__ import annotations

import ctypes
import fcntl
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path


class Missing(Exception):
    """Something a server needs is not on this machine; the message says what and how to get it."""


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens on at the moment, all different.

    Below the range from which the system takes ports for outgoing connections: one of those would be gone now and then before its server
    has started (seen with some hundred processes on two cores).
    """
    first, last = 10_240, _ephemeral() - 1
    sockets: list[socket.socket] = []
    try:
        while len(sockets) < count:
            one = socket.socket()
            sockets.append(one)
            try:
                one.bind(("127.0.0.1", random.SystemRandom().randint(first, last)))
            except OSError:
                sockets.pop().close()
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def _ephemeral() -> int:
    """The first port that outgoing connections get; 32,768 is what Linux has unless told otherwise."""
    try:
        found = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 32_768
    return found if found > 12_000 else 32_768


def spawn(command: list[str], log: Path, folder: Path, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start a server with its output in `log`. On Linux it is killed when its starter dies, however that happens."""

    def end_with_parent() -> None:
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG

    with log.open("ab") as out:
        return subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )


def end(process: subprocess.Popen[bytes] | None, timeout_s: float = 15.0) -> None:
    """Ask a server to end, and make it."""
    if process is None or process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)


def leave(processes: Sequence[subprocess.Popen[bytes]], patience_s: float = 5.0) -> None:
    """End services that are members of a group: asked (a first signal drains, a second abandons), and only then killed.

    Who leaves is out of the group at once. Who is killed stays in it until the session ends, and the next test waits for that.
    """
    limit = time.monotonic() + patience_s
    for pause_s in (patience_s / 10, patience_s):
        for process in processes:
            if process.poll() is None:
                process.terminate()
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, min(pause_s, limit - time.monotonic())))
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait()


def cache_folder() -> Path:
    """Where what was fetched for test servers is kept."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "docfleet" / "test-servers"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process at a time."""
    with path.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def until_up(
    what: str,
    process: subprocess.Popen[bytes] | None,
    log: Path,
    ask: Callable[[], object],
    not_yet: type[Exception],
    stop: Callable[[], None],
    timeout_s: float,
) -> None:
    """Wait until `ask` no longer raises `not_yet`. When the process ends or `timeout_s` pass before: `stop`, and AssertionError with its log."""
    assert process is not None
    limit = time.monotonic() + timeout_s
    while True:
        if process.poll() is not None or time.monotonic() > limit:
            text = log.read_text(errors="replace")
            stop()
            raise AssertionError(f"{what} did not start: {text[-3000:]}")
        try:
            ask()
            return
        except not_yet:
            time.sleep(0.1)
