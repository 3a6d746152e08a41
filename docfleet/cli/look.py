"""`docfleet look`: what the layout stage sees on a page, as a picture and in words, without a fleet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from docfleet.cli.parse import LayoutMode, Ocr, VlMode


def look(
    file: Annotated[Path, typer.Argument(help="A PDF or an image.", exists=True, dir_okay=False)],
    page: Annotated[str, typer.Option("--page", "-p", metavar="N", help="Which page, or pages (`3`, `1-3,7`).")] = "1",
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the pictures.")] = Path("out"),
    ocr: Annotated[
        Ocr, typer.Option(help="`auto` reads what has no text of its own, `force` everything, `off` nothing.")
    ] = Ocr.auto,
    layout: Annotated[
        LayoutMode, typer.Option(help="`fast`: no layout network, structure from the PDF alone.")
    ] = LayoutMode.auto,
    vl: Annotated[
        VlMode | None,
        typer.Option(help="Route as if a VL model were there (`auto`, `page`, `document`), or were not (`off`)."),
    ] = None,
    password_file: Annotated[
        Path | None, typer.Option(help="File with the password of an encrypted document.", exists=True, dir_okay=False)
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Also write the layout itself, `NAME.page-001.layout.json`.")
    ] = False,
) -> None:
    """Look at a page as the layout stage does: where everything is, which text is trusted, who would read what, in which order.

    Writes `OUT/NAME.page-001.png` and prints the same as a table. Nothing is read and no fleet is started; it takes a few seconds.

    How to read the picture: every region has an outline in the colour of its label and a name in the margin, `3 table 0.93`: third in
    reading order, a table, of which the layout network is 93 % sure. The ground of the name, and the bar at the left edge of the region,
    say who reads it. Lines inside are green where the page's own text is used, orange where they will be read from the picture,
    red where that is doubtful, pink where text is on the page that nobody can see. The grey arrows are the reading order.

    How to read the table: `own/read` counts lines with text of their own and lines to be read; `row` is the row of the routing table
    (`docfleet settings layout`) that decided; `why` says what is not plain, such as `cut into columns`.

    Examples:

        docfleet look report.pdf --page 3

        docfleet look report.pdf --page 1-5 --layout fast -o looks

        docfleet look contract.pdf --ocr force --vl auto
    """
    from docfleet.cli.console import fail, shown, told
    from docfleet.cli.options import password_in, secret

    with told(), secret(password_file) as kept:
        import asyncio

        from docfleet import look as looking
        from docfleet.cli.console import quiet_logs
        from docfleet.cli.display import install_models
        from shared.children.errors import ChildDied, ChildFault, ChildStalled
        from shared.contracts.codec import encode
        from shared.contracts.options import Options, selected_pages
        from shared.models.install import missing
        from shared.settings import Settings

        quiet_logs()
        selected_pages(page, 1)  # an expression that cannot be read is told now
        settings = Settings()
        password = password_in(password_file)
        options = Options(
            ocr=ocr.value,
            layout=layout.value,
            vl=vl.value if vl else "auto",
            pages=page,
            password_ref=kept[0] if kept else None,
        )
        if missing(settings.engines.models):
            from docfleet.cli.console import console

            install_models(settings.engines.models, console(stderr=True))
        pages = []
        with_vl = bool(settings.vl.endpoints) if vl is None else vl is not VlMode.off
        passwords = kept[1] if kept else None
        for one in looking.looked(file.resolve(), options, vl=with_vl, passwords=passwords):
            pages.append(one)
        if not pages:
            raise fail(f"{file.name} has no page {page}")
        try:
            pictures = asyncio.run(looking.pictured(pages, file.resolve(), settings, password))
        except (ChildDied, ChildFault, ChildStalled) as error:
            raise fail(f"the page cannot be drawn: {error}") from None
        drawn = {looked.page_no: (looked, picture) for looked, picture in pictures}
        for one in pages:
            seen, picture = drawn.get(one.page_no, (one, None))
            for line in looking.summary(seen, file.name):
                typer.echo(shown(line))
            if picture is not None and seen.layout is not None:
                target = out / f"{file.stem}.page-{seen.layout.page_no:03d}.png"
                looking.save(seen, picture, file.name, target)
                typer.echo(shown(f"  picture: {target}"))
                if json:
                    target = target.with_suffix(".layout.json")
                    target.write_bytes(encode(seen.layout))
                    typer.echo(shown(f"  layout: {target}"))
    if any(one.error is not None for one in pages):
        raise typer.Exit(1)
