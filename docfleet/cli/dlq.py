"""`docfleet dlq`: dead letters listed, looked at, sent again, dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from docfleet.cli import letters
from docfleet.cli.console import shown
from docfleet.cli.options import seconds_of

if TYPE_CHECKING:
    from docfleet.deadletters import DeadLetters, Reader, Wanted
    from shared.settings import Settings

app = typer.Typer(help="Dead letters: records that could not be worked on (`docs.dlq`).", no_args_is_help=True)


class Show(StrEnum):
    open = "open"
    replayed = "replayed"
    dropped = "dropped"
    all = "all"


Names = Annotated[list[str] | None, typer.Argument(metavar="[LETTER...]", help="These letters, as `list` names them.")]
Codes = Annotated[list[str] | None, typer.Option("--code", help="Only with this error code. May be repeated.")]
Topics = Annotated[
    list[str] | None, typer.Option("--topic", help="Only records of this topic (and its second lane). May be repeated.")
]
Documents = Annotated[list[str] | None, typer.Option("--document", help="Only of this document. May be repeated.")]
Newer = Annotated[str | None, typer.Option(help="Only those that died within this time: `30s`, `10m`, `2h`, `7d`.")]
Older = Annotated[str | None, typer.Option(help="Only those that died before that: `30s`, `10m`, `2h`, `7d`.")]
Json = Annotated[
    bool, typer.Option("--json", help="One JSON object a letter and line; what else is to be said goes to stderr.")
]


@app.command("list")
def list_(
    names: Names = None,
    code: Codes = None,
    topic: Topics = None,
    document: Documents = None,
    newer_than: Newer = None,
    older_than: Older = None,
    show: Annotated[Show, typer.Option(help="By what became of them.")] = Show.open,
    again: Annotated[bool, typer.Option("--again", help="Only those that failed again after a replay.")] = False,
    json: Json = False,
) -> None:
    """List dead letters, the oldest first: name, time, topic, error, document and generation, what became of it.

    Examples:

        docfleet dlq list

        docfleet dlq list --code crashed --topic docs.pages --newer-than 2h

        docfleet dlq list --show all --json | jq -r .code | sort | uniq -c
    """
    with _reading(names, code, topic, document, newer_than, older_than) as (_, reader, wanted):
        found = _read(reader, wanted)
        states = ["open", "replayed", "dropped"] if show is Show.all else [show.value]
        chosen = found.select(states, True if again else None)  # type: ignore[arg-type]  # the values of Show
        for letter in chosen:
            typer.echo(letters.as_json(letters.plain(letter, found)) if json else shown(letters.line(letter, found)))
        rest = f"; {found.foreign} records that are no letters" if found.foreign else ""
        typer.echo(f"{len(chosen)} dead letters{rest}", err=json)


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(metavar="LETTER", help="As `list` names it.")],
    value: Annotated[bool, typer.Option("--value", help="Only the bytes of the record, as they were.")] = False,
) -> None:
    """Show one dead letter: every header, the stack, the record.

    Examples:

        docfleet dlq show 3:17

        docfleet dlq show 3:17 --value > record.json
    """
    with _reading([name], None, None, None, None, None) as (_, reader, wanted):
        found = _read(reader, wanted)
        (letter,) = found.letters
        message = reader.message(letter)
        if value:
            typer.echo(message.value() or b"", nl=False)
            return
        typer.echo(shown(letters.line(letter, found)))
        typer.echo(shown(f"key  {(message.key() or b'').decode(errors='replace')}"))
        for header, text in message.headers() or []:
            typer.echo("\n".join(map(shown, f"{header}  {(text or b'').decode(errors='replace')}".split("\n"))))
        typer.echo(letters.readable(message.value()))


@app.command("replay")
def replay(
    names: Names = None,
    code: Codes = None,
    topic: Topics = None,
    document: Documents = None,
    newer_than: Newer = None,
    older_than: Older = None,
    again: Annotated[
        bool, typer.Option("--again", help="Also those that failed again after a replay. Without this, once is all.")
    ] = False,
    also_open: Annotated[
        bool, typer.Option("--also-open", help="Also documents that have not ended; what runs of them is cancelled.")
    ] = False,
    priority: Annotated[str, typer.Option(help="`interactive`, `normal` or `bulk`.")] = "bulk",
    send: Annotated[bool, typer.Option("--send", help="Do it. Without this nothing is sent.")] = False,
    json: Json = False,
) -> None:
    """Parse the documents of open letters again, each once: the submission that was kept, at the next generation. A dry run without `--send`.

    A record of `docs.incoming` of which nothing was kept goes back as the bytes it was. Repair what was wrong first; what fails again is
    marked and not sent a second time unless `--again` says so.

    Examples:

        docfleet dlq replay

        docfleet dlq replay --code source_missing --newer-than 1d --send

        docfleet dlq replay 3:17 --send
    """
    from docfleet.cli.console import fail

    if priority not in ("interactive", "normal", "bulk"):
        raise fail("--priority is interactive, normal or bulk")
    with _reading(names, code, topic, document, newer_than, older_than) as (settings, reader, wanted):
        from docfleet import replaying
        from docfleet.client import Client
        from docfleet.sending import Sender

        found = _read(reader, wanted)
        chosen = found.select(["open"], None if again else False)
        with Client(settings) as client:
            decisions = client.background.run(
                replaying.decide(found, chosen, client.store, settings.objects.bucket, also_open=also_open)
            )
        for decision in decisions:
            plain = letters.decided(decision)
            typer.echo(letters.as_json(plain) if json else shown(letters.told(plain)))
        failed = 0 if again else len(found.select(["open"], True))
        closed = len(found.select(["replayed", "dropped"]))
        skipped = sum(decision.action == "skip" for decision in decisions)
        documents = sum(decision.action in ("envelope", "bytes") for decision in decisions)
        sent = 0
        if send and documents:
            with Sender(settings, "dlq") as sender, _progress("sending") as told:
                sent = replaying.send(decisions, found, reader, sender, priority, told)  # type: ignore[arg-type]  # checked above
        typer.echo(
            f"{len(decisions)} letters, {documents} to send again, {skipped} skipped"
            + (f", {failed} failed again after a replay (--again)" if failed else "")
            + (f", {closed} replayed or dropped before" if closed else "")
            + (f"; {sent} sent" if send else "; nothing was sent (--send)"),
            err=json,
        )


@app.command("drop")
def drop(
    names: Names = None,
    code: Codes = None,
    topic: Topics = None,
    document: Documents = None,
    newer_than: Newer = None,
    older_than: Older = None,
    send: Annotated[bool, typer.Option("--send", help="Do it. Without this nothing is marked.")] = False,
    json: Json = False,
) -> None:
    """Mark open letters as dropped: they are neither listed nor replayed any more. A dry run without `--send`.

    They stay in `docs.dlq` until its retention takes them (30 days), and `dlq list --show dropped` still shows them.

    Examples:

        docfleet dlq drop 3:17 --send

        docfleet dlq drop --code corrupt --older-than 7d --send
    """
    from docfleet.cli.console import fail

    if not (names or code or topic or document or newer_than or older_than):
        raise fail("name letters, or choose them by --code, --topic, --document, --older-than or --newer-than")
    with _reading(names, code, topic, document, newer_than, older_than) as (settings, reader, wanted):
        from docfleet import replaying
        from docfleet.sending import Sender

        found = _read(reader, wanted)
        chosen = found.select(["open"])
        for letter in chosen:
            typer.echo(letters.as_json(letters.plain(letter, found)) if json else shown(letters.line(letter, found)))
        if send and chosen:
            with Sender(settings, "dlq") as sender:
                replaying.drop(chosen, sender)
        done = "dropped" if send else "would be dropped (--send)"
        typer.echo(f"{len(chosen)} letters {done}", err=json)


# --- what the commands share ------------------------------------------------------------------------------------------


@contextmanager
def _reading(
    names: list[str] | None,
    codes: list[str] | None,
    topics: list[str] | None,
    documents: list[str] | None,
    newer_than: str | None,
    older_than: str | None,
) -> Iterator[tuple[Settings, Reader, Wanted]]:
    """Settings, a reader of the topic, and the letters that are meant; trouble is told in one line."""
    from docfleet.cli.console import fail, quiet_logs, told

    newest, oldest = (seconds_of(text) if text else None for text in (older_than, newer_than))
    quiet_logs()
    with told():
        import re
        import time

        from docfleet.deadletters import Reader, Wanted
        from shared.contracts.errors import ErrorCode
        from shared.settings import Settings

        if bad := [name for name in names or () if not re.fullmatch(r"\d+:\d+", name)]:
            raise fail(f"{bad[0]!r} is no letter: `docfleet dlq list` names them like 3:17")
        if bad := [code for code in codes or () if code not in set(ErrorCode)]:
            raise fail(f"{bad[0]!r} is no error code; there are {', '.join(ErrorCode)}")
        now = time.time()
        wanted = Wanted(
            names=frozenset(names or ()),
            codes=frozenset(codes or ()),
            topics=frozenset(topics or ()),
            documents=frozenset(documents or ()),
            since=now - oldest if oldest is not None else 0.0,
            until=now - newest if newest is not None else float("inf"),
        )
        settings = Settings()
        with Reader(settings) as reader:
            yield settings, reader, wanted


def _read(reader: Reader, wanted: Wanted) -> DeadLetters:
    """All wanted letters. Those that were named and are not there end the command."""
    from docfleet.cli.console import fail

    with _progress("reading docs.dlq") as told:
        found = reader.read(wanted, told)
    if missing := sorted(wanted.names - {letter.name for letter in found.letters}):
        raise fail(f"there is no such dead letter: {', '.join(missing)}")
    return found


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr while it takes long; nothing where there is no terminal."""
    from rich.progress import Progress

    from docfleet.cli.console import console

    screen = console(stderr=True)
    with Progress(console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
