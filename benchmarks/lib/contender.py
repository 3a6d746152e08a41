"""One system under test: a process of its own that reads documents, watched from outside.

The process starts once and its first document is not counted, so models are loaded and shapes compiled before anything is measured.
CPU time and memory are those of the process and all it starts.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.lib import processes
from benchmarks.lib.machine import ROOT


class Measured(NamedTuple):
    """One document, read once."""

    pages: list[str]
    wall_s: float
    cpu_s: float
    resident: int
    """Largest sum of resident bytes of the tree while it read."""
    largest: int
    """Largest resident bytes of one process of the tree while it read."""
    extra: dict[str, Any]
    """What else the system said of it."""


class Failed(Exception):
    """The system could not read a document, or is gone."""


class Contender:
    """A context manager: the process runs while it lasts."""

    def __init__(self, name: str, command: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.about = ""
        self._command = list(command)
        self._log = log
        self._env = dict(env or {})
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Contender:
        environment = {**os.environ, **self._env, "PYTHONPATH": str(ROOT)}
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.about = self._line()["about"]
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def read(self, pdf: Path, pictures: Sequence[Path]) -> Measured:
        """Read a document. Raises `Failed`."""
        assert self._process is not None
        assert self._process.stdin is not None
        request = {"pdf": str(pdf), "pictures": [str(picture) for picture in pictures]}
        before = processes.cpu_s(self.pid)
        with processes.Watch(self.pid) as watch:
            started = time.monotonic()
            try:
                self._process.stdin.write(json.dumps(request) + "\n")
                self._process.stdin.flush()
            except OSError as error:
                raise Failed(f"{self.name} is gone; see {self._log}") from error
            answer = self._line()
            wall = time.monotonic() - started
        cpu = processes.cpu_s(self.pid) - before
        if "error" in answer:
            raise Failed(f"{self.name}: {answer['error']}; see {self._log}")
        pages = answer.pop("pages")
        return Measured(pages, wall, cpu, watch.resident, watch.largest, answer)

    def _line(self) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise Failed(f"{self.name} is gone; see {self._log}")
        answer: dict[str, Any] = json.loads(line)
        return answer
