"""`docfleet topics`: the topics of the broker, as topics.yaml wants them."""

from __future__ import annotations

import typer

app = typer.Typer(help="The topics of the broker, as topics.yaml wants them.", no_args_is_help=True)
