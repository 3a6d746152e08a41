"""Whether what was held stayed flat. Pure: samples in, verdicts out.

After the warm-up the samples are cut in three; the median of the last third is compared with that of the first. What rose by more than
`SHARE` and by more than a floor (below it a difference is noise) is not flat. What fell is.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

import msgspec

from tests.faults.soak.sample import Sample

SHARE = 0.10
FLOORS = {"memory_mb": 8.0, "handles": 8.0, "threads": 4.0, "temporary files": 8.0, "objects a document": 0.5}
LEAST = 6
"""Samples below which nothing is said."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was watched. `first` and `last` are medians of the first and last third after the warm-up."""

    what: str
    first: float
    last: float
    flat: bool

    @property
    def change(self) -> float:
        return (self.last - self.first) / self.first if self.first else 0.0


def verdicts(samples: Sequence[Sample], warm_up_s: float, share: float = SHARE) -> list[Verdict]:
    """Of every role and thing, in order. Raises `ValueError` with too few samples after the warm-up."""
    late = [sample for sample in samples if sample.at_s >= warm_up_s]
    if len(late) < LEAST:
        raise ValueError(f"{len(late)} samples after {warm_up_s:g} s of warm-up; {LEAST} are needed")
    found = []
    for role in sorted({role for sample in late for role in sample.held}):
        for thing in ("memory_mb", "handles", "threads"):
            found.append(_verdict(f"{role} {thing}", thing, late, _held(role, thing), share))
    found.append(_verdict("temporary files", "temporary files", late, lambda one: one.temporary_files, share))
    counted = [sample for sample in late if sample.objects is not None and sample.ended]
    if len(counted) >= 3:
        found.append(_verdict("objects a document", "objects a document", counted, _objects, share))
    return found


def _held(role: str, thing: str) -> Callable[[Sample], float | None]:
    def read(sample: Sample) -> float | None:
        held = sample.held.get(role)
        return None if held is None else float(getattr(held, thing))

    return read


def _objects(sample: Sample) -> float | None:
    return None if sample.objects is None else sample.objects / sample.ended


def _verdict(
    what: str, thing: str, samples: Sequence[Sample], read: Callable[[Sample], float | None], share: float
) -> Verdict:
    third = max(1, len(samples) // 3)
    first, last = (_median(part, read) for part in (samples[:third], samples[-third:]))
    risen = last - first
    return Verdict(what=what, first=first, last=last, flat=risen <= max(share * first, FLOORS[thing]))


def _median(samples: Sequence[Sample], read: Callable[[Sample], float | None]) -> float:
    values = [value for sample in samples if (value := read(sample)) is not None]
    return statistics.median(values) if values else 0.0
