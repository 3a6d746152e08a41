"""What one run came to."""

from __future__ import annotations

import msgspec

from tests.faults.cell import Cell
from tests.faults.checker import Violation


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a run came to; a line of the journal."""

    cell: Cell
    seed: int
    profile: str
    documents: int
    pages: int
    seconds: float
    violations: list[Violation]
    measured: dict[str, float]
    at: float
    code: str = ""
    """Commit of the code that ran."""

    @property
    def green(self) -> bool:
        return not self.violations
