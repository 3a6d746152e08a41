"""The rules of the document benchmark, on documents small enough to count by hand."""

from __future__ import annotations

from benchmarks.lib.document_corpus import closed_up, paired
from benchmarks.lib.document_score import score
from benchmarks.lib.document_tally import Tally
from benchmarks.lib.document_truth import plain, units
from samples.generator.truth import Cell, Document, Element, Line, Page, Table
from shared.contracts.layout import Region
from tests.support import pages as make

STEP = 5.0
"""Width of a character, as `make.lines` has it at 10 points."""


def line(x: float, y: float, text: str) -> Line:
    x1, y1 = x + STEP * len(text), y + 12
    edges = [STEP * index for index in range(len(text) + 1)]
    return Line(text=text, bbox=[x, y, x1, y1], quad=[x, y, x1, y, x1, y1, x, y1], edges=edges)


def element(id_: str, label: str, y: float, text: str, **more: object) -> Element:
    return Element(id=id_, label=label, bbox=[60, y, 400, y + 12], text=text, lines=[line(60, y, text)], **more)  # type: ignore[arg-type]


def truth(*pages: list[Element]) -> Document:
    made = [Page(w=612, h=792, kind="native", columns=1, elements=elements) for elements in pages]
    return Document(name="d", template="t", language="en", seed=1, pages=made)


def scored(true: Document, *pages: list[tuple[str, float, str]]) -> Tally:
    """The score of a document of regions `(label, y, text)`."""
    composed = []
    for number, parts in enumerate(pages, 1):
        regions: list[Region] = []
        for index, (label, y, text) in enumerate(parts):
            regions.append(make.region(index, label, make.lines(60, y, [text]), page_no=number))  # type: ignore[arg-type]
        composed.append(make.page(make.layout(regions, number), number))
    return score(true, make.document(composed)[0])


TRUE = truth(
    [
        element("h", "page_header", 40, "The report", furniture=True),
        element("a", "section_header", 100, "1 Results", level=1),
        element("b", "text", 130, "All that was found."),
        element("c", "text", 160, "And what was not."),
    ]
)


def test_a_document_that_is_right_has_no_faults() -> None:
    parts = [("page_header", 40.0, "The report"), ("section_header", 100.0, "1 Results")]
    tally = scored(TRUE, [*parts, ("text", 130, "All that was found."), ("text", 160, "And what was not.")])
    assert (tally.headings.f1, tally.levels.recall, tally.furniture.f1, tally.paragraphs.f1) == (1.0, 1.0, 1.0, 1.0)
    assert (tally.cer, tally.order) == (0.0, 1.0)
    assert not tally.faults


def test_what_is_wrong_is_counted_where_it_is() -> None:
    parts = [("text", 40.0, "The report"), ("text", 100.0, "1 Results"), ("section_header", 130, "All that was found.")]
    tally = scored(TRUE, [*parts, ("text", 160, "And what was not.")])
    assert (tally.headings.hit, tally.headings.true, tally.headings.found) == (0, 1, 1)
    assert (tally.furniture.hit, tally.furniture.true) == (0, 1)
    assert tally.errors == len("Thereport")


def test_text_in_another_order_is_moved_and_costs_errors() -> None:
    swapped = truth([TRUE.pages[0].elements[i] for i in (0, 1, 3, 2)])
    parts = [("page_header", 40.0, "The report"), ("section_header", 100.0, "1 Results")]
    tally = scored(swapped, [*parts, ("text", 130, "All that was found."), ("text", 160, "And what was not.")])
    assert (tally.moved, tally.elements) == (2, 3)
    assert tally.errors > 0


def test_a_paragraph_cut_by_a_page_is_one_unit_with_the_marks_of_its_notes() -> None:
    first = element("a", "text", 700, "It was cut1")
    first.text = "It was cut and went on."
    rest = element("b", "text", 60, "and went on.", continues="a")
    note = element("n", "footnote", 720, "1 Later.", mark="1", target="a")
    note.text = "Later."
    found = units(truth([first, note], [rest]))
    assert [(unit.label, unit.text, unit.parts) for unit in found] == [
        ("text", "It was cut and went on.1", [(0, 0), (1, 0)]),
        ("footnote", "1 Later.", [(0, 1)]),
    ]
    assert found[1].target == 0


def test_rows_of_a_table_count_through_its_parts_without_the_repeated_header() -> None:
    def part(id_: str, rows: list[str], **more: object) -> Element:
        cells = [Cell(row=i, col=0, text=text, bbox=[0, 0, 1, 1]) for i, text in enumerate(rows)]
        table = Table(num_rows=len(rows), num_cols=1, ruling="full", cells=cells, repeated_header=bool(more))
        return Element(id=id_, label="table", bbox=[0, 0, 1, 1], table=table, **more)  # type: ignore[arg-type]

    [unit] = units(truth([part("a", ["Head", "1", "2"])], [part("b", ["Head", "3"], continues="a")]))
    assert [(cell.row, cell.text) for cell in unit.cells] == [(0, "Head"), (1, "1"), (2, "2"), (3, "3")]


def test_differences_that_do_not_count() -> None:
    assert plain("“a” — 1 ……… ☑ Ｂ") == plain('"a"-1B')


def test_headings_of_the_corpus_are_paired_in_order_and_levels_closed_up() -> None:
    assert paired(["A", "B", "C"], ["a", "x", "c"]) == [(0, 0), (2, 2)]
    assert closed_up([0, 2, 5, 2]) == [1, 2, 3, 2]
