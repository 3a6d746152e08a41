"""`docfleet reconcile`: objects whose notification was lost."""

from __future__ import annotations

from typing import Annotated

import typer

from docfleet.cli.options import seconds_of


def reconcile(
    bucket: Annotated[str, typer.Option(help="Bucket to look through.")],
    prefix: Annotated[str, typer.Option(help="Only keys that begin so.")] = "",
    older_than: Annotated[
        str, typer.Option(help="Only objects of this age: their notification may yet come. `30s`, `10m`, `2h`, `7d`.")
    ] = "10m",
    also_open: Annotated[
        bool, typer.Option("--also-open", help="Also those that were taken and have no result (topics were lost).")
    ] = False,
    send: Annotated[bool, typer.Option("--send", help="Do it. Without this nothing is sent.")] = False,
) -> None:
    """Find objects that have no result, and tell the fleet of them as their bucket notification would have. A dry run without `--send`.

    Purged and erased documents count as answered. The rules of `ingest.rules` hold. Exit code: 0, or 1 when a dry run found something.

    Examples:

        docfleet reconcile --bucket invoices

        docfleet reconcile --bucket invoices --prefix 2026/ --older-than 1h --send
    """
    from docfleet.cli.console import quiet_logs, shown, told

    age = seconds_of(older_than)
    quiet_logs()
    with told():
        import contextlib

        from docfleet.client import Client
        from docfleet.sending import Sender
        from docfleet.sweep import sweep

        with Client() as client, contextlib.ExitStack() as stack:
            sender = stack.enter_context(Sender(client.settings, "reconcile")) if send else None
            swept = client.background.run(
                sweep(
                    client.settings,
                    client.store,
                    bucket,
                    prefix,
                    older_than_s=age,
                    also_open=also_open,
                    sender=sender,
                    told=lambda key, state: typer.echo(shown(f"{state}  {key}")),
                )
            )
        typer.echo(
            f"{swept.new} new, {swept.open} open, {swept.done} done, {swept.young} too young, {swept.unwanted} unwanted; "
            + (f"{swept.sent} sent" if send else "nothing was sent (--send)")
        )
    raise typer.Exit(1 if not send and (swept.new or (also_open and swept.open)) else 0)
