"""The card of the double: one folder (ACL_DOUBLE) that all processes share, with a plan of what goes wrong, memory by process, and a log of calls.

`plan.json` (all optional): `soc`, `memory_bytes` (none: no limit), `seconds` (that a call holds the interpreter lock), `answers` (`first`: a shape is
computed once, and every later input of it has that answer), and `faults`, rows of
`at` (open, load, malloc, execute), `kind` (error, hang, die), `code`, `printed`, `model` and `shape` (patterns as of file names),
`times` (0: always) and `warm_up` (true: calls of the warm-up too). A file `lost` in the folder: the card does not answer any more.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import time
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

CONTEXT_BYTES = 100 * 2**20
"""Of a process that has opened the card."""
BYTES_PER_ELEMENT = 64
"""Working memory of a model, by element of its input."""
PRINTED = {
    207001: "EL0004: Failed to allocate memory. rtMalloc execute failed, reason=[driver error:out of memory], runtime result = 207001",
    507010: "EE9999: Inner Error! ts lost heartbeat, runtime result = 507010",
    507014: "EZ9999: Inner Error! The aicore execution times out, runtime result = 507014",
    507015: "EZ9999: Inner Error! The aicore execution is abnormal, runtime result = 507015",
    507018: "E39999: Inner Error! Aicpu kernel execute failed, runtime result = 507018",
    507033: "EL0003: The argument is invalid. open device 0 failed, runtime result = 507033.",
    507899: "EL9999: driver error: internal error, runtime result = 507899",
}
"""What the runtime prints with a code; the exception does not say it."""


class Fault(Exception):
    """The plan says that this fails, with this ACL code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Card:
    """One process's view of the card."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._plan: dict[str, Any] = {}
        self._read = -1.0
        self._held = 0
        (folder / "memory").mkdir(parents=True, exist_ok=True)

    @classmethod
    def here(cls) -> Card:
        return cls(Path(os.environ["ACL_DOUBLE"]))

    @property
    def plan(self) -> dict[str, Any]:
        path = self._folder / "plan.json"
        try:
            at = path.stat().st_mtime_ns
        except OSError:
            return {}
        if at != self._read:
            self._plan = json.loads(path.read_text())
            self._read = at
        return self._plan

    def reach(self, at: str, model: str = "", shape: str = "", warm_up: bool = False) -> None:
        """Pass a place where something may go wrong. Raises `Fault`, hangs with the interpreter lock held, or kills the process."""
        if (self._folder / "lost").exists():
            code = 507033 if at == "open" else 507010
            say(PRINTED[code])
            raise Fault(code)
        for number, fault in enumerate(self.plan.get("faults", [])):
            if fault["at"] != at or not fnmatchcase(model, fault.get("model", "*")):
                continue
            if warm_up and not fault.get("warm_up"):
                continue
            if not fnmatchcase(shape, fault.get("shape", "*")) or not self._due(number, fault.get("times", 1)):
                continue
            kind = fault.get("kind", "error")
            if kind == "hang":
                while True:
                    ctypes.PyDLL(None).sleep(3_600)
            if kind == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            code = int(fault["code"])
            say(fault.get("printed", PRINTED.get(code, "")))
            raise Fault(code)

    def _due(self, number: int, times: int) -> bool:
        if times == 0:
            return True
        for count in range(times):
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self._folder / f"used-{number}-{count}", os.O_CREAT | os.O_EXCL))
                return True
        return False

    def hold(self, need: int, transient: int = 0) -> None:
        """Take memory for good, if there is room for it and for `transient` bytes more. Raises `Fault(207001)`."""
        limit = self.plan.get("memory_bytes")
        if limit is not None and self.total() + need + transient > limit:
            say(PRINTED[207001])
            raise Fault(207001)
        if need:
            self._keep(self._held + need)

    def free(self, amount: int) -> None:
        self._keep(self._held - amount)

    def _keep(self, held: int) -> None:
        self._held = held
        (self._folder / "memory" / str(os.getpid())).write_text(f"{held} {_started(os.getpid())}")

    @property
    def held(self) -> int:
        """Bytes this process holds."""
        return self._held

    def by_process(self) -> dict[int, int]:
        """Living processes and the bytes they hold; a dead one's memory is free, also when another process has its number by now."""
        found = {}
        for path in (self._folder / "memory").iterdir():
            with contextlib.suppress(OSError, ValueError):
                held, started = path.read_text().split()
                if started == _started(int(path.name)):
                    found[int(path.name)] = int(held)
        return found

    def total(self) -> int:
        return sum(self.by_process().values())

    def take_time(self) -> None:
        """As long as a call takes on the card, with the interpreter lock held."""
        left = float(self.plan.get("seconds", 0.0))
        if left > 0:
            ctypes.PyDLL(None).usleep(int(min(left, 0.999) * 1e6))

    def note(self, **fact: Any) -> None:
        """A line in `calls.jsonl`."""
        line = json.dumps({"pid": os.getpid(), "at": round(time.time(), 4), "held": self._held, **fact}) + "\n"
        fd = os.open(self._folder / "calls.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(fd, line.encode())
        finally:
            os.close(fd)


def _started(pid: int) -> str:
    """When a process began, in ticks since the machine did (field 22 of proc(5)'s stat). Raises `OSError` where there is none."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


def say(text: str, level: str = "ACL ERROR") -> None:
    """Print as C++ code does: to descriptor 1."""
    if text:
        os.write(1, f"[{level}] {text}\n".encode())
