"""What the layout benchmark counts, of a page or of many, and the figures made of it; `layout_score` has the rules."""

from __future__ import annotations

from collections import Counter

import msgspec


class Tally(msgspec.Struct):
    """Counts, of a page or of many: they add up."""

    pages: int = 0
    characters: int = 0
    covered: int = 0
    read: int = 0
    elements: Counter[str] = msgspec.field(default_factory=Counter)
    """By class; so are the following. First of F1 with merges and splits, then of the strict one."""
    found: Counter[str] = msgspec.field(default_factory=Counter)
    regions: Counter[str] = msgspec.field(default_factory=Counter)
    right: Counter[str] = msgspec.field(default_factory=Counter)
    strict_regions: Counter[str] = msgspec.field(default_factory=Counter)
    strict: Counter[str] = msgspec.field(default_factory=Counter)
    looks: Counter[str] = msgspec.field(default_factory=Counter)
    """`elements`, `found`, `regions` and `right` of all classes, by looks."""
    tables: int = 0
    tables_found: int = 0
    seals: int = 0
    seals_found: int = 0
    seals_false: int = 0
    confused: Counter[str] = msgspec.field(default_factory=Counter)
    """Characters, by `true class -> class of the region`, where these differ."""
    wall_s: float = 0.0
    cpu_s: float = 0.0

    def add(self, other: Tally) -> None:
        """Add another's counts."""
        for name in self.__struct_fields__:
            mine, theirs = getattr(self, name), getattr(other, name)
            if isinstance(mine, Counter):
                mine.update(theirs)
            else:
                setattr(self, name, mine + theirs)

    @property
    def f1(self) -> float:
        return _f1(self.found.total(), self.elements.total(), self.right.total(), self.regions.total())

    @property
    def strict_f1(self) -> float:
        return _f1(self.strict.total(), self.elements.total(), self.strict.total(), self.strict_regions.total())

    @property
    def looks_f1(self) -> float:
        return _f1(self.looks["found"], self.looks["elements"], self.looks["right"], self.looks["regions"])

    def f1_of(self, kind: str) -> float:
        """F1 with merges and splits of one class."""
        return _f1(self.found[kind], self.elements[kind], self.right[kind], self.regions[kind])


def _f1(found: int, elements: int, right: int, regions: int) -> float:
    """From found of elements and right of regions; 1 where there is nothing on either side."""
    if elements == 0 and regions == 0:
        return 1.0
    recall = found / elements if elements else 0.0
    precision = right / regions if regions else 0.0
    return 2 * recall * precision / (recall + precision) if recall + precision else 0.0
