"""`docfleet submit`: hand documents to a running fleet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from docfleet.cli.parse import LayoutMode, Ocr, VlMode


def submit(
    sources: Annotated[list[str], typer.Argument(metavar="FILE|FOLDER|s3://BUCKET/KEY...", help="What to parse.")],
    bucket: Annotated[str, typer.Option(help="Bucket that local files are uploaded to.")] = "docfleet-uploads",
    document_id: Annotated[str | None, typer.Option(help="Id of the document (one source only).")] = None,
    generation: Annotated[int, typer.Option(min=0, help="Attempt; one higher parses a document again.")] = 0,
    priority: Annotated[str, typer.Option(help="`interactive`, `normal` or `bulk`.")] = "normal",
    tenant: Annotated[str | None, typer.Option(help="Whose document it is.")] = None,
    pages: Annotated[str | None, typer.Option(help="Only these pages, such as `1-3,7`.")] = None,
    ocr: Annotated[Ocr, typer.Option(help="As in `docfleet parse`.")] = Ocr.auto,
    layout: Annotated[LayoutMode, typer.Option(help="As in `docfleet parse`.")] = LayoutMode.auto,
    vl: Annotated[VlMode, typer.Option(help="As in `docfleet parse`.")] = VlMode.auto,
    vl_profile: Annotated[str | None, typer.Option(help="Model profile for this document.")] = None,
    password_ref: Annotated[
        str | None, typer.Option(help="Name of the secret with the password (limits.passwords).")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the results; exit code as `docfleet parse`.")] = False,
) -> None:
    """Submit documents: files are uploaded, then `docs.incoming` gets a record for each. Prints their ids.

    Examples:

        docfleet submit report.pdf --wait

        docfleet submit s3://invoices/2026/07/a.pdf --priority bulk

        docfleet submit report.pdf --document-id order-17 --generation 1
    """
    from docfleet.cli.console import console, fail, quiet_logs, told

    if document_id is not None and len(sources) != 1:
        raise fail("--document-id names one document: give one source")
    if priority not in ("interactive", "normal", "bulk"):
        raise fail("--priority is interactive, normal or bulk")
    worst = 0
    quiet_logs()
    with told():
        from docfleet.cli.watch import parsed_line
        from docfleet.client import Client
        from docfleet.outcomes import severity
        from shared.contracts.ids import is_document_id
        from shared.contracts.options import Options, selected_pages

        if document_id is not None and not is_document_id(document_id):
            raise fail("a document id has 1 to 128 of A-Z a-z 0-9 . _ : -")
        selected_pages(pages, 1)
        options = Options(
            ocr=ocr.value,
            layout=layout.value,
            vl=vl.value,
            vl_profile=vl_profile,
            pages=pages,
            password_ref=password_ref,
        )
        screen = console()
        with Client() as client:
            names: dict[str, str] = {}
            for source in _expanded(sources):
                done = client.submit(
                    source,
                    options=options,
                    document_id=document_id,
                    generation=generation,
                    priority=priority,  # type: ignore[arg-type]  # checked above
                    tenant=tenant,
                    bucket=bucket,
                )
                names[done.document_id] = str(source)
                typer.echo(f"{done.document_id}  {source}")
            if wait:
                for parsed in client.results():
                    worst = max(worst, severity(parsed.status))
                    screen.print(parsed_line(parsed, names[parsed.document_id]))
    raise typer.Exit(worst)


def _expanded(sources: list[str]) -> list[Path | str]:
    """Objects as they are named, files and the documents of folders as paths."""
    from docfleet.inputs import find

    expanded: list[Path | str] = []
    for source in sources:
        expanded += [source] if source.startswith("s3://") else [given.path for given in find([Path(source)]).inputs]
    return expanded
