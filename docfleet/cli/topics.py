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


@app.command("acls")
def acls(
    roles: Annotated[
        list[str] | None, typer.Argument(metavar="[ROLE...]", help="Only these, such as `rec_worker` or `users`.")
    ] = None,
    principal: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=PRINCIPAL",
            help="Who the broker takes a role for, such as `ingest=User:CN=ingest`; by default `User:docfleet-ROLE`. May be repeated.",
        ),
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Give the rights. Without this they are printed.")] = False,
    file: File = None,
) -> None:
    """Print the rights that each service needs and no more, as commands of Kafka's own tool; or give them.

    Made from topics.yaml: who reads and writes which topic. `--apply` needs a principal that may alter the cluster; it takes nothing away.

    Examples:

        docfleet topics acls rec_worker

        docfleet topics acls --principal users=User:portal --apply
    """
    from docfleet.cli.console import fail, quiet_logs, told

    quiet_logs()
    with told():
        from docfleet import acls as rights
        from shared.settings import Settings
        from shared.streams.catalog import TopicsInvalid, load

        settings = Settings()
        try:
            everybody = rights.principals(principal or ())
            if unknown := sorted(set(roles or ()) - set(everybody)):
                raise ValueError(f"there is no role {unknown[0]!r}; there are {', '.join(everybody)}")
            catalog = load(file)
        except (ValueError, TopicsInvalid) as error:
            raise fail(str(error)) from None
        wanted = {role: who for role, who in everybody.items() if not roles or role in roles}
        if apply:
            typer.echo(f"{rights.apply(settings, wanted, catalog)} rights given to {len(wanted)} principals")
        else:
            for line in rights.commands(wanted, catalog, settings.kafka.bootstrap_servers):
                typer.echo(line)


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
