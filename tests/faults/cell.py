"""A cell of the matrix: one kind of fault, one role, one number of replicas."""

from __future__ import annotations

import msgspec

from tests.faults.roles import Role

REPLICAS = (1, 2, 3)


class Cell(msgspec.Struct, frozen=True, order=True):
    """`replicas`: how many processes each role has while the fault is injected."""

    injection: str
    role: Role
    replicas: int

    @property
    def name(self) -> str:
        """`sigkill/join/2`"""
        return f"{self.injection}/{self.role}/{self.replicas}"


class Place(msgspec.Struct, frozen=True):
    """A place of the matrix. `reason` says why there is no cell; none where there is one."""

    cell: Cell
    reason: str | None = None
