"""Replaced children of a process that is itself a child: kept until its next answer, with which they go up to where `/metrics` is served.

An engine child has children of its own (the sessions of an NPU), and nobody scrapes it. What it has not told when it dies is not counted.
"""

from __future__ import annotations

import threading
from collections import Counter

_lock = threading.Lock()
_kept: Counter[tuple[str, str]] = Counter()
_below = False


def keep() -> None:
    """This process is a child: from now on what is noted is kept for its parent. Called once, by the child's main loop."""
    global _below
    _below = True


def note(child: str, reason: str, times: int) -> None:
    """A child was replaced. Does nothing in a process that is no child. Any thread may call it."""
    if _below:
        with _lock:
            _kept[child, reason] += times


def taken() -> list[tuple[str, str, int]]:
    """Child, reason and how often, of what was noted since the last time. Any thread may call it."""
    with _lock:
        found = [(child, reason, times) for (child, reason), times in _kept.items()]
        _kept.clear()
    return found
