"""`docfleet topics`: the topics of the broker, as topics.yaml wants them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shared.settings import Settings
    from shared.streams.topics import Plan

app = typer.Typer(help="The topics of the broker, as topics.yaml wants them.", no_args_is_help=True)


class LostOffsets(StrEnum):
    refuse = "refuse"
    beginning = "beginning"
    end = "end"


Lost = Annotated[
    LostOffsets,
    typer.Option(
        help="Where a group goes on that lost its offsets: `beginning` reads again what is still there, `end` skips it."
    ),
]
Partitions = Annotated[int | None, typer.Option(min=1, help="Partitions instead of the default of topics.yaml.")]
File = Annotated[Path | None, typer.Option(help="Another topics.yaml.", exists=True, dir_okay=False)]


@app.command("plan")
def plan(lost_offsets: Lost = LostOffsets.refuse, partitions: Partitions = None, file: File = None) -> None:
    """Show what `apply` would do: `+` new, `~` changed, `!` refused, `?` worth a look. Changes nothing.

    Exit code: 0, or 1 when the plan holds something that is refused.

    Example:

        DOCFLEET_KAFKA__BOOTSTRAP_SERVERS=kafka:9092 docfleet topics plan
    """
    _, found = _plan(lost_offsets, partitions, file)
    raise typer.Exit(1 if found.refusals else 0)


@app.command("apply")
def apply(lost_offsets: Lost = LostOffsets.refuse, partitions: Partitions = None, file: File = None) -> None:
    """Create and alter topics, and give every group without offsets its first ones. Deletes and shrinks nothing; may be run again.

    Examples:

        docfleet topics apply

        docfleet topics apply --partitions 24

        docfleet topics apply --lost-offsets beginning
    """
    from docfleet.cli.console import fail, told

    settings, found = _plan(lost_offsets, partitions, file)
    with told():
        from shared.streams.topics import TopicsRefused
        from shared.streams.topics import apply as carry_out

        try:
            carry_out(settings, found)
        except TopicsRefused:
            raise fail("nothing was changed: the plan holds what must not be done (lines with !)") from None
    if found.changes:
        typer.echo(f"{len(found.changes)} changes done")


@app.command("trim")
def trim(send: Annotated[bool, typer.Option("--send", help="Do it. Without this nothing is deleted.")] = False) -> None:
    """Delete records that every group has consumed: work topics keep them until then, and for good. A dry run without `--send`.

    Run it now and then (a CronJob), or the disks of the brokers fill up.

    Example:

        docfleet topics trim --send
    """
    from docfleet.cli.console import quiet_logs, told

    quiet_logs()
    with told():
        from shared.settings import Settings
        from shared.streams import trim as records

        settings = Settings()
        trims, left = records.plan(settings)
        for topic in sorted({one.topic for one in trims}):
            typer.echo(f"- {topic}  {sum(one.records for one in trims if one.topic == topic)} records")
        for line in left:
            typer.echo(f"? {line}")
        if send:
            records.apply(settings, trims)
        total = sum(one.records for one in trims)
        typer.echo(f"{total} consumed records {'deleted' if send else 'would be deleted (--send)'}")


def _plan(lost_offsets: LostOffsets, partitions: int | None, file: Path | None) -> tuple[Settings, Plan]:
    """Make the plan and print it."""
    from docfleet.cli.console import fail, quiet_logs, told

    quiet_logs()
    with told():
        from shared.settings import Settings
        from shared.streams.catalog import TopicsInvalid, load
        from shared.streams.topics import plan as make

        settings = Settings()
        try:
            found = make(settings, load(file, partitions), lost_offsets.value)
        except TopicsInvalid as error:
            raise fail(str(error)) from None
        typer.echo(found.render())
        return settings, found
