"""`docfleet watch`: what a running fleet is doing, and what comes out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shared.contracts.records import DocumentParsed, DocumentProgress


def watch(
    documents: Annotated[list[str] | None, typer.Argument(metavar="[DOCUMENT_ID...]", help="Only these.")] = None,
    from_start: Annotated[
        bool, typer.Option("--from-start", help="Begin with the oldest result the broker has.")
    ] = False,
    results_only: Annotated[bool, typer.Option("--results-only", help="No progress.")] = False,
    json: Annotated[bool, typer.Option("--json", help="The records themselves, one a line.")] = False,
) -> None:
    """Show progress (`docs.progress`) and results (`docs.parsed`) as they come, until Ctrl-C, or until all named documents have ended.

    Examples:

        docfleet watch

        docfleet watch order-17 --from-start

        docfleet watch --json --results-only > results.jsonl
    """
    from docfleet.cli.console import console, quiet_logs, told

    quiet_logs()
    with told():
        from docfleet.feed import Feed
        from shared.contracts.codec import encode
        from shared.contracts.records import DocumentParsed, DocumentProgress
        from shared.settings import Settings

        screen = console()
        left = set(documents or ())
        feed = Feed(
            Settings(),
            ["docs.parsed"] if results_only else ["docs.parsed", "docs.progress"],
            "beginning" if from_start else "now",
        )
        try:
            while True:
                for record in feed.read(0.5):
                    if documents and record.document_id not in documents:
                        continue
                    if json:
                        typer.echo(encode(record).decode())
                    elif isinstance(record, DocumentParsed):
                        screen.print(parsed_line(record, record.document_id))
                    elif isinstance(record, DocumentProgress):
                        screen.print(progress_line(record))
                    if isinstance(record, DocumentParsed):
                        left.discard(record.document_id)
                if documents and not left:
                    return
        except KeyboardInterrupt:
            return
        finally:
            feed.close()


def progress_line(record: DocumentProgress) -> str:
    """A report of progress in one line."""
    failed = f", {record.pages_failed} failed" if record.pages_failed else ""
    return f"[dim]{record.document_id}  {record.state}  {record.pages_done}/{record.pages_total} pages{failed}[/]"


def parsed_line(record: DocumentParsed, name: str) -> str:
    """A result in one line (rich markup)."""
    from rich.markup import escape

    from docfleet.cli.display import COLOURS, counted

    generation = f" (generation {record.generation})" if record.generation else ""
    parts = [
        f"[bold]{escape(name)}[/]{generation}",
        f"[{COLOURS[record.status]}]{record.status}[/]",
        counted(record.totals.pages, "page") if record.result else "",
        "cached" if record.cached else f"{record.timings.total_s:.1f} s",
        escape(f"s3://{record.result.bucket}/{record.result.key}") if record.result else "",
        *(f"[red]{error.code}[/] {escape(error.message)}" for error in record.errors[:1]),
    ]
    return "  ".join(part for part in parts if part)
