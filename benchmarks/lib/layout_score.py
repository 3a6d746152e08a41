"""A page's layout against the truth of a generated page: how much of it was found, and as what.

Rules, so that figures mean something:

**Coverage.** Of the characters of the truth that are no blanks and lie in no seal: the share whose centre lies in a region's box or in a
line's. `read` is stricter: the centre lies in a line that has a text or will be read, or in a region that a reader takes as a whole; the
words inside pictures count there only if they are read. Boxes are widened by `SLACK` points.

**Classes.** Labels, with two exceptions, because the assembler tells them apart over all pages: `title` and `section_header` are `heading`;
`page_header`, `page_footer` and `page_number` are `furniture`.

**strict F1.** A region is right when its class is that of an element of the truth and their intersection over union is at least `IOU`; each
is used once, best overlaps first.

**F1 with merges and splits** (`F1`). Which lines make a paragraph is the assembler's business, so boxes that hold several elements of one
class, or parts of one, are no faults: an element is found when at least `SHARE` of its characters are owned by regions of its class; a
region is right when at least `SHARE` of the characters it owns are of elements of its class. A character is owned by the region whose line
it lies in, else by the smallest region around it. Elements without text of their own (pictures, seals, empty fields) go by the strict rule;
pictures also by the hull of the regions inside them.

**looks** is that F1 once more, with `list_item`, `reference` and `code` counted as `text`: on a scan nobody has read a word when its layout
is written, so what only words tell is left to the assembler.

Text regions that lie in a picture or seal of the truth are neither right nor wrong: words inside pictures get regions of their own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.lib.layout_tally import Tally
from samples.generator.truth import Element, Line, Page
from shared.contracts.layout import PageLayout, Region

IOU = 0.5
TABLE_IOU = 0.9
SHARE = 0.8
SLACK = 1.0
"""Points: a third of the stem of a letter at body size."""
GROUPS = {
    "title": "heading",
    "section_header": "heading",
    "page_header": "furniture",
    "page_footer": "furniture",
    "page_number": "furniture",
}
LOOKS = {**GROUPS, "list_item": "text", "reference": "text", "code": "text"}
BY_BOX = frozenset({"picture", "seal"})
"""Classes that are matched by their boxes, whatever text is in them."""

Box = Sequence[float]


class Spot(NamedTuple):
    """The centre of a character of the truth."""

    x: float
    y: float
    element: int


def score(truth: Page, layout: PageLayout) -> Tally:
    """Compare one page. Boxes of both are in the same units."""
    tally = Tally(pages=1)
    spots = characters(truth)
    regions = layout.regions
    owners = [_owner(spot, regions) for spot in spots]
    _coverage(tally, truth, spots, owners, regions)
    ignored = {i for i, region in enumerate(regions) if _is_inside_picture(region, truth.elements)}
    looks = Tally()
    _classes(looks, truth, regions, spots, owners, ignored, LOOKS)
    for name in ("elements", "found", "regions", "right"):
        tally.looks[name] = getattr(looks, name).total()
    pairs = _classes(tally, truth, regions, spots, owners, ignored, GROUPS)
    for element in truth.elements:
        if element.label == "table":
            tally.tables += 1
            tally.tables_found += any(r.label == "table" and iou(r.bbox, element.bbox) >= TABLE_IOU for r in regions)
    true_seals = [element for element in truth.elements if element.label == "seal"]
    tally.seals = len(true_seals)
    tally.seals_found = sum(truth.elements[e].label == "seal" for e in pairs)
    tally.seals_false = sum(region.label == "seal" for region in regions) - tally.seals_found
    return tally


def _classes(
    tally: Tally,
    truth: Page,
    regions: Sequence[Region],
    spots: Sequence[Spot],
    owners: Sequence[_Owner],
    ignored: set[int],
    groups: dict[str, str],
) -> dict[int, int]:
    """Count both F1s with these classes; the pairs of the strict one, element to region."""
    kinds = [groups.get(region.label, region.label) for region in regions]
    true_kinds = [groups.get(element.label, element.label) for element in truth.elements]
    tally.elements.update(true_kinds)
    pairs = _pairs(truth.elements, true_kinds, regions, kinds)
    tally.strict.update(true_kinds[e] for e in pairs)
    tally.strict_regions.update(kind for i, kind in enumerate(kinds) if i not in ignored or i in pairs.values())
    _tolerant(tally, truth, true_kinds, regions, kinds, spots, owners, pairs, ignored)
    return pairs


def characters(page: Page) -> list[Spot]:
    """Centres of all characters but blanks; those of seals are not known."""
    return [
        Spot(*centre, index)
        for index, element in enumerate(page.elements)
        for line in element.lines
        for centre in centres(line)
    ]


def centres(line: Line) -> list[tuple[float, float]]:
    """Centres of a line's characters, blanks left out, wherever and however turned the line is."""
    x0, y0, x1, y1, x2, y2, x3, y3 = line.quad
    length = line.edges[-1] or 1.0
    found = []
    for index, character in enumerate(line.text):
        if not character.isspace():
            t = (line.edges[index] + line.edges[index + 1]) / 2 / length
            x = ((x0 + x3) + t * (x1 + x2 - x0 - x3)) / 2
            y = ((y0 + y3) + t * (y1 + y2 - y0 - y3)) / 2
            found.append((x, y))
    return found


def iou(a: Box, b: Box) -> float:
    """Intersection over union, 0..1."""
    both = _common(a, b)
    return both / (_area(a) + _area(b) - both) if both > 0 else 0.0


class _Owner(NamedTuple):
    region: int | None
    in_line: bool


def _owner(spot: Spot, regions: Sequence[Region]) -> _Owner:
    around = [index for index, region in enumerate(regions) if _holds(region.bbox, spot)]
    by_line = [i for i, region in enumerate(regions) if any(_holds(line.bbox, spot) for line in region.lines)]
    if by_line:
        return _Owner(min(by_line, key=lambda i: _area(regions[i].bbox)), True)
    return _Owner(min(around, key=lambda i: _area(regions[i].bbox), default=None), False)


def _coverage(
    tally: Tally, truth: Page, spots: Sequence[Spot], owners: Sequence[_Owner], regions: Sequence[Region]
) -> None:
    for spot, owner in zip(spots, owners, strict=True):
        tally.characters += 1
        tally.covered += owner.region is not None
        whole = owner.region is not None and _is_read_whole(regions[owner.region])
        in_picture = truth.elements[spot.element].label == "picture" and owner.region is not None
        tally.read += owner.in_line or whole or in_picture


def _is_read_whole(region: Region) -> bool:
    """Whether a reader takes a region without lines: small single lines, and what the VL model or the table model gets."""
    return region.direct or region.read_by == "vl" or (region.read_by == "rec" and region.label in ("table", "formula"))


def _is_inside_picture(region: Region, elements: Sequence[Element]) -> bool:
    return region.label not in BY_BOX and any(
        element.label in BY_BOX and _common(region.bbox, element.bbox) >= 0.8 * _area(region.bbox)
        for element in elements
    )


def _pairs(
    elements: Sequence[Element], true_kinds: Sequence[str], regions: Sequence[Region], kinds: Sequence[str]
) -> dict[int, int]:
    """Element to region, one to one, of the strict rule."""
    near = sorted(
        (
            (-iou(element.bbox, region.bbox), e, r)
            for e, element in enumerate(elements)
            for r, region in enumerate(regions)
            if true_kinds[e] == kinds[r]
        )
    )
    pairs: dict[int, int] = {}
    for overlap, e, r in near:
        if -overlap >= IOU and e not in pairs and r not in pairs.values():
            pairs[e] = r
    return pairs


def _tolerant(
    tally: Tally,
    truth: Page,
    true_kinds: Sequence[str],
    regions: Sequence[Region],
    kinds: Sequence[str],
    spots: Sequence[Spot],
    owners: Sequence[_Owner],
    pairs: dict[int, int],
    ignored: set[int],
) -> None:
    of_element: dict[int, Counter[str]] = defaultdict(Counter)
    of_region: dict[int, Counter[str]] = defaultdict(Counter)
    for spot, owner in zip(spots, owners, strict=True):
        kind = true_kinds[spot.element]
        found = kinds[owner.region] if owner.region is not None else "nothing"
        of_element[spot.element][found] += 1
        if owner.region is not None:
            of_region[owner.region][kind] += 1
        if kind != found and kind not in BY_BOX:
            tally.confused[f"{kind} -> {found}"] += 1
    for e, element in enumerate(truth.elements):
        kind = true_kinds[e]
        counts = of_element[e]
        if kind in BY_BOX or not counts:
            tally.found[kind] += e in pairs or _is_hull(element, regions)
        else:
            tally.found[kind] += counts[kind] >= SHARE * counts.total()
    for r, kind in enumerate(kinds):
        if r in ignored:
            continue
        tally.regions[kind] += 1
        counts = of_region[r]
        if kind in BY_BOX or not counts:
            inside = any(
                true_kinds[e] == kind and _common(regions[r].bbox, element.bbox) >= SHARE * _area(regions[r].bbox)
                for e, element in enumerate(truth.elements)
            )
            tally.right[kind] += r in pairs.values() or (kind == "picture" and inside)
        else:
            tally.right[kind] += counts[kind] >= SHARE * counts.total()


def _is_hull(element: Element, regions: Sequence[Region]) -> bool:
    """Whether the picture regions that lie in a picture make it up together."""
    parts = [
        r.bbox
        for r in regions
        if r.label == element.label == "picture" and _common(r.bbox, element.bbox) >= SHARE * _area(r.bbox)
    ]
    if not parts:
        return False
    around = [min(p[0] for p in parts), min(p[1] for p in parts), max(p[2] for p in parts), max(p[3] for p in parts)]
    return iou(around, element.bbox) >= IOU


def _holds(box: Box, spot: Spot) -> bool:
    return box[0] - SLACK <= spot.x <= box[2] + SLACK and box[1] - SLACK <= spot.y <= box[3] + SLACK


def _area(box: Box) -> float:
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def _common(a: Box, b: Box) -> float:
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return width * height if width > 0 and height > 0 else 0.0
