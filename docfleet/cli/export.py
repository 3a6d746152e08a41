"""`docfleet export`: parsed documents in the formats of others."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class To(StrEnum):
    docling = "docling"
    content_list = "content-list"
    elements = "elements"
    alto = "alto"
    hocr = "hocr"
    pdf = "pdf"
    chunks = "chunks"
    html = "html"


def export(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE.json...", help="Parsed documents.", exists=True, dir_okay=False),
    ],
    to: Annotated[
        list[To],
        typer.Option("--to", "-t", help="Format; may be given again."),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File, or folder (default: beside the document)."),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            help="The file that was parsed: `pdf` needs it, `html` shows its pages.", exists=True, dir_okay=False
        ),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(help="Its Markdown, for `chunks` (default: `FILE.md`).", exists=True, dir_okay=False),
    ] = None,
    password_file: Annotated[
        Path | None, typer.Option(help="File with the password of an encrypted source.", exists=True, dir_okay=False)
    ] = None,
    chunk_chars: Annotated[
        int, typer.Option(min=50, help="Most characters of a piece of `chunks`; a table row or formula may exceed it.")
    ] = 1_500,
) -> None:
    """Write parsed documents in the formats of others.

    `docling` DoclingDocument; `content-list` MinerU; `elements` Unstructured; `alto` ALTO 4.4; `hocr` hOCR 1.2; `pdf` searchable PDF;
    `chunks` pieces for retrieval with their offsets in the Markdown; `html` one page to look at, pictures of the pages beside their text.

    Without `--source` the file that was parsed is looked for beside the document, under its own name.

    Examples:

        docfleet export out/report.json --to docling

        docfleet export out/report.json --to html --to pdf --source report.pdf

        docfleet export out/*.json --to chunks --chunk-chars 800 -o chunks/
    """
    from docfleet.cli.console import fail, shown, told
    from docfleet.cli.options import password_in

    if len(files) > 1 and (source is not None or markdown is not None):
        raise typer.BadParameter("--source and --markdown are for one document")
    with told():
        from docfleet import exports
        from docfleet.exporters import FORMATS
        from docfleet.files import write_whole
        from shared.children.errors import ChildDied, ChildFault, ChildStalled
        from shared.settings import Settings

        limits = Settings().limits
        if (len(files) > 1 or len(to) > 1) and out is not None:
            out.mkdir(parents=True, exist_ok=True)
        if len(files) > 1:  # `out/*.json` also means what an earlier call has written
            files = [file for file in files if not exports.is_export(file)]
        password = password_in(password_file)
        for file in files:
            document = exports.read(file)
            found = source or exports.beside(file, document)
            given = exports.Given(
                document,
                markdown=markdown or exports.existing(file.with_suffix(".md")),
                source=exports.checked_source(document, found) if found else None,
                password=password,
            )
            for one in to:
                form = FORMATS[one.value]
                if form.wants_source and given.source is None:
                    typer.echo(f"{file.name}: without --source its pages are drawn as empty sheets", err=True)
                if form.source and given.source is None:
                    raise fail(
                        f"{one.value} needs the file that was parsed: --source {document.source.filename or 'FILE'}"
                    )
                if form.markdown and given.markdown is None and document.markdown.text is None:
                    raise fail(f"{one.value} needs the Markdown of the document: --markdown {file.stem}.md")
                try:
                    data = exports.export(given, one.value, limits, max_chars=chunk_chars)
                except (ChildDied, ChildFault, ChildStalled) as error:
                    raise fail(f"the pages of {found} cannot be drawn: {error}") from None
                typer.echo(shown(str(write_whole(exports.target_of(file, one.value, out), data))))
