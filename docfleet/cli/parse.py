"""`docfleet parse`: documents to JSON, Markdown and overlays, on an embedded fleet."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from docfleet.cli.export import To

if TYPE_CHECKING:
    from docfleet.embedded import EmbeddedFleet
    from docfleet.inputs import Input
    from docfleet.outcomes import Outcome
    from docfleet.processes import Processes
    from shared.contracts.options import Options

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""

SHOW_EVERY_S = 0.1


@dataclass(frozen=True)
class Wish:
    """What the command line asks for."""

    inputs: list[Input]
    out: Path
    options: Options
    draw: bool
    replicas: dict[str, int]
    overrides: dict[str, dict[str, Any]]
    logs: Path | None
    password: str | None
    timings: bool
    started: float
    exports: list[To]


class Ocr(StrEnum):
    auto = "auto"
    force = "force"
    off = "off"


class LayoutMode(StrEnum):
    auto = "auto"
    fast = "fast"


class VlMode(StrEnum):
    auto = "auto"
    off = "off"
    page = "page"
    document = "document"


def parse(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE|FOLDER...", help="Files (PDF, DOCX, images), and folders that hold some.", exists=True
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path("out"),
    pages: Annotated[str | None, typer.Option(help="Only these pages, such as `1-3,7`.")] = None,
    ocr: Annotated[
        Ocr, typer.Option(help="`auto` reads what has no text of its own, `force` everything, `off` nothing.")
    ] = Ocr.auto,
    layout: Annotated[
        LayoutMode, typer.Option(help="`fast`: no layout network, structure from the PDF alone.")
    ] = LayoutMode.auto,
    language: Annotated[
        list[str] | None, typer.Option(help="Language expected (`zh`, `en`); may be given again.")
    ] = None,
    password_file: Annotated[
        Path | None, typer.Option(help="File with the password of encrypted documents.", exists=True, dir_okay=False)
    ] = None,
    vl_endpoint: Annotated[
        list[str] | None,
        typer.Option(help="OpenAI-compatible server for tables, formulas and seals (`http://host:8000/v1`)."),
    ] = None,
    vl_profile: Annotated[
        str | None,
        typer.Option(help="How to talk to that model: `glm-ocr`, or a file of your own (`mine.yaml`)."),
    ] = None,
    vl: Annotated[
        VlMode,
        typer.Option(
            help="What goes to the VL model: `auto` tables, formulas and seals; whole `page`s; the `document`, several pages in a request, "
            "where the profile can; `off`."
        ),
    ] = VlMode.auto,
    overlays: Annotated[bool, typer.Option(help="Write a picture of every page with the boxes found.")] = True,
    export: Annotated[
        list[To] | None, typer.Option(help="Also write this format (see `docfleet export`); may be given again.")
    ] = None,
    replicas: Annotated[
        list[str] | None, typer.Option(metavar="SERVICE=N", help="Several of a service (`rec_worker=2`).")
    ] = None,
    logs: Annotated[Path | None, typer.Option(help="Keep the logs of the services in this folder.")] = None,
    timings: Annotated[bool, typer.Option(help="Say at the end where the time went.")] = False,
) -> None:
    """Parse documents on this machine: needs no broker, no store, no server.

    Writes `OUT/NAME.json`, `OUT/NAME.md` and `OUT/NAME.overlays/page-001.png` for each document.
    The models are installed on first use. Exit code: 0 all is well, 1 something is missing in a document, 2 a document has no result.

    Examples:

        docfleet parse report.pdf -o out

        docfleet parse scans/ letter.jpg --pages 1-3 --ocr force

        docfleet parse report.pdf --vl-endpoint http://127.0.0.1:8000/v1 --vl-profile glm-ocr
    """
    started = time.monotonic()
    own_profile = Path(vl_profile) if vl_profile and vl_profile.endswith(".yaml") else None
    if own_profile is not None:
        if not own_profile.is_file():
            raise typer.BadParameter(f"there is no file {own_profile}")
        vl_profile = own_profile.stem
    from docfleet import inputs as given
    from docfleet.cli.console import fail
    from docfleet.cli.options import password_in, replicas_of, secret
    from docfleet.processes import Processes

    counts = replicas_of(replicas)
    if counts.get("join", 1) != 1 or 0 in counts.values():
        raise typer.BadParameter("parse needs every service once at least, and exactly one join")
    try:
        found = given.find(paths)
    except OSError as error:
        raise fail(f"{error.strerror or error}: {error.filename}") from None
    if not found.inputs:
        raise fail("no document in there; folders are searched for " + " ".join(sorted(given.SUFFIXES)))
    processes = Processes()  # first of all: it imports what the services need while this process imports the rest
    try:
        from docfleet.cli.console import told

        with told(), secret(password_file) as kept:
            from shared.contracts.options import Options

            out.mkdir(parents=True, exist_ok=True)
            if found.left_out:
                typer.echo(f"{found.left_out} files of other types were left out", err=True)
            options = Options(
                ocr=ocr.value,
                vl=vl.value,
                vl_profile=vl_profile,
                languages=language or [],
                layout=layout.value,
                pages=pages,
                password_ref=kept[0] if kept else None,
            )
            overrides: dict[str, dict[str, Any]] = {}
            if vl_endpoint:
                overrides["vl"] = {"endpoints": vl_endpoint, **({"profile": vl_profile} if vl_profile else {})}
                if own_profile is not None:
                    overrides["vl"]["profiles"] = str(own_profile.resolve().parent)
                if vl_profile:
                    from shared.vlm.profile import profile_named

                    profile_named(
                        vl_profile, own_profile.parent if own_profile else None
                    )  # what cannot be used is told now
                _reachable(overrides["vl"])
            if kept:
                overrides["limits"] = {"passwords": str(kept[1])}
            wish = Wish(
                found.inputs,
                out,
                options,
                overlays,
                counts,
                overrides,
                logs,
                password_in(password_file),
                timings,
                started,
                export or [],
            )
            code = _run(wish, processes)
    except KeyboardInterrupt:
        code = INTERRUPTED
    finally:
        processes.stop(grace_s=0.0)
    raise typer.Exit(code)


def _reachable(vl: dict[str, Any]) -> None:
    """A model server that cannot be asked is told now: the fleet would wait for it."""
    from docfleet.cli.console import fail
    from docfleet.doctor import vl as look
    from shared.settings import Settings

    for finding in look(Settings(vl={**Settings().vl.model_dump(exclude_unset=True), **vl})):
        if finding.state == "missing":
            raise fail(f"{finding.found}\n{finding.todo}")
        if finding.state == "warning":
            typer.echo(f"{finding.found}: {finding.todo}", err=True)


def _run(wish: Wish, processes: Processes) -> int:
    """Install what is missing, start the fleet, feed it. Returns the exit code."""
    from docfleet.cli.console import fail
    from docfleet.embedded import EmbeddedFleet, FleetFailed
    from shared.contracts.options import selected_pages
    from shared.models.install import missing
    from shared.settings import Settings

    selected_pages(wish.options.pages, 1)  # an expression that cannot be read is told now
    folder = Settings().engines.models
    if missing(folder):
        from docfleet.cli.console import console
        from docfleet.cli.display import install_models

        install_models(folder, console(stderr=True))
    try:
        with EmbeddedFleet(
            replicas=wish.replicas,
            overrides=wish.overrides,
            processes=processes,
            logs=wish.logs,
            later=() if _reads_surely(wish) else ("rec_worker",),
        ) as fleet:
            return _follow(wish, fleet)
    except FleetFailed as error:
        raise fail(str(error)) from None


def _reads_surely(wish: Wish) -> bool:
    """Whether there is text in pictures for certain; then the recogniser starts with the others and not after them."""
    return wish.options.ocr == "force" or any(given.path.suffix.lower() != ".pdf" for given in wish.inputs)


def _follow(wish: Wish, fleet: EmbeddedFleet) -> int:
    """Feed a fleet and show what happens. Imports what it needs only now, while the services start."""
    from docfleet.cli.console import console, quiet_logs
    from docfleet.cli.display import Display, total
    from docfleet.client import Client
    from docfleet.outcomes import exit_code
    from docfleet.parsing import Run

    quiet_logs()
    screen = console()
    outcomes: list[Outcome] = []
    with (
        Client(fleet.settings) as client,
        Run(
            client,
            wish.inputs,
            wish.out,
            options=wish.options,
            draw=wish.draw,
            password=wish.password,
            exports=[one.value for one in wish.exports],
        ) as run,
        Display(screen, len(wish.inputs), wish.out) as display,
    ):
        shown = 0.0
        while not run.done:
            if run.tracker.counts().opened:
                fleet.start_rest()
            for outcome in run.step():
                outcomes.append(outcome)
                display.finished(outcome)
            for line in fleet.check():
                display.tell(line)
            if time.monotonic() - shown >= SHOW_EVERY_S:
                display.show(run.tracker.counts())
                shown = time.monotonic()
    if len(outcomes) > 1:
        screen.print(total(outcomes, time.monotonic() - wish.started, wish.out))
    if wish.timings:
        for line in run.tracker.milestones(wish.started):
            screen.print(line)
    return exit_code(outcomes)
