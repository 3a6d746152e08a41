"""`docfleet diff`: what is different between two parsed documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from docfleet.differences import BlockChange, Change, Differences, Edit

SAME, DIFFERENT = 0, 1
"""Exit codes as `diff` has them; 2 is trouble."""
CONTEXT = 40
"""Characters of unchanged text that are shown on either side of a change."""
SHOWN = 200
"""Characters shown of a block that was added or removed."""


def diff(
    before: Annotated[Path, typer.Argument(metavar="A.json", help="A parsed document.", exists=True, dir_okay=False)],
    after: Annotated[Path, typer.Argument(metavar="B.json", help="Another.", exists=True, dir_okay=False)],
    json: Annotated[bool, typer.Option("--json", help="As JSON, complete.")] = False,
) -> None:
    """Show what changed between two parsed documents: pages, blocks, words, cells of tables.

    Confidences, timings and the names of a run are no difference, nor are the ids of blocks. Exit code: 0 they are the same, 1 they differ,
    2 one cannot be read.

    `~` a block that changed, with `[-words-]` that went and `{+words+}` that came; `-` a block that went, `+` one that came.

    Example:

        docfleet diff out/report.json new/report.json
    """
    from docfleet.cli.console import shown, told

    with told():
        from docfleet import exports
        from docfleet.differences import differences

        found = differences(exports.read(before), exports.read(after))
        if json:
            from shared.contracts.codec import encode

            typer.echo(encode(found).decode())
        elif found.any:
            for line in lines(found):
                typer.echo(shown(line))
    raise typer.Exit(DIFFERENT if found.any else SAME)


def lines(found: Differences) -> Iterator[str]:
    """The lines that say it, with a summary first."""
    counts = [f"{found.count(kind)} {kind}" for kind in ("changed", "added", "removed") if found.count(kind)]
    yield f"blocks: {', '.join(counts) or 'none differ'}; pages with differences: {len(found.pages)}"
    for change in found.fields:
        yield _field(change)
    for sign, errors in (("-", found.errors_removed), ("+", found.errors_added)):
        for error in errors:
            yield f"{sign} {error}"
    for page in found.pages:
        only = {"before": " (only in the first)", "after": " (only in the second)", None: ""}[page.only]
        yield f"page {page.page_no}{only}"
        for change in page.fields:
            yield "  " + _field(change)
        for block in page.blocks:
            yield from ("  " + line for line in _block(block))


def _block(block: BlockChange) -> Iterator[str]:
    sign = {"changed": "~", "added": "+", "removed": "-"}[block.kind]
    name = block.after or block.before
    if block.kind != "changed":
        text = " ".join("".join(text for _, text in block.text).split())
        yield f"{sign} {name} {block.label}: {text[:SHOWN]}{'…' if len(text) > SHOWN else ''}"
        return
    yield f"{sign} {name} {block.label}" + (f": {worded(block.text)}" if block.text else "")
    for change in block.fields:
        yield "    " + _field(change)
    for cell in block.cells:
        place = f"row {cell.row + 1}" + (f", column {cell.col + 1}" if cell.col is not None else "")
        before = f"[-{cell.before}-]" if cell.before is not None else ""
        after = f"{{+{cell.after}+}}" if cell.after is not None else ""
        yield f"    {place}: {before}{after}"


def worded(edits: Sequence[Edit]) -> str:
    """A text with its changes marked, unchanged stretches cut to what is near them."""
    out = []
    for index, (kind, text) in enumerate(edits):
        if kind == "-":
            out.append(f"[-{text}-]")
        elif kind == "+":
            out.append(f"{{+{text}+}}")
        else:
            head = text[:CONTEXT] if index > 0 else ""
            tail = text[-CONTEXT:] if index < len(edits) - 1 else ""
            out.append(text if len(text) <= len(head) + len(tail) else f"{head}…{tail}")
    return " ".join("".join(out).split())


def _field(change: Change) -> str:
    return f"{change.field.replace('_', ' ')}: {_value(change.before)} → {_value(change.after)}"


def _value(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
