"""Option values that several commands share."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from docfleet.processes import MODULES


def replicas_of(values: Sequence[str] | None) -> dict[str, int]:
    """`["rec_worker=2"]` as counts by service. Raises `typer.BadParameter`."""
    counts: dict[str, int] = {}
    for value in values or ():
        name, _, number = value.partition("=")
        if name not in MODULES:
            raise typer.BadParameter(f"{name!r} is no service; there are {', '.join(sorted(MODULES))}")
        if not number.isdigit() or int(number) > 64:
            raise typer.BadParameter(f"{value!r}: write it like rec_worker=2 (0 to 64)")
        counts[name] = int(number)
    return counts
