"""How much work was done twice, by the logs that the light stages write (`tests.faults.light.worker`)."""

from __future__ import annotations

from pathlib import Path

import msgspec


class Work(msgspec.Struct, frozen=True):
    """Counts over all processes so far."""

    records: int
    """Different records that were worked on."""
    again: int
    """Times that work on a record began again."""
    redone: int
    """Those of them in which its work had not been finished before: it was in flight. The others found what was stored."""
    moved: int
    """Those of the redone of the vl_worker. It lets go of a request after half a second where partitions move (`revoked_s`): an answer may
    take minutes, for which a group does not wait."""
    in_flight: dict[str, int]
    """By process (name of its log): records begun and not finished."""


def work_of(folder: Path) -> Work:
    """Read the logs of a fleet's folder."""
    begun: dict[tuple[str, ...], list[float]] = {}
    done: dict[tuple[str, ...], float] = {}
    in_flight: dict[str, int] = {}
    for path in sorted(folder.glob("*.work")):
        open_here: set[tuple[str, ...]] = set()
        for line in path.read_text().splitlines():
            what, *place, at = line.split()
            name = tuple(place)
            if what == "S":
                begun.setdefault(name, []).append(float(at))
                open_here.add(name)
            else:
                done[name] = min(float(at), done.get(name, float("inf")))
                open_here.discard(name)
        in_flight[path.stem] = len(open_here)
    again = redone = moved = 0
    for name, starts in begun.items():
        starts.sort()
        finished = done.get(name, float("inf"))
        again += len(starts) - 1
        unfinished = sum(at < finished for at in starts[1:])
        redone += unfinished
        moved += unfinished if name[0].startswith("docs.vl") else 0
    return Work(len(begun), again, redone, moved, in_flight)
