"""`docfleet fleet`: all services on this machine, against a configured Kafka and S3 store."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Annotated

import typer


def fleet(
    replicas: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SERVICE=N", help="How many of a service (`rec_worker=2`); 0 leaves it out. May be given again."
        ),
    ] = None,
) -> None:
    """Run ingest, layout_worker, rec_worker, vl_worker (with `vl.endpoints` set) and both parts of the assembler.

    They use the Kafka and the object store of the settings; a service that dies is started again, waiting longer each time.
    SIGTERM or Ctrl-C ends all: work in flight is finished or given back first (`stages.<name>.drain_s`). Logs go to stderr.

    Examples:

        export DOCFLEET_KAFKA__BOOTSTRAP_SERVERS=kafka:9092 DOCFLEET_OBJECTS__ENDPOINT=minio:9000

        docfleet topics apply && docfleet doctor

        docfleet fleet --replicas rec_worker=2 --replicas layout_worker=2
    """
    from docfleet.cli.options import replicas_of
    from docfleet.processes import MODULES, Processes

    counts = replicas_of(replicas)
    processes = Processes()
    asked: list[int] = []

    def end(number: int, _: FrameType | None) -> None:
        asked.append(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    grace_s = 0.0
    try:
        from docfleet.cli.console import told
        from shared.settings import GROUPS, Settings

        with told():
            settings = Settings()
            grace_s = max(settings.stage(name).drain_s for name in GROUPS) + 5
            for name, module in MODULES.items():
                default = 0 if name == "vl_worker" and not settings.vl.endpoints else 1
                for i in range(counts.get(name, default)):
                    processes.start(f"{name}-{i + 1}", module, _environment(name, i, settings.stage(name).http_port))
        while not asked:
            for event in processes.events(0.2):
                if event.kind == "started":
                    typer.echo(f"{event.name} started, pid {event.pid}", err=True)
                elif event.kind == "exited":
                    typer.echo(f"{event.name} ended ({event.code}), starts again in {event.restart_in_s:g} s", err=True)
                elif event.kind == "stopped":
                    raise typer.Exit(2)
    finally:
        processes.stop(grace_s)


def _environment(name: str, number: int, http_port: int) -> dict[str, str]:
    """What differs between replicas: each has a port of its own, counted up from the configured one."""
    return {f"DOCFLEET_STAGES__{name.upper()}__HTTP_PORT": str(http_port + number if http_port else 0)}
