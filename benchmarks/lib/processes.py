"""CPU time and memory of a process with all its descendants, from /proc (Linux)."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class _Stat(NamedTuple):
    parent: int
    cpu_s: float
    """Of the process, and of its descendants that have ended and were waited for."""
    resident: int
    """Bytes."""


def _stat(pid: int) -> _Stat | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()  # the name before it may hold blanks and brackets
    return _Stat(int(fields[1]), sum(map(int, fields[11:15])) / _TICK, int(fields[21]) * _PAGE)


def tree(root: int) -> dict[int, _Stat]:
    """The process `root` and its living descendants."""
    everything = {int(name): stat for name in os.listdir("/proc") if name.isdigit() and (stat := _stat(int(name)))}
    found = {root} if root in everything else set()
    grew = True
    while grew:
        more = {pid for pid, stat in everything.items() if stat.parent in found} - found
        found |= more
        grew = bool(more)
    return {pid: everything[pid] for pid in found}


def cpu_s(root: int) -> float:
    """CPU seconds, user and system, that `root` and all that descends from it have used so far."""
    return sum(stat.cpu_s for stat in tree(root).values())


def peak_bytes(root: int) -> dict[int, int]:
    """Peak resident bytes of each living process of the tree since it began."""
    peaks = {}
    for pid in tree(root):
        try:
            status = Path(f"/proc/{pid}/status").read_text()
        except OSError:
            continue
        for line in status.splitlines():
            if line.startswith("VmHWM:"):
                peaks[pid] = int(line.split()[1]) * 1024
    return peaks


class Watch:
    """While it lasts, looks at a tree's memory `every_s`; `resident` is then the largest sum seen, `largest` the largest process seen.

    Memory that processes share is counted in each of them.
    """

    def __init__(self, root: int, every_s: float = 0.2) -> None:
        self.resident = 0
        self.largest = 0
        self._root = root
        self._every_s = every_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while True:
            sizes = [stat.resident for stat in tree(self._root).values()]
            self.resident = max(self.resident, sum(sizes))
            self.largest = max([self.largest, *sizes])
            if self._over.wait(self._every_s):
                return
