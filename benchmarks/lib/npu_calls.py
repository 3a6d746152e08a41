"""What the sessions of the double of an NPU were asked, from its log of calls: gears that were warm, shapes without one, device memory."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from shared.models.manifest import manifest, names

Call = Mapping[str, Any]
"""A line of `calls.jsonl`; see `tests/support/aclruntime_double/device_double.py`."""


class Session(NamedTuple):
    """A process that held one network on the card."""

    model: str
    """Folder of the model."""
    warm: int
    """Gears that had run before the first work."""
    gears: int
    """Gears there are."""
    work: int
    """Calls that were no warm-up."""
    shapes: int
    """Different shapes among them."""
    outside: int
    """Calls of a shape that is no gear."""
    first: int
    """Device bytes held at the first work; 0 where there was none."""
    last: int
    most: int


def gears() -> dict[str, set[str]]:
    """Folder of a model to its gears, written as in the log of calls."""
    return {
        entry.folder(): {",".join(map(str, gear)) for gear in entry.ascend.gears()}
        for entry in map(manifest, names())
        if entry.ascend is not None
    }


def sessions(calls: Iterable[Call], known: Mapping[str, set[str]]) -> list[Session]:
    """The sessions in these calls, in the order of their first one. Raises `KeyError` for a model that is not `known`."""
    by_process: dict[tuple[int, str], list[Call]] = defaultdict(list)
    for call in calls:
        by_process[call["pid"], call["model"]].append(call)
    return [_session(model, own, known[model]) for (_, model), own in by_process.items()]


def _session(model: str, calls: Sequence[Call], known: set[str]) -> Session:
    begin = next((at for at, call in enumerate(calls) if not call["zeros"]), len(calls))
    work = [call for call in calls[begin:] if not call["zeros"]]
    held = [call["held"] for call in work] or [0]
    return Session(
        model,
        len({call["shape"] for call in calls[:begin]} & known),
        len(known),
        len(work),
        len({call["shape"] for call in work}),
        sum(call["shape"] not in known for call in calls),
        held[0],
        held[-1],
        max(held),
    )


def flat(found: Iterable[Session]) -> bool:
    """No session that worked held another amount than at its first work."""
    return all(session.first == session.last == session.most for session in found)


def grown(found: Iterable[Session]) -> dict[str, float]:
    """Network to device memory in the end, as times what was held at the first work: of its sessions the one that grew least.

    Only networks with several gears, which can meet a new shape, and sessions that worked.
    """
    times: dict[str, float] = {}
    for session in found:
        if session.gears > 1 and session.first:
            times[session.model] = min(session.last / session.first, times.get(session.model, math.inf))
    return times
