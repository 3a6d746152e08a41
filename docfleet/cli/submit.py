"""`docfleet submit`: hand documents to a running fleet."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docfleet.cli.parse import LayoutMode, Ocr, VlMode

if TYPE_CHECKING:
    from docfleet.feed import Feed
    from docfleet.waiting import Waiting
    from shared.contracts.records import DocumentSubmitted


def submit(
    sources: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE|FOLDER|PATTERN|s3://BUCKET/KEY|s3://BUCKET/PREFIX/...]", help="What to parse."),
    ] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(
            help="A list of sources: CSV with a head (`source,document_id,tenant,pages,...`) or JSON lines (`.jsonl`).",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    journal: Annotated[
        Path | None,
        typer.Option(
            help="Note here what was submitted, and skip what is noted already: a run that broke off is taken up by the same command."
        ),
    ] = None,
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
    wait: Annotated[
        bool,
        typer.Option("--wait", help="Wait for the results and print each as it comes; exit code as `docfleet parse`."),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not print the ids.")] = False,
) -> None:
    """Submit documents, one or a million: files are uploaded, then `docs.incoming` gets a record for each. Prints their ids.

    An object's document has the id that its own bucket notification would give it. Memory does not grow with the number.

    Examples:

        docfleet submit report.pdf --wait

        docfleet submit s3://invoices/2026/07/a.pdf --priority bulk

        docfleet submit 's3://invoices/2026-*/*.pdf' --journal july.tsv --quiet

        docfleet submit --manifest list.csv --wait

        docfleet submit report.pdf --document-id order-17 --generation 1
    """
    from docfleet.cli.console import fail, quiet_logs, told

    if bool(sources) == bool(manifest):
        raise fail("name what to submit: files, folders, objects, or --manifest LIST")
    if document_id is not None and len(sources or ()) != 1:
        raise fail("--document-id names one document: give one source")
    if priority not in ("interactive", "normal", "bulk"):
        raise fail("--priority is interactive, normal or bulk")
    worst = 0
    quiet_logs()
    with told():
        from docfleet.client import Client
        from docfleet.feed import Feed
        from docfleet.sending import Sender
        from docfleet.sources import listed, named
        from docfleet.submitting import Journal
        from docfleet.submitting import submit as submit_all
        from docfleet.waiting import Waiting
        from shared.contracts.ids import is_document_id
        from shared.contracts.options import Options, selected_pages

        if document_id is not None and not is_document_id(document_id):
            raise fail("a document id has 1 to 128 of A-Z a-z 0-9 . _ : -")
        selected_pages(pages, 1)
        fields = {
            "document_id": document_id,
            "generation": generation,
            "priority": priority,
            "tenant": tenant,
            "options": Options(
                ocr=ocr.value,
                layout=layout.value,
                vl=vl.value,
                vl_profile=vl_profile,
                pages=pages,
                password_ref=password_ref,
            ),
        }
        with Client() as client:
            # In position before the first submission, so that no result is missed.
            feed = Feed(client.settings, ["docs.parsed"], "now") if wait else None
            noted = Journal(journal) if journal is not None else None
            waiting = Waiting(client.background, client.store, client.settings.objects.bucket)
            names: dict[str, str] = {}
            try:
                with Sender(client.settings, "submit") as sender:
                    given = named(client.store, sources) if sources else listed(manifest)  # type: ignore[arg-type]
                    call = submit_all(
                        client.store,
                        sender,
                        given,
                        uploads=bucket,
                        fields=fields,
                        journal=noted,
                        told=_teller((waiting, names) if wait else None, quiet),
                    )
                    done = client.background.run(call)
            finally:
                if noted is not None:
                    noted.close()
            if done.skipped or quiet:
                typer.echo(f"{done.submitted} submitted, {done.skipped} were in the journal", err=True)
            if feed is not None:
                worst = _awaited(feed, waiting, names)
                feed.close()
    raise typer.Exit(worst)


def _teller(wanted: tuple[Waiting, dict[str, str]] | None, quiet: bool) -> Callable[[DocumentSubmitted, str], None]:
    """Prints ids as they are given, and now and then on a terminal how many there are."""
    import sys

    from docfleet.cli.console import shown

    count, last = 0, time.monotonic()

    def told(submission: DocumentSubmitted, name: str) -> None:
        nonlocal count, last
        count += 1
        if wanted is not None:
            waiting, names = wanted
            waiting.add(submission.document_id or "", submission.generation, submission.source)
            names[submission.document_id or ""] = name
        if not quiet:
            typer.echo(shown(f"{submission.document_id}  {name}"))
        elif sys.stderr.isatty() and time.monotonic() - last > 1:
            last = time.monotonic()
            typer.echo(f"\r{count} submitted", nl=False, err=True)

    return told


def _awaited(feed: Feed, waiting: Waiting, names: dict[str, str]) -> int:
    """Print the results of documents as they come, each once; the exit code of the worst."""
    from docfleet.cli.console import console, shown
    from docfleet.cli.watch import parsed_line
    from docfleet.outcomes import severity
    from shared.contracts.records import DocumentParsed

    screen, worst = console(), 0
    while waiting:
        for record in feed.read(0.5):
            if isinstance(record, DocumentParsed) and waiting.means(record.document_id, record.generation):
                waiting.discard(record.document_id)
                screen.print(parsed_line(record, names[record.document_id]))
                worst = max(worst, severity(record.status))
        for found in waiting.look():
            waiting.discard(found.document_id)
            if found.mark is not None:
                typer.echo(shown(f"{names[found.document_id]}  {found.mark.status}  (had ended before)"))
                worst = max(worst, severity(found.mark.status))
            elif found.conflict is not None:
                typer.echo(shown(f"{names[found.document_id]}  {found.conflict.code}  {found.conflict.message}"))
                worst = 2
    return worst
