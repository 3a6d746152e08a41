"""What a fleet holds at one moment."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tests.faults.process import Member, children_of


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """By one process and its children."""

    memory_mb: float
    """Of its own: anonymous and shared memory, without files and libraries."""
    handles: int
    threads: int


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """`at_s`: seconds since the soak began."""

    at_s: float
    held: dict[str, Held]
    """By role, of the veteran: the process that no fault is aimed at."""
    temporary_files: int
    submitted: int
    ended: int
    behind: int
    """Records that are not committed, over all groups."""
    objects: int | None = None
    """In the store's bucket; counted now and then, because listing takes long."""


def held_by(member: Member) -> Held | None:
    """Of a process with its children; none where it is just going."""
    memory, handles, threads = 0.0, 0, 0
    try:
        for pid in (member.pid, *children_of(member.pid)):
            fields = dict(
                line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line
            )
            memory += sum(int(fields[name].split()[0]) for name in ("RssAnon", "RssShmem")) / 1024
            threads += int(fields["Threads"])
            handles += len(os.listdir(f"/proc/{pid}/fd"))
    except (OSError, KeyError):
        return None
    return Held(memory_mb=memory, handles=handles, threads=threads)


def files_below(folder: Path) -> int:
    """Files in a folder and all below it."""
    return sum(len(files) for _, _, files in os.walk(folder))


def of_veterans(veterans: Iterable[Member]) -> dict[str, Held]:
    """By role; those that could not be looked at are left out."""
    return {member.role: held for member in veterans if (held := held_by(member)) is not None}
