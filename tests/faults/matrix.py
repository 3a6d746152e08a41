"""All kinds of faults, and the cells they make with roles and replicas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.faults.cell import REPLICAS, Place
from tests.faults.cell import Cell as Cell
from tests.faults.injection import Injection
from tests.faults.roles import ROLES
from tests.faults.servers import Servers


def injections() -> list[Injection]:
    """Every kind of fault, in the order in which a run goes through them."""
    from tests.faults import infra
    from tests.faults.injections import children, clock, memory, points, process, rolling

    mine = [process, children, memory, points, clock, rolling]
    return [kind for module in [*mine, infra] for kind in module.INJECTIONS]


def servers() -> dict[str, Callable[[Path], Servers]]:
    """What a kind may need under the fleet, by the name it says in its `servers`."""
    from tests.faults.infra.servers import FolderServers, LinkedServers, ThreeNodes
    from tests.faults.injections.clock import ClockServers

    return {
        "plain": Servers,
        "clock": ClockServers,
        "links": LinkedServers,
        "three": ThreeNodes,
        "folder": FolderServers,
    }


def places(kinds: Sequence[Injection]) -> list[Place]:
    """Every combination, with the reason of each that is no cell. By servers, then replicas: another fleet, and scaling one, is what costs."""
    return [
        Place(Cell(kind.name, role, replicas), kind.inapplicable(role, replicas))
        for name in servers()
        for replicas in REPLICAS
        for kind in kinds
        if kind.servers == name
        for role in ROLES
    ]


def by_servers(places: Sequence[Place], kinds: Sequence[Injection]) -> Iterator[tuple[str, list[Place]]]:
    """Places in groups that one fleet can run."""
    of = {kind.name: kind.servers for kind in kinds}
    for name in servers():
        if mine := [place for place in places if of[place.cell.injection] == name]:
            yield name, mine
