"""`docfleet size`: how many pods a load needs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Hardware(StrEnum):
    cpu = "cpu"
    ascend = "ascend"


def size(
    pages_per_day: Annotated[float, typer.Option(help="Pages a day, such as 1e6.")],
    profile: Annotated[Hardware, typer.Option(help="`cpu`: pods of two cores; `ascend`: a card a pod.")] = Hardware.cpu,
    peak: Annotated[float, typer.Option(help="The busiest hour by the mean.")] = 2.0,
    utilisation: Annotated[float, typer.Option(help="Share of a pod that is planned to be busy, 0..1.")] = 0.7,
    native: Annotated[float, typer.Option(help="Share of born-digital pages, 0..1; the others are scans.")] = 0.0,
    vl_regions: Annotated[float, typer.Option(help="Regions of a page that go to a vision-language model.")] = 0.0,
    vl_tokens: Annotated[float, typer.Option(help="Tokens of an answer of it.")] = 300.0,
    cost: Annotated[
        list[str] | None,
        typer.Option(help="Pages a second of one pod that you measured, such as `rec_worker=2.1`. May be repeated."),
    ] = None,
    values: Annotated[bool, typer.Option("--values", help="As values of the Helm chart.")] = False,
) -> None:
    """Say how many pods of each stage a load needs, from measured costs of a page. Asks nobody.

    Examples:

        docfleet size --pages-per-day 1e6 --profile cpu

        docfleet size --pages-per-day 1e6 --profile ascend --vl-regions 0.4

        docfleet size --pages-per-day 2e5 --native 0.8 --cost rec_worker=2.1 --values > sized-values.yaml
    """
    from docfleet import sizing
    from docfleet.cli.console import fail

    given = {}
    for entry in cost or ():
        name, _, rate = entry.partition("=")
        try:
            given[name] = float(rate)
        except ValueError:
            raise fail(f"{entry!r}: write it like rec_worker=2.1") from None
    try:
        answer = sizing.size(
            pages_per_day,
            profile.value,
            peak=peak,
            utilisation=utilisation,
            native_share=native,
            vl_regions=vl_regions,
            vl_tokens=vl_tokens,
            given=given,
        )
    except ValueError as error:
        raise fail(str(error)) from None
    if values:
        typer.echo(sizing.values(answer, utilisation), nl=False)
        return
    typer.echo(f"{answer.pages_per_second:.1f} pages a second at the peak ({peak:g} times the mean)")
    typer.echo(
        f"{'stage':<14} {'pages/s a pod':>13} {'pods':>5} {'busy':>5} {'cores':>6} {'cards':>6} {'GiB':>6}  source"
    )
    for one in answer.stages:
        typer.echo(
            f"{one.name:<14} {one.rate:>13.3g} {one.pods:>5} {one.busy:>5.0%} {one.cores:>6} {one.cards:>6}"
            f" {one.memory_mib / 1024:>6.1f}  {one.source}"
        )
    if answer.model_servers:
        typer.echo(f"model servers: {answer.model_servers}, at {sizing.TOKENS_PER_SECOND:g} tokens a second each")
    for note in answer.notes:
        typer.echo(f"? {note}")
