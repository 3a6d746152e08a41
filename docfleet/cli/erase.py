"""`docfleet erase`: one document, everywhere."""

from __future__ import annotations

from typing import Annotated

import typer


def erase(
    documents: Annotated[list[str], typer.Argument(metavar="DOCUMENT_ID...", help="Documents to erase.")],
) -> None:
    """Remove all that the fleet keeps of a document: results, work, cache entries, uploads, its record. One that is under way is ended.

    The source object stays where it is the submitter's own. A dead letter holds no more than the envelope, and goes with the retention of
    `docs.dlq`.

    Example:

        docfleet erase order-17
    """
    from docfleet.cli.console import quiet_logs, told

    quiet_logs()
    with told():
        from docfleet.client import UPLOADS, Client
        from docfleet.removal import Removal
        from docfleet.sending import Sender

        with Client() as client, Sender(client.settings, "erase") as sender:
            removal = Removal(client.settings, client.store, UPLOADS)
            for document_id in documents:
                count = client.background.run(removal.erase(document_id, sender))
                typer.echo(f"erased {document_id}  {count} objects")
