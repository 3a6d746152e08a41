"""What the commands share: the console, and how trouble is told and ends the command."""

from __future__ import annotations

import re
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console

FAILED = 2
"""Exit code when a command could not do what it was asked to."""


def console(stderr: bool = False) -> Console:
    """A console of rich; plain text where there is no terminal."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=True)


_MOVES = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]")
"""What a terminal obeys instead of showing it, what turns the direction of a line, and what is no character."""


def shown(text: str) -> str:
    """Text of others (names of files, words of documents) for a terminal: on one line, and nothing in it is obeyed."""
    return _MOVES.sub(lambda found: repr(found[0])[1:-1], text)


def marked(text: str) -> str:
    """The same for what is printed as markup of rich."""
    from rich.markup import escape

    return escape(shown(text))


def fail(message: str) -> typer.Exit:
    """Say on stderr what went wrong and what to do; `raise` the result."""
    typer.echo("docfleet: " + "\n".join(map(shown, message.split("\n"))), err=True)
    return typer.Exit(FAILED)


@contextmanager
def told() -> Iterator[None]:
    """Trouble that a user can do something about becomes one line and exit code 2, not a stack."""
    from pydantic import ValidationError

    from shared.contracts.errors import DocfleetError, Unavailable
    from shared.telemetry.spans import NoTracing

    try:
        yield
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_input=False)]
        raise fail("settings cannot be read: " + "; ".join(lines)) from None
    except DocfleetError as error:
        raise fail(f"{error.code}: {error.message}") from None
    except NoTracing as error:
        raise fail(str(error)) from None
    except Unavailable as error:
        raise fail(f"{error}\nRun `docfleet doctor` to see what is missing.") from None
    except BrokenPipeError as error:
        if _nobody_reads():
            raise  # `| head`: ends the command without a word
        raise fail(str(error)) from None
    except FileNotFoundError as error:
        raise fail(f"there is no file {error.filename or error}") from None
    except OSError as error:
        raise fail(f"{error.strerror or error}: {error.filename}" if error.filename else str(error)) from None


def _nobody_reads() -> bool:
    """Whether the other end of the pipe that stdout is has been closed."""
    try:
        place = sys.stdout.fileno()
    except (OSError, ValueError):
        return False
    poll = select.poll()
    poll.register(place, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def quiet_logs() -> None:
    """Only errors, as text on stderr: what libraries have to say is no part of a command's output."""
    import logging

    from shared.settings import Telemetry
    from shared.telemetry import logs

    logs.configure(Telemetry(level="error", format="text"), "docfleet")
    # It reports every attempt to connect; what matters comes back as an error of the call.
    logging.getLogger("librdkafka").setLevel(logging.CRITICAL)
