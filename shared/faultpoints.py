"""Named places in the code at which a test may stop the process dead, to see that nothing is lost there.

Without the environment variable `DOCFLEET_FAULTPOINTS` a point is a call of an empty function, and nothing can arm it later. With it, the
variable names a file; while that file holds `POINT:ACTION@N`, the process ends (`kill`: SIGKILL to itself) or freezes (`stop`: SIGSTOP) the
N-th time it reaches that point. Processes that share the file (by links to it) share the fault: it befalls the first that comes.
It is no setting: neither the settings file, nor secrets, nor the chart's values lead here.
The places themselves are chosen where the order of two effects decides whether something is lost or doubled.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Literal

VARIABLE = "DOCFLEET_FAULTPOINTS"

Point = Literal[
    "after_assign_before_claim",
    "after_store_before_produce",
    "after_produce_before_commit",
    "after_failure_before_letter",
    "after_drain_before_commit",
    "after_envelope_before_inspection",
    "after_picture_before_layout",
    "after_markdown_before_document",
    "between_page_and_join",
    "after_state_before_work",
    "after_parsed_before_closed",
    "after_recovery_before_events",
]
"""Every point, by what has happened and what has not."""

_ACTIONS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}


def _unarmed(point: Point) -> None:
    """Nothing."""


class Armed:
    """Looks into the file each time a point is reached."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._spec = ""
        self._left = 0

    def __call__(self, point: Point) -> None:
        try:
            with open(self._path, encoding="ascii") as file:
                spec = file.read().strip()
        except OSError:
            spec = ""
        if spec != self._spec:
            self._spec = spec
            self._left = int(spec.rpartition("@")[2]) if spec else 0
        name, _, rest = spec.partition(":")
        if name != point or self._left <= 0:
            return
        self._left -= 1
        if self._left == 0:
            there = os.path.realpath(self._path)
            try:
                os.rename(there, there + ".reached")
            except FileNotFoundError:
                return  # somebody else came first
            print(f"fault point reached: {spec}", file=sys.stderr, flush=True)
            os.kill(os.getpid(), _ACTIONS[rest.partition("@")[0]])


reached: Callable[[Point], None] = Armed(os.environ[VARIABLE]) if VARIABLE in os.environ else _unarmed
"""Called where a point is."""
