"""The command `docfleet`: one file a command, and nothing heavy imported before a command runs."""

from __future__ import annotations

import typer

from docfleet.cli import (
    buckets,
    cancel,
    diff,
    dlq,
    doctor,
    erase,
    export,
    fleet,
    look,
    models,
    parse,
    purge,
    reconcile,
    reparse,
    settings,
    size,
    submit,
    topics,
    watch,
)

app = typer.Typer(
    name="docfleet",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="""Turn documents into structured JSON and Markdown on a fleet of Kafka consumers.

Try it on this machine, with nothing to set up:

    docfleet parse report.pdf -o out

    docfleet look report.pdf --page 3

Or run a fleet on Apache Kafka and an S3 store:

    docfleet topics apply
    docfleet fleet --replicas rec_worker=2
    docfleet submit report.pdf --wait
""",
)
app.command("parse")(parse.parse)
app.command("look")(look.look)
app.command("export")(export.export)
app.command("diff")(diff.diff)
app.command("fleet")(fleet.fleet)
app.command("submit")(submit.submit)
app.command("watch")(watch.watch)
app.command("cancel")(cancel.cancel)
app.command("reconcile")(reconcile.reconcile)
app.command("reparse")(reparse.reparse)
app.command("purge")(purge.purge)
app.command("erase")(erase.erase)
app.command("doctor")(doctor.doctor)
app.command("settings")(settings.settings)
app.command("size")(size.size)
app.add_typer(models.app, name="models")
app.add_typer(topics.app, name="topics")
app.add_typer(buckets.app, name="buckets")
app.add_typer(dlq.app, name="dlq")


def main() -> None:
    """Entry point of the console script."""
    app(prog_name="docfleet")


if __name__ == "__main__":
    main()
