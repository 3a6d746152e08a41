"""The rules of the layout benchmark, on pages small enough to count by hand."""

from __future__ import annotations

from benchmarks.lib.layout_score import centres, iou, score
from benchmarks.lib.layout_tally import Tally
from samples.generator.truth import Element, Line, Page
from shared.contracts.document import Label
from shared.contracts.layout import PageLayout, Region, TextLine


def line(x: float, y: float, text: str, step: float = 10.0) -> Line:
    x1, y1 = x + step * len(text), y + 10
    edges = [step * index for index in range(len(text) + 1)]
    return Line(text=text, bbox=[x, y, x1, y1], quad=[x, y, x1, y, x1, y1, x, y1], edges=edges)


def element(label: str, x: float, y: float, text: str = "") -> Element:
    lines = [line(x, y, text)] if text else []
    return Element(id=f"{label}{y}", label=label, bbox=[x, y, x + 100, y + 10], lines=lines)


def region(label: Label, bbox: list[float], *lines: list[float], read_by: str = "native") -> Region:
    return Region(
        region_id=f"r{bbox}",
        label=label,
        raw_label=label,
        bbox=bbox,
        confidence=1.0,
        found_by="model",
        read_by=read_by,  # type: ignore[arg-type]
        lines=[TextLine(bbox=box, text="x") for box in lines],
    )


def scored(elements: list[Element], *regions: Region) -> Tally:
    page = Page(w=200, h=200, kind="native", columns=1, elements=elements)
    layout = PageLayout(
        document_id="d", generation=0, page_no=1, width=200, height=200, unit="pt", kind="native", regions=list(regions)
    )
    return score(page, layout)


def test_centres_lie_between_the_edges_and_leave_out_blanks() -> None:
    assert centres(line(0, 0, "a b")) == [(5.0, 5.0), (25.0, 5.0)]


def test_centres_of_a_turned_line_follow_its_quad() -> None:
    turned = Line(text="ab", bbox=[0, 0, 10, 20], quad=[10, 0, 10, 20, 0, 20, 0, 0], edges=[0, 10, 20], vertical=True)
    assert centres(turned) == [(5.0, 5.0), (5.0, 15.0)]


def test_a_perfect_page() -> None:
    found = scored(
        [element("title", 0, 0, "abcdefghij"), element("text", 0, 20, "abcdefghij")],
        region("section_header", [0, 0, 100, 10], [0, 0, 100, 10]),
        region("text", [0, 20, 100, 30], [0, 20, 100, 30]),
    )
    assert (found.characters, found.covered, found.read) == (20, 20, 20)
    assert (found.f1, found.strict_f1) == (1.0, 1.0)


def test_nothing_found() -> None:
    found = scored([element("text", 0, 0, "abcd")])
    assert (found.covered, found.read, found.f1, found.strict_f1) == (0, 0, 0.0, 0.0)
    assert found.confused["text -> nothing"] == 4


def test_merged_paragraphs_cost_only_the_strict_score() -> None:
    merged = region("text", [0, 0, 100, 50], [0, 0, 100, 10], [0, 20, 100, 30], [0, 40, 100, 50])
    found = scored([element("text", 0, y, "abcdefghij") for y in (0, 20, 40)], merged)
    assert found.f1 == 1.0
    assert found.strict_f1 == 0.0


def test_a_region_of_two_classes_is_wrong_and_only_the_larger_class_is_found() -> None:
    mixed = region("text", [0, 0, 100, 30], [0, 0, 100, 10], [0, 20, 100, 30])
    found = scored([element("caption", 0, 0, "abcdefghij"), element("text", 0, 20, "abcdefghij")], mixed)
    assert (found.found["text"], found.found["caption"], found.right["text"]) == (1, 0, 0)
    assert found.f1 == 0.0


def test_what_only_words_tell_is_no_fault_by_looks() -> None:
    found = scored([element("list_item", 0, 0, "abcd")], region("text", [0, 0, 100, 10], [0, 0, 40, 10]))
    assert (found.f1, found.looks_f1) == (0.0, 1.0)


def test_covered_is_not_read_when_nobody_reads_the_region() -> None:
    found = scored([element("text", 0, 0, "abcd")], region("picture", [0, 0, 100, 10], read_by="none"))
    assert (found.covered, found.read) == (4, 0)


def test_a_table_must_fit_closely() -> None:
    table = Element(id="t", label="table", bbox=[0, 0, 100, 100])
    assert scored([table], region("table", [0, 0, 100, 95])).tables_found == 1
    loose = scored([table], region("table", [-10, -10, 110, 110]))
    assert (loose.tables, loose.tables_found, loose.strict["table"]) == (1, 0, 1)


def test_seals_found_and_false() -> None:
    seal = Element(id="s", label="seal", bbox=[0, 0, 50, 50])
    found = scored([seal], region("seal", [0, 0, 50, 45]), region("seal", [100, 100, 150, 150]))
    assert (found.seals, found.seals_found, found.seals_false) == (1, 1, 1)


def test_words_of_a_picture_may_have_a_region_or_not() -> None:
    picture = element("picture", 0, 0, "abc")
    box = region("picture", [0, 0, 100, 10], read_by="none")
    assert scored([picture], box).f1 == 1.0
    assert scored([picture], box, region("text", [0, 0, 30, 10], [0, 0, 30, 10])).f1 == 1.0


def test_counts_add_up() -> None:
    one = scored([element("text", 0, 0, "abcd")], region("text", [0, 0, 100, 10], [0, 0, 40, 10]))
    both = Tally()
    both.add(one)
    both.add(scored([element("text", 0, 0, "abcd")]))
    assert (both.pages, both.characters, both.covered, both.elements["text"]) == (2, 8, 4, 2)
    assert both.f1 == 2 / 3


def test_iou() -> None:
    assert iou([0, 0, 10, 10], [0, 0, 10, 5]) == 0.5
    assert iou([0, 0, 10, 10], [20, 0, 30, 10]) == 0.0
