"""`docfleet watch`: what a running fleet is doing, and what comes out of it."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shared.contracts.layout import ComposedPage
    from shared.contracts.records import DocumentParsed, DocumentProgress


def watch(
    documents: Annotated[list[str] | None, typer.Argument(metavar="[DOCUMENT_ID...]", help="Only these.")] = None,
    from_start: Annotated[
        bool, typer.Option("--from-start", help="Begin with the oldest result the broker has.")
    ] = False,
    results_only: Annotated[bool, typer.Option("--results-only", help="No progress.")] = False,
    pages: Annotated[
        bool,
        typer.Option("--pages", help="The pages of the named documents as they are composed, finished ones first."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="The records (or pages) themselves, one a line.")] = False,
) -> None:
    """Show progress (`docs.progress`) and results (`docs.parsed`) as they come, until Ctrl-C, or until all named documents have ended.

    With `--pages` each page is shown the moment it can be read, however many are still to come.

    Examples:

        docfleet watch

        docfleet watch order-17 --from-start

        docfleet watch --json --results-only > results.jsonl

        docfleet watch order-17 --pages --json | jq -r '.blocks[].text'
    """
    from docfleet.cli.console import console, fail, quiet_logs, told

    if pages and not documents:
        raise fail("--pages needs the documents: name them")
    quiet_logs()
    if pages:
        with told(), suppress(KeyboardInterrupt):
            watch_pages(documents or [], json)
        return
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


def watch_pages(documents: list[str], json: bool) -> None:
    """Print pages as they come until all documents have ended."""
    from docfleet.cli.console import console
    from docfleet.client import Client
    from shared.contracts.codec import encode

    screen = console()
    with Client() as client, ExitStack() as stack:
        left = [stack.enter_context(client.following(name)) for name in dict.fromkeys(documents)]
        while left:
            for following in list(left):
                ended = following.ended
                for page_no in following.take():
                    page = client.page(following.document_id, page_no, following.generation)
                    if json:
                        typer.echo(encode(page).decode())
                    else:
                        screen.print(page_line(page))
                if ended:
                    left.remove(following)
            if left:
                client.poll(0.5)


def page_line(composed: ComposedPage) -> str:
    """A composed page in one line (rich markup): what can be read on it, and how it begins."""
    from docfleet.cli.console import marked
    from docfleet.cli.display import counted

    page = composed.page
    colour = {"ok": "green", "failed": "red"}.get(page.status, "dim")
    beginning = next((block.text for block in composed.blocks if block.text.strip()), "")
    parts = [
        f"[bold]{marked(composed.document_id)}[/]",
        f"page {page.page_no}",
        f"[{colour}]{page.status}[/]",
        counted(len(composed.blocks), "block"),
        f"[dim]{marked(' '.join(beginning.split())[:60])}[/]" if beginning else "",
        *(f"[red]{error.code}[/] {marked(error.message)}" for error in composed.errors[:1]),
    ]
    return "  ".join(part for part in parts if part)


def progress_line(record: DocumentProgress) -> str:
    """A report of progress in one line."""
    failed = f", {record.pages_failed} failed" if record.pages_failed else ""
    stages = record.stages
    now = [(stages.layout, "in layout"), (stages.reading, "being read"), (stages.composing, "being composed")]
    where = "".join(f", {count} {what}" for count, what in now if count)
    done = f"{record.pages_done}/{record.pages_total} pages"
    return f"[dim]{record.document_id}  {record.state}  {done}{failed}{where}[/]"


def parsed_line(record: DocumentParsed, name: str) -> str:
    """A result in one line (rich markup)."""
    from docfleet.cli.console import marked
    from docfleet.cli.display import COLOURS, counted

    generation = f" (generation {record.generation})" if record.generation else ""
    parts = [
        f"[bold]{marked(name)}[/]{generation}",
        f"[{COLOURS[record.status]}]{record.status}[/]",
        counted(record.totals.pages, "page") if record.result else "",
        "cached" if record.cached else f"{record.timings.total_s:.1f} s",
        marked(f"s3://{record.result.bucket}/{record.result.key}") if record.result else "",
        *(f"[red]{error.code}[/] {marked(error.message)}" for error in record.errors[:1]),
    ]
    return "  ".join(part for part in parts if part)
