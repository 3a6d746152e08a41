"""Notes beside a text that the network boxed with it: small or slanted lines that stand left or right of all the others."""

from __future__ import annotations

from collections.abc import Sequence

from services.layout_worker.boxes import hull
from services.layout_worker.regions import columns
from services.layout_worker.regions.style import Style
from shared.contracts.layout import TextLine

SMALL = 0.92
"""Size of a note by the usual one, at most; as of a footnote."""
APART = 0.4
"""Line heights between a note and the text it stands beside, at least."""
SHARE = 0.5
"""Share of a region's characters that are its notes, at most."""


def parted(lines: Sequence[TextLine], style: Style) -> tuple[list[TextLine], list[list[TextLine]]]:
    """The lines of the text, and its notes in groups; no notes where it has none, or where nobody knows the sizes."""
    small = [line for line in lines if line.text is not None and _is_small(line, style)]
    taken = {id(line) for line in small}
    body = [line for line in lines if id(line) not in taken]
    if not small or not body or any(line.vertical for line in lines):
        return list(lines), []
    if sum(len(line.text or "") for line in small) > SHARE * sum(len(line.text or "") for line in lines):
        return list(lines), []
    x0, _, x1, _ = hull(line.bbox for line in body)
    room = APART * min(line.bbox[3] - line.bbox[1] for line in small)
    if not all(line.bbox[0] >= x1 + room or line.bbox[2] <= x0 - room for line in small):
        return list(lines), []
    return body, columns.grouped(small)


def _is_small(line: TextLine, style: Style) -> bool:
    ratio = style.ratio(line)
    return (ratio is not None and ratio <= SMALL) or line.italic
