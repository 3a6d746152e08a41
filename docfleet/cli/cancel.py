"""`docfleet cancel`: end documents that are under way."""

from __future__ import annotations

from typing import Annotated

import typer


def cancel(
    documents: Annotated[list[str], typer.Argument(metavar="DOCUMENT_ID...", help="Documents to end.")],
    generation: Annotated[int, typer.Option(min=0, help="Which attempt.")] = 0,
) -> None:
    """End documents as `cancelled`. Pages that are done stay readable; a document that has ended is not touched.

    Example:

        docfleet cancel order-17
    """
    from docfleet.cli.console import quiet_logs, told

    quiet_logs()
    with told():
        from docfleet.client import Client

        with Client() as client:
            for document_id in documents:
                client.cancel(document_id, generation)
                typer.echo(f"asked to cancel {document_id}")
