"""Fields and boxes of forms."""

import pytest

from services.layout_worker.regions.drafts import Drawn, Widget
from services.layout_worker.regions.forms import fields
from shared.contracts.layout import TextLine
from shared.documents.page import Rule

pytestmark = pytest.mark.unit

WIDTH = 595.0


def frame(x0, y0, x1, y1):
    return [
        Rule(bbox=[x0, y0 - 0.3, x1, y0 + 0.3], horizontal=True),
        Rule(bbox=[x0, y1 - 0.3, x1, y1 + 0.3], horizontal=True),
        Rule(bbox=[x0 - 0.3, y0, x0 + 0.3, y1], horizontal=False),
        Rule(bbox=[x1 - 0.3, y0, x1 + 0.3, y1], horizontal=False),
    ]


def line(x0, y0, text):
    return TextLine(bbox=[x0, y0, x0 + 6 * len(text), y0 + 11], text=text)


def found(rules=(), lines=(), widgets=(), tables=()):
    drawn = Drawn(rules=list(rules), widgets=list(widgets))
    return [(d.label, [item.text for item in d.lines]) for d in fields(drawn, list(lines), list(tables), WIDTH)]


def test_a_frame_beside_a_name_is_a_field_with_what_is_in_it():
    lines = [line(72, 102, "Name:"), line(154, 102, "Ada"), line(72, 142, "Town:")]
    rules = [*frame(150, 100, 300, 116), *frame(150, 140, 300, 156)]
    assert found(rules, lines) == [("form_field", ["Ada"]), ("form_field", [])]


def test_a_rule_after_a_colon_is_a_field():
    rule = Rule(bbox=[150, 114.7, 300, 115.3], horizontal=True)
    assert found([rule], [line(72, 103, "Name:"), line(154, 103, "Ada")]) == [("form_field", ["Ada"])]
    assert found([rule], [line(72, 103, "words before a rule")]) == []


def test_a_square_before_words_is_ticked():
    assert found(frame(72, 101, 81, 110), [line(86, 100, "yes")]) == [("checkbox", ["yes"])]
    assert found(frame(72, 101, 81, 110), [line(186, 100, "far")]) == []


def test_widgets_say_their_state():
    widgets = [Widget([72.0, 101, 81, 110], True), Widget([72.0, 121, 81, 130], False), Widget([150.0, 140, 300, 156])]
    lines = [line(86, 100, "yes"), line(86, 120, "no"), line(154, 142, "Ada")]
    assert found(widgets=widgets, lines=lines) == [
        ("checkbox", ["☑", "yes"]),
        ("checkbox", ["☐", "no"]),
        ("form_field", ["Ada"]),
    ]


def test_text_in_a_frame_and_what_is_in_a_table_are_no_fields():
    text = [line(154, 102 + 12 * i, "words of a note") for i in range(3)]
    assert found(frame(150, 100, 300, 140), [line(72, 102, "Note:"), *text]) == []
    assert found(frame(150, 100, 300, 116), [line(72, 102, "Name:")], tables=[[60, 90, 400, 200]]) == []
