"""A warm interpreter from which the processes of the light profile are forked: their imports, a second of processor time each, happen once.

What is forked is a process of its own like any other, in its own session, with its own environment, log, children and exit code; only
its start is cheaper than that of `python -m`. The real profile starts its processes the plain way.

`python -m tests.faults.light.forge SOCKET`: reads orders (JSON lines) from the socket with that descriptor, answers with `{"started": pid}`
for each, and tells `{"ended": pid, "exit": code}` of whom it has seen end.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

WARM = (
    "services.assembler.compose.service",
    "services.assembler.join.__main__",
    "services.assembler.join.faust_run",
    "services.ingest.service",
    "services.layout_worker.service",
    "services.layout_worker.trust.comparing",
    "services.rec_worker.service",
    "services.vl_worker.service",
    "shared.objects.s3",
    "shared.streams.run",
    "tests.faults.light.worker",
)
"""Modules of all roles."""


def main() -> int:
    end = socket.socket(fileno=int(sys.argv[1]))
    for name in WARM:
        importlib.import_module(name)
    gc.freeze()
    woken, waker = socket.socketpair()
    woken.setblocking(False)
    waker.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker.fileno())
    selector = selectors.DefaultSelector()
    selector.register(end, selectors.EVENT_READ)
    selector.register(woken, selectors.EVENT_READ)
    orders = b""
    while True:
        for key, _ in selector.select():
            if key.fileobj is woken:
                with contextlib.suppress(BlockingIOError):
                    woken.recv(4096)
                _tell_ended(end)
                continue
            data = end.recv(65_536)
            if not data:
                return 0  # who started us is gone; PDEATHSIG ends everybody
            *lines, orders = (orders + data).split(b"\n")
            for line in lines:
                _tell(end, {"started": _fork(json.loads(line), [end, woken, waker])})


def _tell(end: socket.socket, what: Mapping[str, int]) -> None:
    end.sendall(json.dumps(what).encode() + b"\n")


def _tell_ended(end: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        _tell(end, {"ended": pid, "exit": os.waitstatus_to_exitcode(status)})


def _fork(order: Mapping[str, Any], ours: Sequence[socket.socket]) -> int:
    pid = os.fork()
    if pid:
        return pid
    _become(order, ours)


def _become(order: Mapping[str, Any], ours: Sequence[socket.socket]) -> NoReturn:
    """The forked process from here on: what `python -m tests.faults.light.worker ROLE` would be."""
    code = 1
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for one in ours:
            one.close()
        log = os.open(order["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        os.environ.clear()
        os.environ.update(order["env"])
        _arm()
        from tests.faults.light import worker

        code = worker.main(order["role"])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _arm() -> None:
    """What is decided when `shared.faultpoints` is imported is decided now."""
    from shared import faultpoints

    if faultpoints.VARIABLE in os.environ:
        faultpoints.reached = faultpoints.Armed(os.environ[faultpoints.VARIABLE])


if __name__ == "__main__":
    sys.exit(main())
