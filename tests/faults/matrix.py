"""All kinds of faults, and the cells they make with roles and replicas."""

from __future__ import annotations

from collections.abc import Sequence

from tests.faults.cell import REPLICAS, Cell, Place
from tests.faults.injection import Injection
from tests.faults.roles import ROLES


def injections() -> list[Injection]:
    """Every kind of fault, in the order in which a run goes through them."""
    from tests.faults import infra
    from tests.faults.injections import process

    return [*process.INJECTIONS, *infra.INJECTIONS]


def places(kinds: Sequence[Injection]) -> list[Place]:
    """Every combination, with the reason of each that is no cell. By replicas first: scaling a fleet is what costs."""
    return [
        Place(Cell(kind.name, role, replicas), kind.inapplicable(role, replicas))
        for replicas in REPLICAS
        for kind in kinds
        for role in ROLES
    ]
