"""A child whose calls share their work says that the work goes on, so that a long queue is not taken for a stall.

Where calls wait for each other inside the child (a batcher), the time of one call says little: on a slow or busy machine it may
wait minutes for its turn while every batch takes a second. Such a program calls `report` after each piece of work; the parent
then winds the clocks of all calls that are in the child again (`shared.children.life`), up to a last limit. A start that takes long
reports too, with a note that says how far it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable

INTERVAL_S = 1.0
"""Reports in shorter order are not sent."""

_send: Callable[[str], None] | None = None
_last = 0.0


def report(note: str = "") -> None:
    """Tell the parent that work goes on, and how far it is where there is a note. Does nothing outside a child. Any thread may call it."""
    global _last
    now = time.monotonic()
    if _send is not None and now - _last >= INTERVAL_S:
        _last = now
        _send(note)


def connect(send: Callable[[str], None]) -> None:
    """Where reports go; called once, by the child's main loop."""
    global _send
    _send = send
