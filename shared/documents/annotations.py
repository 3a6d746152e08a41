"""What lies on a page beside its contents: form fields, notes, stamps. What of it is seen comes as lines of text like any other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import pymupdf

from shared.documents.frame import Frame
from shared.documents.page import Annotation, NativeLine

MOST = 2_000
"""Annotations, and fields, of a page that are looked at; a dense tax form has some 500."""
_TICKABLE = (pymupdf.PDF_WIDGET_TYPE_CHECKBOX, pymupdf.PDF_WIDGET_TYPE_RADIOBUTTON)
_ICONS = (
    pymupdf.PDF_ANNOT_TEXT,
    pymupdf.PDF_ANNOT_FILE_ATTACHMENT,
    pymupdf.PDF_ANNOT_SOUND,
    pymupdf.PDF_ANNOT_MOVIE,
)
"""Annotations that are an icon to click on: a viewer draws it, it is nothing of the page's (PDF 32000-1, 12.5.6.4, .15 to .17)."""
_NOT_SHOWN = pymupdf.PDF_ANNOT_IS_HIDDEN | pymupdf.PDF_ANNOT_IS_NO_VIEW
_PASSWORD = 1 << 13
"""Flag of a text field that shows dots (PDF 32000-1, table 228): its value is a secret."""


def annotations_of(page: Any, frame: Frame, lines: Sequence[NativeLine]) -> list[Annotation]:
    """Annotations and fields of a `pymupdf.Page` (rotation 0), in their order. `lines` are those that annotations show."""
    return [*_notes(page, frame, [one for one in lines if one.origin == "annotation"]), *_fields(page, frame)]


def hide_icons(page: Any) -> None:
    """Let no icon of a note or an attachment be drawn on a `pymupdf.Page`: a reader takes it for a character. What the note says is kept."""
    for number, icon in enumerate(page.annots(types=_ICONS)):
        if number >= MOST:
            return
        icon.set_flags(icon.flags | pymupdf.PDF_ANNOT_IS_HIDDEN)


def _notes(page: Any, frame: Frame, lines: Sequence[NativeLine]) -> Iterator[Annotation]:
    for number, annotation in enumerate(page.annots()):
        if number >= MOST:
            return
        subtype = annotation.type[1]
        if subtype in ("Popup", "Link"):
            continue
        bbox = frame.clipped(frame.box(annotation.rect))
        text = annotation.info.get("content") or ""
        yield Annotation(
            bbox=bbox,
            kind="annotation",
            subtype=subtype,
            text=storable(text.strip()),
            shown=any(line.visible and _centre_in(line.bbox, bbox) for line in lines),
        )


def _fields(page: Any, frame: Frame) -> Iterator[Annotation]:
    for number, widget in enumerate(page.widgets()):
        if number >= MOST:
            return
        tickable = widget.field_type in _TICKABLE
        value = widget.field_value
        secret = widget.field_type == pymupdf.PDF_WIDGET_TYPE_TEXT and widget.field_flags & _PASSWORD
        yield Annotation(
            bbox=frame.clipped(frame.box(widget.rect)),
            kind="widget",
            subtype="Password" if secret else widget.field_type_string or "Unknown",
            text="" if tickable or value is None or secret else storable(_text_of(value)),
            name=storable(widget.field_name or ""),
            checked=(value not in (None, False, "", "Off")) if tickable else None,
            shown=not widget._annot.flags & _NOT_SHOWN,
        )


def _text_of(value: Any) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def field_lines(lines: Iterable[NativeLine], fields: Sequence[Annotation]) -> list[NativeLine]:
    """Lines that form fields show, without secrets and marks of check boxes (their state says it); a comb field's cells as one value."""
    inside: dict[int, list[NativeLine]] = {}
    out: list[NativeLine] = []
    for line in lines:
        home = next((i for i, field in enumerate(fields) if _centre_in(line.bbox, field.bbox)), None)
        if home is None:
            out.append(line)
        elif fields[home].checked is None and fields[home].subtype != "Password":
            inside.setdefault(home, []).append(line)
    for index, parts in inside.items():
        parts.sort(key=lambda line: line.bbox[0])
        value = fields[index].text
        one_row = max(p.bbox[1] for p in parts) < min(p.bbox[3] for p in parts)
        if (
            one_row
            and value != parts[0].text
            and "".join("".join(p.text for p in parts).split()) == "".join(value.split())
        ):
            boxes = [part.bbox for part in parts]
            box = [
                min(b[0] for b in boxes),
                min(b[1] for b in boxes),
                max(b[2] for b in boxes),
                max(b[3] for b in boxes),
            ]
            parts = [msgspec.structs.replace(parts[0], text=value, bbox=box)]
        out += parts
    return out


def _centre_in(bbox: Sequence[float], box: Sequence[float]) -> bool:
    x, y = (bbox[0] + bbox[2]) / 2, (bbox[1] + bbox[3]) / 2
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def storable(text: str) -> str:
    """Text without halves of surrogate pairs, which no JSON can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
