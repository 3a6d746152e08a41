"""What is different between two parsed documents, for people: pages, blocks, words of texts, cells of tables.

Compared is what the deterministic hash compares, less what only names a run: ids of documents and objects, and ids and numbers of
blocks, which shift when one more is found. Confidences and timings are no difference. Blocks are paired page by page: first what is equal, in
order, then what stands at the same place, then what says nearly the same; what is left was added or removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal

import msgspec

from shared.contracts.document import Block, Page, ParsedDocument, Table

SAME_PLACE = 0.5
"""Intersection over union of two boxes from which on they are one place."""
ALIKE = 0.6
"""Share of common text from which on two blocks without a common place are one."""
MOVED = 1.0
"""Units of the page by which a side of a box has to differ to be told."""
_PAGE_FIELDS = ("status", "kind", "kind_reason", "width", "height", "unit", "rotation", "languages")
_BLOCK_FIELDS = ("label", "level", "content_layer", "writing_mode", "method", "latex", "links")
_DOCUMENT_FIELDS = ("status", "outline")
_TOKEN = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff]|\w+|\s+|[^\w\s]")

Edit = tuple[Literal["=", "-", "+"], str]
"""A stretch of a text that is in both, in the first only, in the second only."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A field with its two values."""

    field: str
    before: Any
    after: Any


class CellChange(msgspec.Struct, frozen=True, kw_only=True):
    """A difference of two tables. `row` and `col` are 0-based, of the table that has the cell (of the second, where both do); no `col`: a row."""

    kind: Literal["changed", "added", "removed"]
    row: int
    col: int | None
    before: str | None = None
    after: str | None = None


class BlockChange(msgspec.Struct, frozen=True, kw_only=True):
    """A block that is in one document only, or not the same in both; `before` and `after` are its ids there."""

    kind: Literal["changed", "added", "removed"]
    label: str
    before: str | None
    after: str | None
    fields: list[Change] = []
    text: list[Edit] = []
    """The words of the text, as far as it differs; all of it where the block was added or removed."""
    cells: list[CellChange] = []


class PageChange(msgspec.Struct, frozen=True, kw_only=True):
    """A page with differences; `only` is set where one document has it alone."""

    page_no: int
    only: Literal["before", "after"] | None = None
    fields: list[Change] = []
    blocks: list[BlockChange] = []


class Differences(msgspec.Struct, frozen=True, kw_only=True):
    """All of it; nothing where the documents are the same."""

    fields: list[Change] = []
    errors_added: list[str] = []
    errors_removed: list[str] = []
    pages: list[PageChange] = []

    @property
    def any(self) -> bool:
        return bool(self.fields or self.errors_added or self.errors_removed or self.pages)

    def count(self, kind: str) -> int:
        """Blocks that were `changed`, `added` or `removed`."""
        return sum(block.kind == kind for page in self.pages for block in page.blocks)


def differences(before: ParsedDocument, after: ParsedDocument) -> Differences:
    """What differs, page by page in order; `differences(a, a)` is empty."""
    errors = [[_told(e) for e in document.errors + document.warnings] for document in (before, after)]
    pages = {page.page_no: page for page in before.pages}, {page.page_no: page for page in after.pages}
    blocks = _by_page(before), _by_page(after)
    found = []
    for number in sorted({*pages[0], *pages[1]}):
        old, new = (side.get(number, []) for side in blocks)
        change = _page(number, pages[0].get(number), pages[1].get(number), old, new)
        if change.only or change.fields or change.blocks:
            found.append(change)
    return Differences(
        fields=_fields(before, after, _DOCUMENT_FIELDS),
        errors_added=_without(errors[1], errors[0]),
        errors_removed=_without(errors[0], errors[1]),
        pages=found,
    )


def _told(error: Any) -> str:
    page = f"page {error.page_no}: " if error.page_no else ""
    return f"{page}{error.code}: {error.message}"


def _without(some: Sequence[str], others: Sequence[str]) -> list[str]:
    left = list(others)
    out = []
    for one in some:
        if one in left:
            left.remove(one)
        else:
            out.append(one)
    return out


def _by_page(document: ParsedDocument) -> dict[int, list[Block]]:
    out: dict[int, list[Block]] = {}
    for block in sorted(document.blocks, key=lambda block: block.order):
        out.setdefault(block.prov[0].page_no if block.prov else 1, []).append(block)
    return out


def _fields(before: Any, after: Any, names: Sequence[str]) -> list[Change]:
    changes = []
    for name in names:
        one, other = getattr(before, name), getattr(after, name)
        if one != other:
            changes.append(Change(field=name, before=msgspec.to_builtins(one), after=msgspec.to_builtins(other)))
    return changes


def _page(
    number: int, before: Page | None, after: Page | None, old: Sequence[Block], new: Sequence[Block]
) -> PageChange:
    if before is None or after is None:
        return PageChange(page_no=number, only="after" if before is None else "before", blocks=list(_blocks(old, new)))
    return PageChange(page_no=number, fields=_fields(before, after, _PAGE_FIELDS), blocks=list(_blocks(old, new)))


def _blocks(old: Sequence[Block], new: Sequence[Block]) -> Iterator[BlockChange]:
    pairs = paired(old, new)
    partner = {id(one): other for one, other in pairs}
    position = {id(other): one for one, other in pairs}
    for block in old:
        if id(block) not in partner:
            yield _alone(block, "removed")
    for block in new:
        twin = position.get(id(block))
        change = _alone(block, "added") if twin is None else _changed(twin, block)
        if change is not None:
            yield change


def paired(old: Sequence[Block], new: Sequence[Block]) -> list[tuple[Block, Block]]:
    """Blocks of a page that are the same thing in both documents; every block is in one pair at most."""
    pairs: list[tuple[Block, Block]] = []
    matcher = SequenceMatcher(None, [_key(b) for b in old], [_key(b) for b in new], autojunk=False)
    for a, b, size in matcher.get_matching_blocks():
        pairs += zip(old[a : a + size], new[b : b + size], strict=True)
    for likeness, least in ((_overlap, SAME_PLACE), (_resemblance, ALIKE)):
        taken = {id(block) for pair in pairs for block in pair}
        free = [b for b in old if id(b) not in taken], [b for b in new if id(b) not in taken]
        scored = [(likeness(a, b), i, j) for i, a in enumerate(free[0]) for j, b in enumerate(free[1])]
        used: tuple[set[int], set[int]] = set(), set()
        for score, i, j in sorted(scored, key=lambda one: (-one[0], one[1], one[2])):
            if score >= least and i not in used[0] and j not in used[1]:
                used[0].add(i)
                used[1].add(j)
                pairs.append((free[0][i], free[1][j]))
    return pairs


def _key(block: Block) -> tuple[str, str]:
    return block.label, block.text


def _overlap(one: Block, other: Block) -> float:
    a, b = _box(one), _box(other)
    if a is None or b is None:
        return 0.0
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    common = max(0.0, width) * max(0.0, height)
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common
    return common / union if union > 0 else 0.0


def _box(block: Block) -> list[float] | None:
    return block.prov[0].bbox if block.prov else None


def _resemblance(one: Block, other: Block) -> float:
    """Of texts; 0 where they cannot be alike by their lengths or characters, which spares the exact comparison."""
    if not one.text or not other.text:
        return 0.0
    if 2 * min(len(one.text), len(other.text)) < ALIKE * (len(one.text) + len(other.text)):
        return 0.0
    matcher = SequenceMatcher(None, one.text, other.text, autojunk=False)
    if matcher.quick_ratio() < ALIKE:
        return 0.0
    return matcher.ratio()


def _alone(block: Block, kind: Literal["added", "removed"]) -> BlockChange:
    text: list[Edit] = [("-" if kind == "removed" else "+", block.text)] if block.text else []
    before, after = (block.id, None) if kind == "removed" else (None, block.id)
    return BlockChange(kind=kind, label=block.label, before=before, after=after, text=text)


def _changed(before: Block, after: Block) -> BlockChange | None:
    fields = _fields(before, after, _BLOCK_FIELDS)
    boxes = [p.bbox for p in before.prov], [p.bbox for p in after.prov]
    if len(boxes[0]) != len(boxes[1]) or any(_moved(a, b) for a, b in zip(*boxes, strict=False)):
        fields.append(Change(field="place", before=_places(before), after=_places(after)))
    cells: list[CellChange] = []
    text: list[Edit] = []
    if before.table is not None and after.table is not None:
        cells = cell_changes(before.table, after.table)
    elif before.text != after.text:
        text = words(before.text, after.text)
    if (before.table is None) != (after.table is None):
        fields.append(Change(field="table", before=before.table is not None, after=after.table is not None))
    if not (fields or cells or text):
        return None
    return BlockChange(
        kind="changed",
        label=after.label,
        before=before.id,
        after=after.id,
        fields=fields,
        text=text,
        cells=cells,
    )


def _moved(one: Sequence[float] | None, other: Sequence[float] | None) -> bool:
    if one is None or other is None:
        return one is not other
    return any(abs(a - b) > MOVED for a, b in zip(one, other, strict=True))


def _places(block: Block) -> list[dict[str, Any]]:
    return [{"page_no": place.page_no, "bbox": place.bbox} for place in block.prov]


def words(before: str, after: str) -> list[Edit]:
    """The way from one text to the other in words (CJK: characters): joined, the `=` and `-` are the first, the `=` and `+` the second."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    out: list[Edit] = []
    for kind, a0, a1, b0, b1 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            out.append(("=", "".join(old[a0:a1])))
            continue
        if a1 > a0:
            out.append(("-", "".join(old[a0:a1])))
        if b1 > b0:
            out.append(("+", "".join(new[b0:b1])))
    return out


def cell_changes(before: Table, after: Table) -> list[CellChange]:
    """Rows that were added or removed, and cells that differ in rows that are in both."""
    old, new = _rows(before), _rows(after)
    out: list[CellChange] = []
    for kind, a0, a1, b0, b1 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        both = min(a1 - a0, b1 - b0)
        for offset in range(both):
            out += _cells(old[a0 + offset], new[b0 + offset], b0 + offset)
        for row in range(a0 + both, a1):
            out.append(CellChange(kind="removed", row=row, col=None, before=_said(old[row])))
        for row in range(b0 + both, b1):
            out.append(CellChange(kind="added", row=row, col=None, after=_said(new[row])))
    return out


_Row = tuple[tuple[int, int, int, str], ...]
"""Cells of a row: column, spans over rows and columns, text."""


def _rows(table: Table) -> list[_Row]:
    rows: list[list[tuple[int, int, int, str]]] = [[] for _ in range(table.num_rows)]
    for cell in table.cells:
        if cell.row < len(rows):
            rows[cell.row].append((cell.col, cell.row_span, cell.col_span, cell.text))
    return [tuple(sorted(row)) for row in rows]


def _cells(old: _Row, new: _Row, row: int) -> Iterator[CellChange]:
    before, after = {cell[0]: cell for cell in old}, {cell[0]: cell for cell in new}
    for col in sorted({*before, *after}):
        one, other = before.get(col), after.get(col)
        if one == other:
            continue
        kind: Literal["changed", "added", "removed"] = (
            "added" if one is None else "removed" if other is None else "changed"
        )
        yield CellChange(kind=kind, row=row, col=col, before=one and _cell(one), after=other and _cell(other))


def _cell(cell: tuple[int, int, int, str]) -> str:
    _, rows, cols, text = cell
    return text if rows == cols == 1 else f"{text} ({rows} × {cols})"


def _said(row: _Row) -> str:
    return " | ".join(cell[3] for cell in row)
