"""`docfleet purge`: results of documents that ended long ago."""

from __future__ import annotations

from typing import Annotated

import typer

from docfleet.cli.options import seconds_of


def purge(
    older_than: Annotated[str, typer.Option(help="Documents that ended so long ago: `12h`, `30d`.")],
    send: Annotated[bool, typer.Option("--send", help="Do it. Without this nothing is removed.")] = False,
) -> None:
    """Remove results, work objects and cache entries of documents that ended some time ago, and their records. A dry run without `--send`.

    Time counts from the end of a document; one with a newer attempt under way is left alone. Marks (`done/`) stay, so that
    reconcile does not submit the objects again.

    Examples:

        docfleet purge --older-than 30d

        docfleet purge --older-than 30d --send
    """
    from docfleet.cli.console import quiet_logs, told

    age = seconds_of(older_than)
    quiet_logs()
    with told():
        import contextlib

        from docfleet.client import UPLOADS, Client
        from docfleet.removal import Removal
        from docfleet.sending import Sender

        with Client() as client, contextlib.ExitStack() as stack:
            sender = stack.enter_context(Sender(client.settings, "purge")) if send else None
            removal = Removal(client.settings, client.store, UPLOADS)
            removed = client.background.run(
                removal.purge(age, sender, lambda document_id, objects: typer.echo(f"{document_id}  {objects} objects"))
            )
        typer.echo(
            f"{removed.documents} documents, {removed.objects} objects {'removed' if send else 'would be removed (--send)'}"
            + (f"; {removed.busy} are being parsed again and were left alone" if removed.busy else "")
        )
