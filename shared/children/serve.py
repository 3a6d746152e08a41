"""The child side: a fresh interpreter that runs one program's methods until its parent is gone.

The main thread only reads the socket, so that it sees the end of the stream while calls run; a parent that dies while a
call holds the interpreter lock is covered by PDEATHSIG (Linux). Interrupt and terminate are ignored: when a terminal or a
supervisor signals the whole group, the parent drains and decides when its children end.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import faulthandler
import importlib
import inspect
import os
import pickle
import queue
import resource
import signal
import socket
import sys
import threading
import traceback
import typing
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from shared.children import progress, restarts, wire
from shared.children.block import Block
from shared.contracts.errors import DocfleetError, ErrorCode

_PR_SET_PDEATHSIG = 1
"""Linux, include/uapi/linux/prctl.h."""


def main(arguments: list[str]) -> None:
    """Run as `python -m shared.children.serve FD PARENT_PID`; never returns before the parent is gone."""
    fd, parent = int(arguments[0]), int(arguments[1])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _end_with_parent(parent)
    faulthandler.enable()
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sock = socket.socket(fileno=fd)
    with contextlib.suppress(OSError, EOFError):
        _serve(sock)
    os._exit(0)


def _serve(sock: socket.socket) -> None:
    inbox = wire.Inbox()
    frames = _frames(sock, inbox)
    hello, _ = next(frames)
    assert isinstance(hello, wire.Hello)
    sending = threading.Lock()
    restarts.keep()
    progress.connect(lambda note: _report(sock, sending, note))
    try:
        methods = _methods(hello)
    except BaseException as error:
        with sending:
            wire.send_all(sock, wire.Ready(raised=_raised(error)))
        return
    calls: queue.SimpleQueue[tuple[wire.Request, list[int]]] = queue.SimpleQueue()
    for number in range(hello.threads):
        threading.Thread(target=_work, args=(methods, calls, sock, sending), name=f"call-{number}", daemon=True).start()
    with sending:
        wire.send_all(sock, wire.Ready())
    for message, descriptors in frames:
        assert isinstance(message, wire.Request)
        calls.put((message, descriptors))


def _frames(sock: socket.socket, inbox: wire.Inbox) -> Iterator[tuple[wire.Message, list[int]]]:
    while True:
        yield from inbox.receive(sock)


def _report(sock: socket.socket, sending: threading.Lock, note: str) -> None:
    with sending, contextlib.suppress(OSError):
        wire.send_all(sock, wire.Progress(note))


class _Method:
    """A public method of the program and the type of its argument."""

    def __init__(self, function: Callable[[Any, list[Block]], tuple[msgspec.Struct, list[Block]]]) -> None:
        self.call = function
        first = next(iter(inspect.signature(function).parameters))
        self.decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(typing.get_type_hints(function)[first])


def _methods(hello: wire.Hello) -> dict[str, _Method]:
    if hello.memory_bytes is not None:
        resource.setrlimit(resource.RLIMIT_AS, (hello.memory_bytes, hello.memory_bytes))
    module, _, factory = hello.program.partition(":")
    program = getattr(importlib.import_module(module), factory)(pickle.loads(hello.settings))
    names = [name for name in dir(type(program)) if not name.startswith("_")]
    return {name: _Method(getattr(program, name)) for name in names if inspect.isfunction(getattr(type(program), name))}


def _work(
    methods: dict[str, _Method],
    calls: queue.SimpleQueue[tuple[wire.Request, list[int]]],
    sock: socket.socket,
    sending: threading.Lock,
) -> None:
    while True:
        request, descriptors = calls.get()
        blocks: list[Block] = []
        try:
            answer, blocks = _run(methods, request, descriptors)
            answer.restarts = restarts.taken()
            with sending:
                wire.send_all(sock, answer, blocks)
        except OSError:
            os._exit(0)
        finally:
            for block in blocks:
                block.close()


def _run(methods: dict[str, _Method], request: wire.Request, fds: list[int]) -> tuple[wire.Answer, list[Block]]:
    given: list[Block] = []
    blocks: list[Block] = []
    try:
        body, given = wire.unpack(request, fds)
        method = methods[request.method]
        value, blocks = method.call(method.decoder.decode(body), given)
        body, blocks, large, _ = wire.body_and_blocks(value, blocks)
        sizes = [block.nbytes for block in blocks]
        return wire.Answer(request.call, body, sizes, large, resident=resident_bytes()), blocks
    except BaseException as error:
        spent = _out_of_memory(error) or _out_of_memory(error.__cause__)
        answer = wire.Answer(request.call, b"", [], raised=_raised(error), resident=resident_bytes(), spent=spent)
        return answer, []
    finally:
        for block in given:
            if block not in blocks:
                block.close()


def _out_of_memory(error: BaseException | None) -> bool:
    """Whether there was no memory for an object, or none to map a block."""
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)


def _raised(error: BaseException) -> wire.Raised:
    if _out_of_memory(error):
        return wire.Raised(
            ErrorCode.resource_limit, "this needs more memory than a child process may take (limits.child_memory_bytes)"
        )
    if isinstance(error, DocfleetError):
        return wire.Raised(error.code, error.message, error.page_no, error.region_id)
    return wire.Raised(None, "".join(traceback.format_exception(error))[-8_000:])


def resident_bytes() -> int:
    """Memory of this process that is its own: resident without what is shared or mapped from files."""
    try:
        with open("/proc/self/statm", "rb") as file:
            _, resident, shared = file.read().split()[:3]
        return (int(resident) - int(shared)) * resource.getpagesize()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def _end_with_parent(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
