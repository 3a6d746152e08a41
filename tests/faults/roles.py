"""The six processes of the fleet, as the faults see them."""

from __future__ import annotations

from typing import Literal, get_args

Role = Literal["ingest", "layout_worker", "rec_worker", "vl_worker", "compose", "join"]
"""Keys of `stages` in the settings."""

ROLES: tuple[Role, ...] = get_args(Role)

STAGES: tuple[Role, ...] = tuple(role for role in ROLES if role != "join")
"""Those whose consumer is `shared.streams.runner`; the join's is Faust's."""

REAL: dict[Role, tuple[str, ...]] = {
    "ingest": ("services.ingest",),
    "layout_worker": ("services.layout_worker",),
    "rec_worker": ("services.rec_worker",),
    "vl_worker": ("services.vl_worker",),
    "compose": ("services.assembler.compose",),
    "join": ("services.assembler.join",),
}
"""Module, and arguments, of the services as they are shipped."""

LIGHT: dict[Role, tuple[str, ...]] = {role: ("tests.faults.light.worker", role) for role in ROLES}
"""The same with synthetic networks in the two engine children, and a log of what the stages work on."""

CHILDREN: dict[Role, int] = {
    "ingest": 1,
    "layout_worker": 2,
    "rec_worker": 2,
    "vl_worker": 1,
    "compose": 2,
    "join": 0,
}
"""Child processes that each has while it works."""
