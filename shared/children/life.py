"""One spawned child from its start to its death: frames in and out, and a clock for every call.

Everything here happens on one event loop. Invariant: each call is answered exactly once, by its answer or by the death of
the child; after the death nothing is pending and the process has been waited for.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Literal

import structlog

from shared.children import restarts, wire
from shared.children.block import Block
from shared.children.errors import ChildDied, ChildStalled
from shared.telemetry import metrics

_log = structlog.get_logger()

LAST_LIMIT = 10
"""Times its time limit that a call may take where the child reports progress."""


class _Pending:
    """A call that is in the child: its future, its clock, and what the clock is set to."""

    def __init__(
        self,
        answered: asyncio.Future[tuple[wire.Answer, list[int]]],
        clock: asyncio.TimerHandle,
        method: str,
        timeout_s: float,
        last: float,
    ) -> None:
        self.answered = answered
        self.clock = clock
        self.method = method
        self.timeout_s = timeout_s
        self.last = last
        """Time of the loop beyond which no progress of the child helps this call."""


class Life:
    """A running child process."""

    def __init__(
        self,
        program: str,
        settings: object,
        *,
        name: str,
        memory_bytes: int | None,
        recycle_bytes: int | None,
        threads: int,
        noted: Callable[[str], None] | None = None,
    ) -> None:
        """Spawn it; `noted` is told what its progress notes say.

        Must be called on the thread that keeps running: PDEATHSIG looks at the thread that made the child.
        """
        self.name = name
        self.worn: Literal["", "recycled", "failed"] = ""
        """Why it is to be replaced when idle, if it is: its memory is over the mark, or it cannot do its work any more."""
        self.over = False
        self._leaving = False
        """It was asked to go: its end is no death."""
        self.news = 0
        """Signs of progress that came from it."""
        self._noted = noted
        self.ready: asyncio.Future[wire.Raised | None] = asyncio.get_running_loop().create_future()
        self.idle = asyncio.Event()
        self.idle.set()
        self._loop = asyncio.get_running_loop()
        self._recycle_bytes = recycle_bytes
        self._pending: dict[int, _Pending] = {}
        self._calls = 0
        self._outbox: collections.deque[tuple[memoryview, list[int]]] = collections.deque()
        self._inbox = wire.Inbox()
        self._socket, theirs = socket.socketpair()
        try:
            self._process = _spawn(theirs)
        except BaseException:
            self._socket.close()
            raise
        finally:
            theirs.close()
        self._socket.setblocking(False)
        self._loop.add_reader(self._socket, self._readable)
        self._ended = self._loop.create_future()
        self._burial: asyncio.Task[None] | None = None
        self._send(wire.Hello(program, pickle.dumps(settings), threads, memory_bytes), ())

    @property
    def pid(self) -> int:
        return self._process.pid

    def request(
        self, method: str, body: bytes, blocks: Sequence[Block], large: bool, timeout_s: float
    ) -> asyncio.Future[tuple[wire.Answer, list[int]]]:
        """Give the child a call. The future gets its answer and descriptors, or raises `ChildDied` or `ChildStalled`."""
        self._calls += 1
        call = self._calls
        answered: asyncio.Future[tuple[wire.Answer, list[int]]] = self._loop.create_future()
        clock = self._loop.call_later(timeout_s, self._stalled, call, method, timeout_s)
        last = self._loop.time() + LAST_LIMIT * timeout_s
        self._pending[call] = _Pending(answered, clock, method, timeout_s, last)
        self.idle.clear()
        sizes = [block.nbytes for block in blocks]
        self._send(wire.Request(call, method, body, sizes, large), [block.fileno() for block in blocks])
        return answered

    async def end(self) -> None:
        """Let the child go: it leaves when the stream ends, and is killed if it does not."""
        self._leaving = True
        if not self.over:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_WR)
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self._process.wait, 1.0)
            self._die("was closed")
        await asyncio.shield(self._ended)

    def kill(self, why: str) -> None:
        """End it at once."""
        self._die(why)

    def _send(self, message: wire.Message, descriptors: Sequence[int]) -> None:
        data = memoryview(wire.frame(message, len(descriptors)))
        # Copies of the descriptors, because the owner may close its own while the frame waits in the outbox.
        self._outbox.append((data, [os.dup(fd) for fd in descriptors]))
        if len(self._outbox) == 1:
            self._writable()

    def _writable(self) -> None:
        while self._outbox:
            data, descriptors = self._outbox[0]
            try:
                sent = wire.send_some(self._socket, data, descriptors)
            except BlockingIOError:
                self._loop.add_writer(self._socket, self._writable)
                return
            except OSError as error:
                self._die(f"could not be written to ({error.strerror})")
                return
            for fd in descriptors:
                os.close(fd)
            if sent == len(data):
                self._outbox.popleft()
            else:
                self._outbox[0] = (data[sent:], [])
        self._loop.remove_writer(self._socket)

    def _readable(self) -> None:
        try:
            frames = self._inbox.receive(self._socket)
        except BlockingIOError:
            return
        except (EOFError, OSError) as error:
            self._die(str(error) or "ended")
            return
        for message, descriptors in frames:
            if isinstance(message, wire.Ready):
                if not self.ready.done():
                    self.ready.set_result(message.raised)
            elif isinstance(message, wire.Answer):
                self._answered(message, descriptors)
            elif isinstance(message, wire.Progress):
                self.news += 1
                self._wind_clocks()
                if message.note and self._noted is not None:
                    self._noted(message.note)

    def _answered(self, answer: wire.Answer, descriptors: list[int]) -> None:
        pending = self._pending.pop(answer.call)
        pending.clock.cancel()
        metrics.CHILD_MEMORY.labels(child=self.name).set(answer.resident)
        for child, reason, times in answer.restarts:
            count_restarts(child, reason, times)
        if answer.spent or (self._recycle_bytes is not None and answer.resident > self._recycle_bytes):
            self.worn = self.worn or "recycled"
        if not self._pending:
            self.idle.set()
        pending.answered.set_result((answer, descriptors))

    def _wind_clocks(self) -> None:
        """The child is at work: no call in it stalls before its time has passed once more without a sign."""
        for call, pending in self._pending.items():
            pending.clock.cancel()
            until = min(self._loop.time() + pending.timeout_s, pending.last)
            pending.clock = self._loop.call_at(until, self._stalled, call, pending.method, pending.timeout_s)

    def _stalled(self, call: int, method: str, timeout_s: float) -> None:
        pending = self._pending.pop(call)
        pending.answered.set_exception(
            ChildStalled(f"{method} showed no progress for {timeout_s:g} s; child {self.name} was killed")
        )
        self._die(f"was killed because {method} stalled", reason="stalled")

    def _die(self, why: str, reason: str = "died") -> None:
        if self.over:
            return
        self.over = True
        if not self._leaving:
            count_restarts(self.name, reason)
        metrics.CHILD_MEMORY.labels(child=self.name).set(0)
        self._loop.remove_reader(self._socket)
        self._loop.remove_writer(self._socket)
        self._process.kill()
        self._burial = self._loop.create_task(self._bury(why))

    async def _bury(self, why: str) -> None:
        status = await asyncio.to_thread(self._process.wait)
        self._socket.close()
        self._inbox.close()
        for _, descriptors in self._outbox:
            for fd in descriptors:
                os.close(fd)
        self._outbox.clear()
        message = f"child {self.name} (process {self.pid}) {why}: {_exit_in_words(status)}"
        if self._pending or not self.ready.done():
            _log.warning(
                "child_died", child=self.name, pid=self.pid, why=why, exit=status, in_flight=len(self._pending)
            )
        if not self.ready.done():
            self.ready.set_exception(ChildDied(message))
            self.ready.exception()
        for pending in self._pending.values():
            pending.clock.cancel()
            pending.answered.set_exception(ChildDied(message))
        self._pending.clear()
        self.idle.set()
        self._ended.set_result(None)


def count_restarts(child: str, reason: str, times: int = 1) -> None:
    """Count replaced children in `/metrics`, and where this process is a child in its parent's too."""
    metrics.CHILD_RESTARTS.labels(child=child, reason=reason).inc(times)
    restarts.note(child, reason, times)


_SECRET = re.compile(
    r"PASSW|SECRET|TOKEN|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|^DOCFLEET_(KAFKA|OBJECTS|VL|CONFIG)(_|$)"
)
"""Names of environment variables that may hold a secret; groups of settings may be given whole, as JSON."""


def _spawn(theirs: socket.socket) -> subprocess.Popen[bytes]:
    # A child gets what it needs with its calls; where it is taken over by what it parses, there are no keys to the fleet in it.
    environment = {name: value for name, value in os.environ.items() if not _SECRET.search(name.upper())}
    environment["PYTHONPATH"] = os.pathsep.join(entry for entry in sys.path if entry)
    # glibc gives every thread an arena of 64 MiB address space, which would eat the limit of a document child.
    environment.setdefault("MALLOC_ARENA_MAX", "2")
    fd = theirs.fileno()
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "shared.children.serve", str(fd), str(os.getpid())],
        stdin=subprocess.DEVNULL,
        pass_fds=[fd],
        env=environment,
    )


def _exit_in_words(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-status).name
    return f"signal {-status}"
