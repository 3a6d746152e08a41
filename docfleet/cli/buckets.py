"""`docfleet buckets`: the buckets that a fleet needs."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(help="The buckets of the object store that a fleet needs.", no_args_is_help=True)


@app.callback()
def buckets() -> None:
    """The buckets of the object store that a fleet needs."""


@app.command("apply")
def apply(
    notify: Annotated[
        str | None,
        typer.Option(
            metavar="ARN",
            help="Queue that the store tells of new source objects, as the store's own configuration names it.",
        ),
    ] = None,
    wait: Annotated[
        str, typer.Option(help="How long to wait for a store that does not answer yet: `30s`, `10m`.")
    ] = "0s",
) -> None:
    """Make the fleet's own bucket (`objects.bucket`) and those of documents (`objects.sources`). Removes nothing; may be run again.

    With `--notify`, new objects of the latter are told to a queue of the store; what else is configured there stays.

    Examples:

        docfleet buckets apply

        DOCFLEET_OBJECTS__SOURCES='["incoming"]' docfleet buckets apply --notify arn:minio:sqs::DOCFLEET:kafka --wait 1m
    """
    from docfleet.cli.console import quiet_logs, told
    from docfleet.cli.options import seconds_of

    wait_s = seconds_of(wait)
    quiet_logs()
    with told():
        import asyncio

        from docfleet.buckets import apply as carry_out
        from shared.settings import Settings

        asyncio.run(carry_out(Settings(), notify=notify, wait_s=wait_s, told=typer.echo))
