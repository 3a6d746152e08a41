"""Native text is used when it is there, visible and sane Unicode; the rest is read, or kept as invisible."""

import pytest

from services.layout_worker.trust.fonts import Compared
from services.layout_worker.trust.trust import judge, kind_of, pictures_to_read
from shared.contracts.options import Options
from shared.documents.page import Annotation, NativeLine, OpenedPage

pytestmark = pytest.mark.unit


def line(text, y=100.0, **more):
    return NativeLine(bbox=[50, y, 300, y + 12], text=text, font_name="F", font_size=10.0, **more)


def page(*lines, **more):
    return OpenedPage(page_no=1, width=595, height=842, unit="pt", lines=list(lines), **more)


def texts(lines):
    return [item.text for item in lines]


def test_visible_sane_text_is_trusted():
    trust = judge(page(line("a"), line(" "), line("b", 120)), "auto", 1)
    assert texts(trust.trusted) == ["a", "b"]
    assert trust.untrusted == trust.invisible == trust.warnings == []
    assert "native_lines=2" in trust.reasons


def test_soft_hyphens_inside_a_line_are_hyphens():
    (item,) = judge(page(line("po\u00addebconf is release\u00ad")), "auto", 1).trusted
    assert item.text == "po-debconf is release\u00ad"


def test_text_without_a_character_map_is_read_and_said():
    trust = judge(page(line("good"), line("bad", 120, bad_unicode=True)), "auto", 1)
    assert texts(trust.trusted) == ["good"]
    assert [(item.bbox[1], item.text) for item in trust.untrusted] == [(120, None)]
    assert [w.code for w in trust.warnings] == ["bad_unicode"]
    assert "bad_unicode_lines=1" in trust.reasons


def test_text_that_cannot_be_seen_is_kept_apart():
    trust = judge(page(line("seen"), line("hidden", 120, visible=False, hidden="render_mode")), "auto", 1)
    assert texts(trust.trusted) == ["seen"]
    assert texts(trust.invisible) == ["hidden"]


def scan(*lines):
    return page(*lines, full_page_image=True, image_coverage=1.0)


LAYER_LINE = line("layer", visible=False, hidden="render_mode")


@pytest.mark.parametrize(
    ("ocr", "similarity", "trusted", "layer", "invisible"),
    [
        ("auto", 0.97, [], ["layer"], []),
        ("auto", 0.4, [], [], [("layer", "ocr_layer")]),
        ("auto", None, [], [], [("layer", "ocr_layer")]),
        ("off", None, ["layer"], [], []),
        ("force", 0.97, [], [], [("layer", "ocr_layer")]),
    ],
)
def test_the_text_layer_of_a_scan_is_used_when_it_says_what_the_picture_shows(
    ocr, similarity, trusted, layer, invisible
):
    trust = judge(scan(LAYER_LINE), ocr, 1, {"layer": Compared(similarity=similarity)})
    assert (texts(trust.trusted), texts(trust.layer)) == (trusted, layer)
    assert [(item.text, item.hidden) for item in trust.invisible] == invisible
    assert all(item.hidden is None for item in [*trust.trusted, *trust.layer])
    assert ocr == "force" or any("ocr_layer" in reason for reason in trust.reasons)


def test_a_stamp_on_a_scan_does_not_hide_its_text_layer():
    trust = judge(scan(LAYER_LINE, line("received 3 May", 700)), "auto", 1, {"layer": Compared(similarity=1.0)})
    assert (texts(trust.trusted), texts(trust.layer)) == (["received 3 May"], ["layer"])


def test_only_what_is_painted_to_be_searched_is_a_text_layer():
    white = line("paid", 120, visible=False, hidden="background_colour")
    trust = judge(scan(LAYER_LINE, white), "auto", 1, {"layer": Compared(similarity=1.0)})
    assert [(item.text, item.hidden) for item in trust.invisible] == [("paid", "background_colour")]


def test_values_of_hidden_fields_and_comments_are_kept_apart():
    opened = page(
        line("seen"),
        annotations=[
            Annotation(bbox=[0, 0, 9, 9], kind="annotation", subtype="Text", text="please check", shown=False),
            Annotation(bbox=[0, 0, 9, 9], kind="annotation", subtype="FreeText", text="typed", shown=True),
            Annotation(bbox=[0, 0, 9, 9], kind="widget", subtype="Text", text="secret sum", shown=False),
        ],
    )
    for ocr in ("auto", "off", "force"):
        trust = judge(opened, ocr, 1)
        assert texts(trust.notes) == ["please check"]
        assert [(item.text, item.hidden) for item in trust.invisible] == [("secret sum", "hidden_field")]


def test_invisible_text_is_no_ocr_layer_without_a_scan_under_it():
    trust = judge(page(line("hidden", visible=False, hidden="render_mode")), "off", 1)
    assert (texts(trust.trusted), texts(trust.invisible)) == ([], ["hidden"])


def test_force_trusts_nothing():
    trust = judge(page(line("a")), "force", 1)
    assert trust.trusted == []
    assert texts(trust.untrusted) == [None]
    assert trust.reasons == ["ocr=force"]


def test_off_keeps_what_is_broken_and_says_so():
    trust = judge(page(line("bad", bad_unicode=True)), "off", 1)
    assert texts(trust.trusted) == ["bad"]
    assert [w.code for w in trust.warnings] == ["bad_unicode"]


def test_red_text_is_known_by_its_colour():
    assert judge(page(line("a", color="#e01020"), line("b", 120, color="#401010")), "auto", 1).red == [True, False]


def test_pictures_large_enough_for_text_are_looked_at():
    opened = page(image_boxes=[[0, 0, 10, 200], [0, 0, 300, 20], [5, 5, 30, 30]])
    assert pictures_to_read(opened, Options()) == [[0, 0, 300, 20]]
    assert pictures_to_read(opened, Options(ocr="off")) == []
    image = OpenedPage(page_no=1, width=800, height=600, unit="px")
    assert pictures_to_read(image, Options()) == [[0, 0, 800, 600]]


@pytest.mark.parametrize(
    ("native", "read", "regions", "kind"),
    [(3, 0, 1, "native"), (3, 1, 2, "mixed"), (0, 2, 1, "scanned"), (0, 0, 1, "scanned"), (0, 0, 0, "blank")],
)
def test_kind_follows_from_who_gave_the_lines(native, read, regions, kind):
    assert kind_of(native, read, regions) == kind
