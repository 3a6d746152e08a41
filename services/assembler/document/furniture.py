"""Running headers, footers and page numbers: found because they recur, not because of where they stand.

Working inward from the top and the bottom edge of each page, row by row: a row goes on being furniture as long as
something in it recurs on other pages at the same height with the same text, digits aside, or is this page's number. The first row without such a
thing ends it, so a form's repeated fields below its title stay in the body. What is set larger than the document's
usual text is no running matter, and neither is a text that stands alone at the height of one (a real heading there). Where
there is one page only, the layout's word counts only for type smaller than the text's, in the margin, and for page numbers.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import median
from typing import Literal

from msgspec.structs import replace

from services.assembler.document.boxes import overlap
from services.assembler.document.fonts import usual_size
from services.assembler.document.sections import PROMOTED
from services.assembler.document.text import HEADING
from shared.contracts.document import Block, Label
from shared.contracts.layout import ComposedPage

ZONE = 0.15
"""Share of the page's height at either edge in which running matter may stand."""
SAME_HEIGHT = 0.02
"""Share of the page's height by which the places of one running text differ at most."""
MIN_PAGES = 3
"""Pages a text must recur on; in a document of two pages it must be on both."""
MIN_DENSITY = 0.3
"""Share of the pages between its first and last that must have it: left and right pages may differ."""
LARGER = 1.25
"""Times the usual font size from which on a text is no running matter."""
SMALLER, SMALLER_READ = 0.92, 0.88
"""Times the usual size below which a line at an edge may be running matter without recurring: native, and read (measured to a tenth)."""
LOGO = 3
"""Characters up to which a text is a mark rather than a heading."""
MARGIN = 0.07
"""Share of the page's height at either edge that is margin: usual heads stand at 0.04 to 0.06, text begins at 0.08 or below."""
OUTERMOST = 0.1
"""Share of the page's height at either edge in which a number that nothing else vouches for is the page's."""
WHITE = 1.5
"""White between such a number and the body, in its heights."""
WHOLE_PAGE = 0.75
"""Share of the page that a picture covers which is the page itself."""
LONGEST_NUMBER = 20
MAX_ROWS = 3
MAX_LINES = 2
_NEVER = ("table", "picture", "seal", "formula", "code")
_NUMBER_ONLY = re.compile(
    r"[-–—\s/|.·~()（）\[\]]*(?:(?:page|seite|p\.|pg\.?|第|共|页|頁|of|von|#)[-–—\s/|,，.·~()（）\[\]]*)+", re.I
)
_ROMAN = re.compile(r"[ivxlcdm]{1,7}", re.I)

Edge = Literal["top", "bottom"]
_EDGES: tuple[Edge, ...] = ("top", "bottom")


def separated(pages: Sequence[ComposedPage]) -> list[ComposedPage]:
    """The pages with their running matter labelled and in the layer `furniture`, and real headings back in the body."""
    usual = usual_size(block for page in pages for block in page.blocks)
    recurring, sizes = _recurring(pages, usual)
    recurring = _beside_others(recurring, pages)
    numbers = _numbers(pages)
    out = []
    for page in pages:
        changed: dict[str, Block] = {}
        for edge in _EDGES:
            for block in _peeled(page, edge, recurring, usual, numbers):
                changed[block.id] = block
        for block in page.blocks:
            if block.id not in changed and (margin := _small_at(block, page, usual)) is not None:
                changed[block.id] = replace(block, label=_label(block, margin), content_layer="furniture")
            if block.id in changed or block.label not in ("page_header", "page_footer"):
                continue
            if _recurs(block, page, recurring):
                continue
            if _is_real_heading(block, page, usual, sizes, len(pages)):
                changed[block.id] = replace(block, label="section_header", content_layer="body")
            elif len(pages) == 1 and _is_plain_text(block, page, usual):
                changed[block.id] = replace(block, label="text", content_layer="body")
        if changed:
            page = replace(page, blocks=_untied([changed.get(block.id, block) for block in page.blocks]))
        out.append(page)
    return _beside_something(out)


def _untied(blocks: Sequence[Block]) -> list[Block]:
    """Running matter is nobody's caption, though it stood right above a table when only its page was known."""
    running = {block.id for block in blocks if block.content_layer == "furniture"}
    tied = {name for block in blocks for name in block.caption_ids} & running
    return [
        replace(
            block,
            parent_id=None if block.id in tied else block.parent_id,
            caption_ids=[name for name in block.caption_ids if name not in tied],
        )
        if block.id in tied or tied.intersection(block.caption_ids)
        else block
        for block in blocks
    ]


def _beside_something(pages: Sequence[ComposedPage]) -> list[ComposedPage]:
    """Running matter runs along something: what is all that pages say, whatever the layout took it for, is their text.

    Unless it also runs along other pages: an empty page between full ones has its header too.
    """
    full = [page for page in pages if any(b.content_layer == "body" for b in page.blocks)]
    known = {pattern(b.text) for page in full for b in page.blocks if b.content_layer == "furniture"}

    def restored(block: Block) -> Block:
        alone = block.content_layer == "furniture" and block.label in ("page_header", "page_footer")
        return (
            replace(block, label="text", content_layer="body") if alone and pattern(block.text) not in known else block
        )

    filled = {page.page.page_no for page in full}
    return [
        page if page.page.page_no in filled else replace(page, blocks=[restored(block) for block in page.blocks])
        for page in pages
    ]


def pattern(text: str) -> str:
    """A text with its digits (and a Roman number standing alone) as `#`, without blanks and case."""
    text = "".join(unicodedata.normalize("NFKC", text).split()).lower()
    return "#" if _ROMAN.fullmatch(text) else re.sub(r"\d+", "#", text)


def _edge(block: Block, page: ComposedPage) -> tuple[Edge, float] | None:
    """At which edge a block may be running matter, and its middle as a share of the page's height."""
    box = block.prov[0].bbox if block.prov else None
    if box is None or block.label in _NEVER or block.content_layer not in ("body", "furniture") or not block.text:
        return None
    if len(block.lines) > MAX_LINES or page.page.height <= 0:
        return None
    middle = (box[1] + box[3]) / 2 / page.page.height
    if middle < ZONE:
        return "top", middle
    return ("bottom", middle) if middle > 1 - ZONE else None


_Recurring = dict[tuple[Edge, str], list[float]]


def _recurring(pages: Sequence[ComposedPage], usual: float | None) -> tuple[_Recurring, dict[Edge, float]]:
    """Recurring texts with the heights they recur at, and the median font size of those at each edge."""
    found: dict[tuple[Edge, str], list[tuple[float, int, float | None]]] = defaultdict(list)
    for page in pages:
        for block in page.blocks:
            place = _edge(block, page)
            if place is None or (usual and block.font_size and block.font_size > LARGER * usual):
                continue
            found[place[0], pattern(block.text)].append((place[1], page.page.page_no, block.font_size))
    needed = min(MIN_PAGES, max(2, len(pages)))
    recurring: _Recurring = {}
    sizes: dict[Edge, list[float]] = {"top": [], "bottom": []}
    for (edge, text), places in found.items():
        for group in _at_same_height(sorted(places, key=lambda p: (p[0], p[1]))):
            numbers = sorted({number for _, number, _ in group})
            if len(numbers) >= needed and len(numbers) >= MIN_DENSITY * (numbers[-1] - numbers[0] + 1):
                recurring.setdefault((edge, text), []).append(median(height for height, _, _ in group))
                sizes[edge] += [size for _, _, size in group if size]
    return recurring, {edge: median(known) for edge, known in sizes.items() if known}


def _beside_others(recurring: _Recurring, pages: Sequence[ComposedPage]) -> _Recurring:
    """Without texts that are all there is on most of their pages: what runs along something needs something."""
    alone: Counter[tuple[Edge, str]] = Counter()
    total: Counter[tuple[Edge, str]] = Counter()
    for page in pages:
        running = [(b, _recurs(b, page, recurring)) for b in page.blocks if b.content_layer in ("body", "furniture")]
        others = any(not yes and b.content_layer == "body" for b, yes in running)
        for block, yes in running:
            place = _edge(block, page)
            if yes and place is not None:
                total[place[0], pattern(block.text)] += 1
                alone[place[0], pattern(block.text)] += not others
    return {name: heights for name, heights in recurring.items() if 2 * alone[name] <= total[name]}


def _at_same_height(
    places: Sequence[tuple[float, int, float | None]],
) -> list[list[tuple[float, int, float | None]]]:
    groups: list[list[tuple[float, int, float | None]]] = []
    for place in places:
        if groups and place[0] - groups[-1][0][0] <= SAME_HEIGHT:
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups


def _recurs(block: Block, page: ComposedPage, recurring: _Recurring) -> bool:
    place = _edge(block, page)
    if place is None:
        return False
    return any(abs(place[1] - h) <= SAME_HEIGHT for h in recurring.get((place[0], pattern(block.text)), []))


def _numbers(pages: Sequence[ComposedPage]) -> dict[tuple[Edge, int], float]:
    """Heights at which pages, by their numbers, have theirs printed at an edge, as shares."""
    out: dict[tuple[Edge, int], float] = {}
    for page in pages:
        for block in page.blocks:
            place = _edge(block, page)
            if place is not None and is_page_number(block.text) and not OUTERMOST < place[1] < 1 - OUTERMOST:
                out[place[0], page.page.page_no] = place[1]
    return out


def _peeled(
    page: ComposedPage, edge: Edge, recurring: _Recurring, usual: float | None, numbers: dict[tuple[Edge, int], float]
) -> list[Block]:
    """Running matter of one edge of a page, relabelled."""
    placed = [
        (list(block.prov[0].bbox), block)
        for block in page.blocks
        if block.prov and block.prov[0].bbox and block.content_layer in ("body", "furniture")
    ]
    placed.sort(key=lambda p: p[0][1] if edge == "top" else -p[0][3])
    out: list[Block] = []
    index = 0
    for _ in range(MAX_ROWS):
        if index >= len(placed):
            break
        first = placed[index][0]
        row: list[Block] = []
        while index < len(placed):
            box = placed[index][0]
            if row and overlap(first[1], first[3], box[1], box[3]) <= 0.5 * min(first[3] - first[1], box[3] - box[1]):
                break
            row.append(placed[index][1])
            index += 1
        running = [
            block
            for block in row
            if _is_at(block, page, edge)
            and (_recurs(block, page, recurring) or _is_own_number(block, page) or _is_lone_number(block, page))
        ]
        running += [block for block in row if not running and _is_misread_number(block, page, numbers)]
        if any(is_page_number(block.text) for block in running):
            running += [block for block in row if block not in running and _accompanies(block, page, usual)]
        if not running and not any(block.content_layer == "furniture" for block in row):
            break
        out += [replace(block, label=_label(block, edge), content_layer="furniture") for block in running]
    return out


def _is_at(block: Block, page: ComposedPage, edge: Edge) -> bool:
    """Whether a block stands at this edge: on a page with little else the first row from below may be the header."""
    place = _edge(block, page)
    return place is not None and place[0] == edge


def _is_own_number(block: Block, page: ComposedPage) -> bool:
    """Whether an outermost text is this page's number, which need not recur to be one; beside something it numbers."""
    found = re.search(r"\d+", block.text)
    if found is None or int(found[0]) != page.page.page_no or _edge(block, page) is None:
        return False
    return is_page_number(block.text) and any(b is not block and b.content_layer == "body" for b in page.blocks)


def _accompanies(block: Block, page: ComposedPage, usual: float | None) -> bool:
    """Whether what stands in the row of a page number is running matter too: a line of text, not larger than others."""
    large = usual is not None and block.font_size is not None and block.font_size > LARGER * usual
    return block.label not in ("title", "section_header") and _edge(block, page) is not None and not large


def _label(block: Block, edge: Edge) -> Label:
    if is_page_number(block.text):
        return "page_number"
    return "page_header" if edge == "top" else "page_footer"


def is_page_number(text: str) -> bool:
    """Whether a text is a page's number and nothing else: `12`, `- 12 -`, `Page 3 of 9`, `第 3 页`, `iv`."""
    form = pattern(text)
    return "#" in form and _NUMBER_ONLY.fullmatch(form) is not None


def _is_real_heading(
    block: Block, page: ComposedPage, usual: float | None, sizes: dict[Edge, float], total: int
) -> bool:
    """A layout model goes by position too: what it took for a header, but recurs nowhere and is in larger type, is a heading."""
    place = _edge(block, page)
    own = block.font_size
    if own is None or len(block.text.strip()) <= LOGO or is_page_number(block.text):
        return False
    if usual is not None and own >= (PROMOTED if HEADING.match(block.text) else LARGER) * usual:
        return True
    return total >= MIN_PAGES and place is not None and place[0] in sizes and own >= LARGER * sizes[place[0]]


def _small_at(block: Block, page: ComposedPage, usual: float | None) -> Edge | None:
    """The edge in whose margin a line in smaller type than the text's stands that the layout took for a heading, or that was read and nobody
    took for anything; none for others."""
    place, own = _edge(block, page), block.font_size
    if place is None or usual is None or own is None or len(block.lines) != 1 or HEADING.match(block.text):
        return None
    if MARGIN <= place[1] <= 1 - MARGIN or own >= SMALLER_READ * usual:
        return None
    if block.label == "section_header" and place[0] == "top":
        return place[0]
    read = block.label == "text" and block.confidence is not None and block.writing_mode == "horizontal_tb"
    return place[0] if read and _is_apart(block, place[0], page) else None


def _is_apart(block: Block, edge: Edge, page: ComposedPage) -> bool:
    """Whether there is white between a block and all of the body, which lies further inside; there must be some."""
    box = block.prov[0].bbox
    # A picture that is the page itself, as networks see one on scans, says nothing of what is printed in its margin.
    body = [b for b in page.blocks if b is not block and b.content_layer == "body" and b.prov]
    others = [b.prov[0].bbox for b in body if not _is_whole_page(b, page)]
    if box is None:
        return False
    white = WHITE * (box[3] - box[1])
    gaps = [other[1] - box[3] if edge == "top" else box[1] - other[3] for other in others if other]
    return bool(gaps) and min(gaps) >= white


def _is_plain_text(block: Block, page: ComposedPage, usual: float | None) -> bool:
    """On an only page, where nothing can recur, only smaller type, a place in the margin, or a page number beside it, makes it running matter."""
    smaller = SMALLER if block.method == "native" else SMALLER_READ
    if usual is None or block.font_size is None or block.font_size < smaller * usual or is_page_number(block.text):
        return False
    place = _edge(block, page)
    if place is not None and not MARGIN < place[1] < 1 - MARGIN:
        return False
    box = block.prov[0].bbox
    for other in page.blocks:
        beside = other.prov[0].bbox if other.prov else None
        if beside and box and is_page_number(other.text) and overlap(box[1], box[3], beside[1], beside[3]) > 0:
            return False
    return True


def _is_lone_number(block: Block, page: ComposedPage) -> bool:
    """Whether a number in one of the usual forms stands at the very edge of a page, with white between it and all that is body."""
    place, box = _edge(block, page), block.prov[0].bbox if block.prov else None
    if place is None or box is None or len(block.text) > LONGEST_NUMBER or not is_page_number(block.text):
        return False
    if OUTERMOST < place[1] < 1 - OUTERMOST:
        return False
    return _is_apart(block, place[0], page)


def _is_whole_page(block: Block, page: ComposedPage) -> bool:
    box = block.prov[0].bbox
    if block.label != "picture" or box is None:
        return False
    return (box[2] - box[0]) * (box[3] - box[1]) >= WHOLE_PAGE * page.page.width * page.page.height


def _is_misread_number(block: Block, page: ComposedPage, numbers: dict[tuple[Edge, int], float]) -> bool:
    """Whether a sign or two that were read stand alone where other pages have their number, on a page that has none there."""
    place = _edge(block, page)
    if place is None or block.confidence is None or len("".join(block.text.split())) > LOGO:
        return False
    if (place[0], page.page.page_no) in numbers:
        return False
    return any(edge == place[0] and abs(height - place[1]) <= SAME_HEIGHT for (edge, _), height in numbers.items())
