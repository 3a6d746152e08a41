"""`docfleet reparse`: documents that today's models would read otherwise."""

from __future__ import annotations

from typing import Annotated

import typer


def reparse(
    documents: Annotated[
        list[str] | None, typer.Argument(metavar="[DOCUMENT_ID...]", help="These documents, whatever parsed them.")
    ] = None,
    fingerprint_older: Annotated[
        bool,
        typer.Option("--fingerprint-older", help="All that were parsed by other models or settings than those of now."),
    ] = False,
    priority: Annotated[str, typer.Option(help="`interactive`, `normal` or `bulk`.")] = "bulk",
    send: Annotated[bool, typer.Option("--send", help="Do it. Without this nothing is sent.")] = False,
) -> None:
    """Parse documents again: the submission that was kept, at the next generation. A dry run without `--send`.

    Old results stay readable until the new ones are there. The settings must be those of the fleet: they say what the models of now are.

    Examples:

        docfleet reparse --fingerprint-older

        docfleet reparse order-17 order-18 --send
    """
    from docfleet.cli.console import fail, quiet_logs, told

    if bool(documents) == fingerprint_older:
        raise fail("name documents, or say --fingerprint-older")
    if priority not in ("interactive", "normal", "bulk"):
        raise fail("--priority is interactive, normal or bulk")
    quiet_logs()
    with told():
        import contextlib

        from docfleet.client import Client
        from docfleet.reparsing import reparse as again
        from docfleet.sending import Sender

        with Client() as client, contextlib.ExitStack() as stack:
            sender = stack.enter_context(Sender(client.settings, "reparse")) if send else None
            counts = client.background.run(
                again(
                    client.settings,
                    client.store,
                    documents=documents or (),
                    priority=priority,  # type: ignore[arg-type]  # checked above
                    sender=sender,
                    told=lambda document_id, generation: typer.echo(f"{document_id}  generation {generation}"),
                )
            )
        typer.echo(
            f"{counts.old} to parse again, {counts.current} of now, {counts.gone} purged; "
            + (f"{counts.sent} sent" if send else "nothing was sent (--send)")
        )
