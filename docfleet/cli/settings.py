"""`docfleet settings`: what is set, and from where it can be set."""

from __future__ import annotations

from typing import Annotated

import typer


def settings(
    group: Annotated[str | None, typer.Argument(help="Only this group, such as `kafka`.")] = None,
    changed: Annotated[bool, typer.Option("--changed", help="Only what differs from the default.")] = False,
) -> None:
    """Print the settings in effect as environment variables; secrets are masked.

    Examples:

        docfleet settings kafka

        DOCFLEET_CONFIG=fleet.toml docfleet settings --changed
    """
    from docfleet.cli.console import fail, told

    with told():
        from docfleet.reference import effective
        from shared.settings import Settings

        given = Settings()
        if group is not None and group not in Settings.model_fields:
            raise fail(f"there is no group {group!r}; there are {', '.join(Settings.model_fields)}")
        for variable, value, default in effective(given):
            name = variable.removeprefix("DOCFLEET_").lower().partition("__")[0]
            if (group is None or name == group) and not (changed and value == default):
                typer.echo(f"{variable}={value}" + ("" if value == default else f"    # default: {default}"))
