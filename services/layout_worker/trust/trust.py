"""Whether a page's own text is used, line by line: it must be there, be visible and be what the page shows.

Decided per line, because real pages are mixed: a native header over a scanned body, one broken font among good ones. What is visible
but can't be used is read from the picture at its place; what can't be seen is kept apart with its reason and never becomes body text.

The text layer of a scan is a reading by somebody else. `ocr: auto` compares some lines of it with the picture: a good layer is used
where there is ink under it (`match.supported`), which saves reading the page, a bad one is replaced. `off` uses it, `force` replaces it.
Every decision leaves a reason for `kind_reason`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from services.layout_worker.trust import fonts
from services.layout_worker.trust.fonts import Verdicts
from shared.contracts.document import PageKind, Warning
from shared.contracts.layout import Hidden, TextLine
from shared.contracts.options import Options
from shared.contracts.turned import angle_of
from shared.documents.page import Annotation, NativeLine, OpenedPage

LEAST_IMAGE = (12.0, 36.0)
"""Points, short and long side: a smaller picture on a page holds no line of text worth a look."""
SLANTED = 3
"""Characters from which a line that runs across the page at an angle is one."""


class Trust(msgspec.Struct, frozen=True, kw_only=True):
    """What a page's own text is worth."""

    trusted: list[TextLine] = []
    red: list[bool] = []
    """For each trusted line, whether its colour is red."""
    layer: list[TextLine] = []
    """Lines of a scan's text layer that are used where the picture shows a line; elsewhere they are invisible."""
    untrusted: list[TextLine] = []
    """Visible, but to be read from the picture; without text."""
    invisible: list[TextLine] = []
    notes: list[TextLine] = []
    """Comments that pop up."""
    reasons: list[str] = []
    warnings: list[Warning] = []


def judge(page: OpenedPage, ocr: str, page_no: int, verdicts: Verdicts | None = None) -> Trust:
    """Sort the native lines of a page. `ocr` is `Options.ocr`; `verdicts` settle `fonts.doubts_of`, as far as they could be settled."""
    verdicts = verdicts or {}
    lines = [line for line in page.lines if line.text.strip()]
    seen = [line for line in lines if line.visible]
    layer = fonts.layer_of(page)
    of_layer = {id(line) for line in layer}
    hidden = [line for line in lines if not line.visible and id(line) not in of_layer]
    apart = [_text_line(line) for line in hidden] + _unshown(page)
    reasons = [f"hidden_lines={len(apart)}: {_counted(line.hidden or '' for line in apart)}"] if apart else []
    notes = [TextLine(bbox=one.bbox, text=one.text) for one in page.annotations if _is_note(one)]
    if ocr == "force":
        return Trust(
            untrusted=[_text_line(line, text=False) for line in seen],
            invisible=apart + [_text_line(line, hidden="ocr_layer") for line in layer],
            notes=notes,
            reasons=["ocr=force", *reasons],
        )
    broken, why = _broken(page, verdicts)
    if ocr == "off":
        used = seen + layer
        return Trust(
            trusted=[_text_line(line, seen=True) for line in used],
            red=[_is_red(line) for line in used],
            invisible=apart,
            notes=notes,
            reasons=["ocr=off", *why, *reasons, *(["ocr_layer used"] if layer else [])],
            warnings=[_bad_unicode(len(broken), page_no, "was kept, because ocr is off")] if broken else [],
        )
    good = [line for line in seen if id(line) not in broken]
    bad = [line for line in seen if id(line) in broken]
    is_good, said = _layer_verdict(layer, verdicts)
    return Trust(
        trusted=[_text_line(line) for line in good],
        red=[_is_red(line) for line in good],
        layer=[_text_line(line, seen=True) for line in layer] if is_good else [],
        untrusted=[_text_line(line, text=False) for line in bad],
        invisible=apart + [_text_line(line, hidden="ocr_layer") for line in layer if not is_good],
        notes=notes,
        reasons=[
            f"native_lines={len(good)}",
            *([f"bad_unicode_lines={len(bad)}"] if bad else []),
            *why,
            *reasons,
            *said,
        ],
        warnings=[_bad_unicode(len(bad), page_no, "was read from the picture")] if bad else [],
    )


def _broken(page: OpenedPage, verdicts: Verdicts) -> tuple[set[int], list[str]]:
    """Ids of the visible lines whose characters are not what they claim, and why, font by font."""
    broken = {id(line) for line in page.lines if line.visible and fonts.is_broken(line)}
    why = []
    for font in fonts.fonts_of(page):
        compared = verdicts.get(font.key)
        # No figure: another page of the document may have settled it, and the reason must not depend on which.
        said = "" if compared is None or compared.similarity is None else ", compared with the picture"
        if not fonts.is_believed(font, verdicts):
            broken.update(id(line) for line in font.lines)
            how = "guessed characters" if font.guessed else f"letters look {font.looks}"
            why.append(f"font {font.key} not believed: {how}{said}")
        elif said:
            why.append(f"font {font.key} believed{said}")
    return broken, why


def _layer_verdict(layer: Sequence[NativeLine], verdicts: Verdicts) -> tuple[bool, list[str]]:
    if not layer:
        return False, []
    compared = verdicts.get(fonts.LAYER)
    if compared is None or compared.similarity is None:
        return False, ["ocr_layer not used: nothing of it could be compared"]
    is_good = compared.similarity >= fonts.LAYER_SAME
    return is_good, [f"ocr_layer {'used' if is_good else 'not used'}: like the picture by {compared.similarity:.2f}"]


def _unshown(page: OpenedPage) -> list[TextLine]:
    """Values of form fields that the page hides."""
    return [
        TextLine(bbox=one.bbox, text=one.text, hidden="hidden_field")
        for one in page.annotations
        if one.kind == "widget" and not one.shown and one.text.strip()
    ]


def _is_note(one: Annotation) -> bool:
    return one.kind == "annotation" and not one.shown and bool(one.text.strip())


def _counted(values: Iterable[str]) -> str:
    return ", ".join(f"{count} {value}" for value, count in sorted(Counter(values).items()))


def pictures_to_read(page: OpenedPage, options: Options) -> list[list[float]]:
    """Boxes (page units) of pictures on the page that may hold text. Empty with `ocr: off`; the whole page for an image file."""
    if options.ocr == "off":
        return []
    if page.unit == "px":
        return [[0.0, 0.0, page.width, page.height]]
    short, long = LEAST_IMAGE
    sizes = [(box, box[2] - box[0], box[3] - box[1]) for box in page.image_boxes]
    return [box for box, width, height in sizes if min(width, height) >= short and max(width, height) >= long]


def kind_of(native: int, read: int, regions: int) -> PageKind:
    """Kind of a page by how many of its lines came from its own text and how many are read from the picture."""
    if native and read:
        return "mixed"
    if native:
        return "native"
    return "scanned" if read or regions else "blank"


def _text_line(line: NativeLine, *, text: bool = True, seen: bool = False, hidden: Hidden | None = None) -> TextLine:
    """`seen`: used although it is hidden."""
    return TextLine(
        bbox=line.bbox,
        text=_printed(line.text) if text else None,
        font_size=line.font_size,
        bold=line.bold,
        italic=line.italic,
        monospace=line.monospace,
        vertical=line.vertical,
        angle=_angle(line),
        hidden=None if seen else hidden or line.hidden,
    )


def _angle(line: NativeLine) -> float:
    """By the sides of the page, or across it; letters set one by one along a curve have no line that could be followed."""
    angle = angle_of(line.angle)
    return 0.0 if angle % 90 and len(line.text.strip()) < SLANTED else angle


def _printed(text: str) -> str:
    """Soft hyphens inside a line are hyphens on paper (many fonts have no other); at its end they say that the word goes on."""
    return text[:-1].replace("\u00ad", "-") + text[-1:]


def _is_red(line: NativeLine) -> bool:
    red, green, blue = bytes.fromhex(line.color.removeprefix("#"))
    return red > 120 and red - max(green, blue) > 60


def _bad_unicode(lines: int, page_no: int, what: str) -> Warning:
    return Warning(
        code="bad_unicode", page_no=page_no, message=f"text without a usable character map ({lines} lines) {what}"
    )
