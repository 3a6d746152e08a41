"""The launcher: services come up, come back, and never outlive whoever started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from docfleet.launcher import BACKOFF_S, wait_before_restart
from docfleet.processes import Processes, ServiceEvent

pytestmark = [pytest.mark.integration, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]

SERVICE = """
    import os, signal, subprocess, sys, time
    if os.environ["MODE"] == "die":
        print("dying", file=sys.stderr, flush=True)
        sys.exit(7)
    if os.environ["MODE"] == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"], start_new_session=True)
        print(child.pid, flush=True)
    else:
        signal.signal(signal.SIGTERM, lambda *_: (print("drained", flush=True), sys.exit(0)))
    print("up", flush=True)
    time.sleep(100)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "dummy_service.py").write_text(textwrap.dedent(SERVICE))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def _until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen"
        time.sleep(0.02)


def _events(processes: Processes, enough: Callable[[list[ServiceEvent]], object]) -> list[ServiceEvent]:
    seen: list[ServiceEvent] = []

    def look() -> object:
        seen.extend(processes.events(0.05))
        return enough(seen)

    _until(look)
    return seen


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_waits_grow_and_stay_at_the_longest():
    assert [wait_before_restart(n) for n in range(1, len(BACKOFF_S) + 1)] == list(BACKOFF_S)
    assert wait_before_restart(1000) == BACKOFF_S[-1]


def test_a_service_that_dies_is_started_again_later_each_time(folder):
    processes = Processes()
    try:
        processes.start("dying", "dummy_service", {"MODE": "die"}, folder / "log")
        events = _events(processes, lambda seen: sum(e.kind == "exited" for e in seen) >= 3)
    finally:
        processes.stop(0)
    exits = [e for e in events if e.kind == "exited"][:3]
    assert [(e.code, e.deaths, e.restart_in_s) for e in exits] == [(7, n, BACKOFF_S[n - 1]) for n in (1, 2, 3)]
    assert (folder / "log").read_text().count("dying") >= 3


def test_a_killed_service_is_replaced(folder):
    processes = Processes()
    try:
        processes.start("s", "dummy_service", {"MODE": "good"}, folder / "log")
        _events(processes, lambda seen: [e for e in seen if e.kind == "started"])
        first = processes.pids["s"]
        os.kill(first, signal.SIGKILL)
        events = _events(processes, lambda seen: [e for e in seen if e.kind == "started"])
        assert [e.code for e in events if e.kind == "exited"] == [-signal.SIGKILL]
        assert processes.pids["s"] != first
    finally:
        processes.stop(0)


def test_a_stop_lets_services_drain(folder):
    processes = Processes()
    processes.start("s", "dummy_service", {"MODE": "good"}, folder / "log")
    _until(lambda: (folder / "log").exists() and "up" in (folder / "log").read_text())
    started = time.monotonic()
    processes.stop(10)
    assert time.monotonic() - started < 5
    assert "drained" in (folder / "log").read_text()


def test_what_does_not_end_is_killed_with_what_it_started(folder):
    processes = Processes()
    processes.start("s", "dummy_service", {"MODE": "stubborn"}, folder / "log")
    _until(lambda: (folder / "log").exists() and "up" in (folder / "log").read_text())
    grandchild = int((folder / "log").read_text().split()[0])
    service = processes.pids.get("s") or next(e.pid for e in processes.events(1) if e.kind == "started")
    assert _alive(grandchild)
    processes.stop(0.3)
    assert not _alive(service)
    assert not _alive(grandchild)


def test_nothing_outlives_an_owner_that_is_killed(folder):
    (folder / "stored").mkdir()
    owner = f"""
        import sys, time
        from pathlib import Path
        from docfleet.processes import Processes
        processes = Processes()
        processes.remove_at_end(Path({str(folder / "stored")!r}))
        processes.start("s", "dummy_service", {{"MODE": "stubborn"}}, Path({str(folder / "log")!r}))
        print(processes._launcher.pid, flush=True)
        while True:
            for event in processes.events(1):
                print(event.pid, flush=True)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(owner)], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        launcher, service = int(running.stdout.readline()), int(running.stdout.readline())
        _until(lambda: (folder / "log").exists() and "up" in (folder / "log").read_text())
        grandchild = int((folder / "log").read_text().split()[0])
        assert all(map(_alive, (launcher, service, grandchild)))
        running.kill()
    _until(lambda: not any(map(_alive, (launcher, service, grandchild))), seconds=5)
    assert not (folder / "stored").exists()
