"""Option values that several commands share."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from docfleet.processes import MODULES


def replicas_of(values: Sequence[str] | None) -> dict[str, int]:
    """`["rec_worker=2"]` as counts by service. Raises `typer.BadParameter`."""
    counts: dict[str, int] = {}
    for value in values or ():
        name, _, number = value.partition("=")
        if name not in MODULES:
            raise typer.BadParameter(f"{name!r} is no service; there are {', '.join(sorted(MODULES))}")
        if not number.isdigit() or int(number) > 64:
            raise typer.BadParameter(f"{value!r}: write it like rec_worker=2 (0 to 64)")
        counts[name] = int(number)
    return counts


_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def seconds_of(text: str) -> float:
    """`10m` as 600.0; a number alone is seconds. Raises `typer.BadParameter`."""
    number, unit = (text[:-1], text[-1:]) if text[-1:] in _UNITS else (text, "s")
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise typer.BadParameter(f"{text!r}: write it like 30s, 10m, 2h or 7d")
    return value * _UNITS[unit]


def password_in(file: Path | None) -> str | None:
    """The password that a file holds, without the end of its line; none without a file. What is no text ends the command."""
    from docfleet.cli.console import fail

    try:
        return file.read_text(encoding="utf-8").rstrip("\r\n") if file is not None else None
    except UnicodeDecodeError:
        raise fail(f"the password in {file} is not UTF-8") from None


@contextmanager
def secret(file: Path | None) -> Iterator[tuple[str, Path] | None]:
    """A password file as services take it: the name of a secret, and the folder it is in. Its own name may be any, a secret's may not."""
    if file is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="docfleet-secret-") as folder:
        Path(folder, "password").symlink_to(file.resolve())  # no copy: a secret is where its owner put it
        yield "password", Path(folder)
