"""The structure of a table picture: which cells there are and where.

SLANet turns the picture into features (on the engine), then writes the table as HTML tokens, one at a time, and with each cell a box
(`structure_decoder`). Tokens become a grid here; text is not its business: the lines of the region are read as any others and belong to
the cell they stand in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import numpy.typing as npt

from shared.contracts.document import ModelRef
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.engines.engine import Engine
from shared.models.network import OpenModel
from shared.models.pictures import Normalise, Picture, resized
from shared.models.structure_decoder import StructureDecoder

if TYPE_CHECKING:
    from shared.settings import Settings

NAME = "slanet-1m"
CELL_TOKENS = frozenset({"<td>", "<td", "<td></td>"})
"""Tokens that begin a cell; the box of that step is the cell's."""
END = "eos"
MAX_SPAN = 20
"""A wider span is a slip of the network: the vocabulary ends at 10."""


class TableCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell; `row` and `col` are 0-based, `bbox` is `[x0, y0, x1, y1]` in pixels of the picture given."""

    row: int
    col: int
    row_span: int = 1
    col_span: int = 1
    header: bool = False
    """Stands in the table's head."""
    bbox: list[float]


class TableGrid(msgspec.Struct, frozen=True, kw_only=True):
    """A table; cells are in reading order and never overlap in the grid."""

    num_rows: int
    num_cols: int
    cells: list[TableCell]
    score: float
    """Mean probability of the tokens, 0..1."""
    complete: bool
    """False when the network stopped without ending the table: it was too large for it."""


class TableStructure:
    """Holds one network; `read` may be called by many threads."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._model = OpenModel(NAME, engine, settings)
        entry = self._model.manifest
        self._normalise = Normalise(entry.input)
        self._side = int(entry.input.shape[2] or 0)
        if len(entry.values) != entry.classes:
            raise DocfleetError(ErrorCode.model_unavailable, f"{NAME}: the manifest names {len(entry.values)} tokens")
        with np.load(self._model.weights) as weights:
            self._decoder = StructureDecoder(
                dict(weights), end=entry.values.index(END), most=int(entry.constants["max_tokens"])
            )

    @property
    def ref(self) -> ModelRef:
        return self._model.manifest.ref()

    def warm(self) -> None:
        """Run once on a blank picture."""
        self.read(np.full((64, 64, 3), 255, dtype=np.uint8))

    def read(self, picture: Picture) -> TableGrid:
        """The grid of a table picture (uint8 RGB `(height, width, 3)`, cropped to the table). No table gives a grid without cells."""
        height, width = picture.shape[:2]
        scale = self._side / max(height, width)
        small = resized(picture, max(1, round(width * scale)), max(1, round(height * scale)))
        features = self._model.network.infer(self._normalise.batch(small, self._side, self._side))[0][0]
        classes, boxes, scores, complete = self._decoder.decode(features.astype(np.float32, copy=False))
        return grid(
            [self._model.manifest.values[index] for index in classes],
            boxes * np.array([width, height] * 2, dtype=np.float32),
            score=float(scores.mean()) if len(scores) else 0.0,
            complete=complete,
        )


def grid(tokens: Sequence[str], boxes: npt.NDArray[np.floating], *, score: float, complete: bool) -> TableGrid:
    """Cells from HTML tokens (without start and end) and a box `[x0, y0, x1, y1]` for each token.

    Cells take the first free column of their row, as browsers place them; a span that would run into a cell placed from above is cut.
    Rows and columns that nothing stands in at the end are dropped.
    """
    taken: set[tuple[int, int]] = set()
    cells: list[TableCell] = []
    row, header = -1, False
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token == "<tr>":
            row += 1
        elif token in ("<thead>", "</thead>"):
            header = token == "<thead>"
        elif token in CELL_TOKENS:
            box = boxes[position]
            spans = {"rowspan": 1, "colspan": 1}
            if token == "<td":
                position = _attributes(tokens, position + 1, spans)
            row = max(row, 0)
            cells.append(_placed(taken, row, spans["rowspan"], spans["colspan"], header, box))
        position += 1
    rows = max((cell.row for cell in cells), default=-1) + 1
    cells = [msgspec.structs.replace(cell, row_span=min(cell.row_span, rows - cell.row)) for cell in cells]
    cols = max((cell.col + cell.col_span for cell in cells), default=0)
    return TableGrid(num_rows=rows, num_cols=cols, cells=cells, score=score, complete=complete)


def _attributes(tokens: Sequence[str], position: int, spans: dict[str, int]) -> int:
    """Read the attributes of an open `<td` into `spans`; returns the position of its `>` (or of the last attribute)."""
    while position < len(tokens) and (found := re.fullmatch(r' (rowspan|colspan)="(\d+)"', tokens[position])):
        spans[found[1]] = min(int(found[2]), MAX_SPAN)
        position += 1
    return position if position < len(tokens) and tokens[position] == ">" else position - 1


def _placed(
    taken: set[tuple[int, int]], row: int, row_span: int, col_span: int, header: bool, box: npt.NDArray[np.floating]
) -> TableCell:
    col = 0
    while (row, col) in taken:
        col += 1
    wide = 1
    while wide < col_span and (row, col + wide) not in taken:
        wide += 1
    taken.update((row + r, col + c) for r in range(row_span) for c in range(wide))
    x0, y0, x1, y1 = (float(value) for value in box)
    return TableCell(
        row=row,
        col=col,
        row_span=row_span,
        col_span=wide,
        header=header,
        bbox=[min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)],
    )
