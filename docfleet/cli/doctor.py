"""`docfleet doctor`: what is missing, and what to do."""

from __future__ import annotations

from typing import Annotated

import typer


def doctor(
    local: Annotated[
        bool, typer.Option("--local", help="Only what `docfleet parse` needs: no broker, no store.")
    ] = False,
    vl: Annotated[
        bool, typer.Option("--vl", help="Only the VL model servers: each is asked for one token, as a worker would.")
    ] = False,
) -> None:
    """Look whether everything is there: engine, models, broker, topics and offsets, object store, VL model servers.

    Exit code: 0 all is there (warnings or not), 1 something is missing.

    Examples:

        docfleet doctor --local

        DOCFLEET_KAFKA__BOOTSTRAP_SERVERS=kafka:9092 docfleet doctor

        DOCFLEET_VL__ENDPOINTS='["http://127.0.0.1:8000/v1"]' docfleet doctor --vl
    """
    from rich.markup import escape

    from docfleet.cli.console import console, quiet_logs, told

    marks = {"ok": "[green]ok[/]     ", "warning": "[yellow]warning[/]", "missing": "[red]missing[/]"}
    screen = console()
    missing = False
    quiet_logs()
    with told():
        from docfleet.doctor import look
        from shared.settings import Settings

        for finding in look(Settings(), local=local, only_vl=vl):
            missing |= finding.state == "missing"
            screen.print(f"{marks[finding.state]} [bold]{finding.what}[/]  {escape(finding.found)}")
            if finding.todo:
                screen.print(f"        → {escape(finding.todo)}")
    raise typer.Exit(1 if missing else 0)
