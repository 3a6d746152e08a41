"""What `docfleet parse` shows: one line that moves while it runs, one line for each document that is finished."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from docfleet.cli.console import marked
from docfleet.outcomes import Outcome
from docfleet.tracker import Counts

COLOURS = {"success": "green", "partial_success": "yellow", "failure": "red", "cancelled": "red"}


class Display:
    """Context manager. Moves only on a terminal; elsewhere only finished documents are printed."""

    def __init__(self, console: Console, documents: int, out: Path) -> None:
        self._console = console
        self._documents = documents
        self._out = out
        self._finished = 0
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[stages]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            auto_refresh=False,
            disable=not console.is_terminal,
        )
        self._bar: TaskID = self._progress.add_task("starting", total=None, stages="")

    def __enter__(self) -> Display:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def show(self, counts: Counts) -> None:
        """Show where things stand."""
        if self._progress.disable:
            return
        what = f"documents {self._finished}/{self._documents}"
        stages = f"laid out {counts.laid_out} · read {counts.answered}/{counts.tasks} · composed {counts.composed}"
        # Pages of documents that are not opened yet are unknown: the bar has no end until all are.
        total = counts.pages if counts.opened == self._documents else None
        if counts.opened:
            self._progress.update(
                self._bar, description=what + "  pages", total=total, completed=counts.composed, stages=stages
            )
        self._progress.refresh()

    def tell(self, line: str) -> None:
        """A line of news about the fleet."""
        self._console.print(f"[dim]{marked(line)}[/]")

    def finished(self, outcome: Outcome) -> None:
        """One line for a document, then its errors."""
        self._finished += 1
        for line in summary(outcome, self._out):
            self._console.print(line)


def summary(outcome: Outcome, out: Path) -> list[str]:
    """A finished document in one line (rich markup), and one more for each error or note that should be read."""
    parsed = outcome.parsed
    totals = parsed.totals
    parts = [f"[bold]{marked(outcome.input.name)}[/]", f"[{COLOURS[parsed.status]}]{parsed.status}[/]"]
    if parsed.result is not None:
        parts.append(counted(totals.pages, "page"))
        parts.append(counted(totals.tables, "table") if totals.tables else "")
        parts.append(counted(parsed.warnings_total, "warning") if parsed.warnings_total else "")
    parts.append(f"{outcome.seconds:.1f} s")
    if outcome.files:
        parts.append(f"→ {marked(str(outcome.files[0]))}")
    lines = ["  ".join(part for part in parts if part)]
    for error in parsed.errors:
        place = f"page {error.page_no}: " if error.page_no is not None else ""
        lines.append(f"    [red]{error.code}[/] {marked(place + error.message)}")
    if parsed.errors_total > len(parsed.errors):
        lines.append(f"    and {parsed.errors_total - len(parsed.errors)} more errors, in the JSON")
    return lines + [f"    [yellow]{marked(note)}[/]" for note in outcome.notes]


def total(outcomes: list[Outcome], seconds: float, out: Path) -> str:
    """The last line: documents by status, pages, time."""
    by_status = {status: n for status in COLOURS if (n := sum(outcome.parsed.status == status for outcome in outcomes))}
    states = ", ".join(f"{n} {status}" for status, n in by_status.items())
    pages = counted(sum(outcome.parsed.totals.pages for outcome in outcomes), "page")
    return f"{counted(len(outcomes), 'document')}: {states} · {pages} · {seconds:.1f} s · results in {marked(str(out))}"


def counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def install_models(folder: Path, console: Console, wanted: Sequence[str] = ()) -> list[str]:
    """Install the models that are missing, with a bar; their names. Raises `DocfleetError(model_unavailable)`."""
    from rich.progress import DownloadColumn

    from shared.models.install import install, missing

    if not missing(folder, wanted):
        return []

    columns = (TextColumn("fetching models: {task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bars: dict[str, TaskID] = {}

        def report(what: str, done: int, total: int) -> None:
            if what not in bars:
                bars[what] = progress.add_task(what, total=total)
            progress.update(bars[what], completed=done)

        names = install(folder, wanted, progress=report)
    for name in names:
        console.print(f"[dim]installed {name}[/]")
    return names
