"""What forms and annotations show is text of the page at its place; what only pops up is a note; states of boxes are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pymupdf
import pytest

from shared.documents.child import DocumentChild
from shared.documents.limits import bounds_of
from shared.documents.page import OpenedPage, PageCall
from shared.documents.raster import render
from shared.settings import Limits

pytestmark = pytest.mark.unit


def opened(folder: Path, document: Any) -> OpenedPage:
    path = folder / "page.pdf"
    path.write_bytes(document.tobytes())
    call = PageCall(path=str(path), mime_type="application/pdf", page_no=1, dpi=72, picture="none")
    return DocumentChild(bounds_of(Limits())).open_page(call, [])[0].page


def field(page: Any, kind: int, name: str, value: Any, y: float, **more: Any) -> None:
    widget = pymupdf.Widget()
    widget.field_type, widget.field_name, widget.field_value = kind, name, value
    widget.rect = pymupdf.Rect(100, y, 260, y + 20)
    for key, content in more.items():
        setattr(widget, key, content)
    page.add_widget(widget)


def test_values_of_a_form_are_lines_where_they_stand(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    page.insert_text((72, 72), "contents")
    field(page, pymupdf.PDF_WIDGET_TYPE_TEXT, "city", "Basel", 400)
    field(page, pymupdf.PDF_WIDGET_TYPE_COMBOBOX, "country", "two", 440, choice_values=["one", "two"])
    field(page, pymupdf.PDF_WIDGET_TYPE_TEXT, "iban", "CH9300", 480, text_maxlen=6, field_flags=1 << 24)
    field(page, pymupdf.PDF_WIDGET_TYPE_TEXT, "pin", "4711", 520, field_flags=1 << 13)
    field(page, pymupdf.PDF_WIDGET_TYPE_CHECKBOX, "yes", True, 560)
    field(page, pymupdf.PDF_WIDGET_TYPE_CHECKBOX, "no", False, 600)
    shown = opened(tmp_path, document)
    values = {line.text: line for line in shown.lines if line.origin == "widget"}
    assert [line.text for line in shown.lines if line.origin == "contents"] == ["contents"]
    assert list(values) == ["Basel", "two", "CH9300"], "no mark, no secret"
    for text, y in (("Basel", 400), ("two", 440), ("CH9300", 480)):
        x0, y0, x1, y1 = values[text].bbox
        assert 100 <= x0 < x1 <= 261
        assert y <= (y0 + y1) / 2 <= y + 20
    states = {one.name: (one.subtype, one.text, one.checked, one.shown) for one in shown.annotations}
    assert states == {
        "city": ("Text", "Basel", None, True),
        "country": ("ComboBox", "two", None, True),
        "iban": ("Text", "CH9300", None, True),
        "pin": ("Password", "", None, True),
        "yes": ("CheckBox", "", True, True),
        "no": ("CheckBox", "", False, True),
    }


def test_a_value_without_an_appearance_is_shown_as_readers_show_it(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    field(page, pymupdf.PDF_WIDGET_TYPE_TEXT, "city", "Basel", 400)
    for widget in page.widgets():
        document.xref_set_key(widget.xref, "AP", "null")
    shown = opened(tmp_path, pymupdf.open(stream=document.tobytes(), filetype="pdf"))
    assert [line.text for line in shown.lines] == ["Basel"]


def test_notes_that_pop_up_are_not_on_the_page(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    page.insert_text((72, 72), "contents")
    page.add_freetext_annot((100, 200, 300, 240), "a typed note")
    page.add_text_annot((400, 100), "a sticky comment")
    page.add_highlight_annot(pymupdf.Rect(72, 60, 120, 75)).set_info(content="on a highlight")
    page.add_stamp_annot((300, 300, 450, 350), stamp=0)
    hidden = page.add_freetext_annot((100, 500, 300, 540), "switched off")
    hidden.set_flags(pymupdf.PDF_ANNOT_IS_HIDDEN)
    shown = opened(tmp_path, document)
    assert [(line.text, line.origin, line.visible) for line in shown.lines] == [
        ("contents", "contents", True),
        ("a typed note", "annotation", True),
        ("APPROVED", "annotation", True),
    ]
    notes = {one.text: one.shown for one in shown.annotations}
    assert notes == {
        "a typed note": True,
        "a sticky comment": False,
        "on a highlight": False,
        "Approved": True,
        "switched off": False,
    }


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_a_turned_form_keeps_its_values_in_their_fields(tmp_path: Path, rotation: int) -> None:
    document = pymupdf.open()
    page = document.new_page()
    field(page, pymupdf.PDF_WIDGET_TYPE_TEXT, "city", "Basel", 400)
    page.set_rotation(rotation)
    shown = opened(tmp_path, document)
    (line,), (box,) = shown.lines, shown.annotations
    x, y = (line.bbox[0] + line.bbox[2]) / 2, (line.bbox[1] + line.bbox[3]) / 2
    assert box.bbox[0] <= x <= box.bbox[2]
    assert box.bbox[1] <= y <= box.bbox[3]
    assert not shown.blank


def test_icons_of_notes_are_not_drawn_and_what_they_say_is_kept(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page()
    page.insert_text((72, 72), "contents")
    page.add_text_annot((200, 200), "ask again", icon="Note")
    page.add_file_annot((300, 200), b"data", "data.txt", icon="PushPin")
    page.add_freetext_annot((72, 400, 200, 430), "written on the page")
    shown = opened(tmp_path, document)
    assert "ask again" in [one.text for one in shown.annotations]
    again = pymupdf.open(stream=document.tobytes())[0]
    before, after = again.get_pixmap(), render(again, 1.0)
    assert min(before.pixel(x, y)[0] for x in range(195, 330) for y in range(190, 230)) < 200, "viewers draw them"
    assert after[190:230, 195:330].min() == 255
    assert after[400:430, 72:200].min() < 128
    assert after[60:75, 72:120].min() < 128
