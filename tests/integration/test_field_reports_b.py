"""Field reports B, on wrong or missing content: the input that shows the fault, and what is right, in what people get.

One embedded fleet parses all inputs. Where the others are: B3, B4, B5 in `layout_worker/test_trust_documents.py` (with B4, B9, B10, B12 on the
level of layouts in `test_reports.py`), B19 with a VL model in `vl_worker/test_fleet.py`, B20 in `vl_worker/test_faults.py` and
`unit/vl_worker/test_guards.py`; B13 and B17 in small in `unit/assembler/document/test_table_parts.py` and `unit/documents/test_docx_*.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import pytest_asyncio
from rapidfuzz.distance import LCSseq

from services.assembler.document.document import DocumentInput, compose_document
from services.assembler.document.page import PageInput, compose_page
from services.layout_worker.alone import Alone
from shared.contracts.document import Block, ParsedDocument
from shared.contracts.layout import ComposedPage, Inspection
from shared.contracts.options import Options
from shared.settings import Settings
from tests.support import report_pages as made
from tests.support.schema import assert_valid_document

pytestmark = [pytest.mark.integration, pytest.mark.slow]

FILES: dict[str, Callable[[], bytes]] = {
    "b1_damaged.pdf": made.damaged_page,
    "b1_failing.pdf": made.failing_page,
    "b6_two.pdf": lambda: made.columns_with_title(2)[0],
    "b6_three.pdf": lambda: made.columns_with_title(3)[0],
    "b7.png": made.vertical_page,
    "b9.pdf": made.rotated_pages,
    "b9_sideways.pdf": made.sideways_pages,
    "b9_turned.pdf": made.turned_texts,
    "b12.pdf": made.cropped_pages,
    "b13_repeated.pdf": made.long_table,
    "b13_once.pdf": lambda: made.long_table(repeated=False),
    "b14.pdf": made.running_heads,
    "b17.docx": made.tracked_changes,
    "b19_white.png": lambda: made.blank_pages()[0],
    "b19_dusty.png": lambda: made.blank_pages()[1],
}


class Parsed:
    """A document and its Markdown."""

    def __init__(self, folder: Path, name: str) -> None:
        self.document: ParsedDocument = assert_valid_document((folder / f"{name}.json").read_bytes())
        self.markdown = (folder / f"{name}.md").read_text()

    def on(self, page_no: int) -> list[Block]:
        return [b for b in self.document.blocks if b.prov[0].page_no == page_no]

    def text(self, page_no: int) -> str:
        return " ".join(" ".join(b.text.split()) for b in self.on(page_no) if b.content_layer == "body")


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Parsed]:
    folder = tmp_path_factory.mktemp("reports")
    for name, make in FILES.items():
        (folder / name).write_bytes(make())
    out = folder / "out"
    command = [sys.executable, "-m", "docfleet.cli.main", "parse", *(str(folder / name) for name in FILES)]
    env = {**os.environ, "DOCFLEET_LIMITS__MAX_PAGE_CHARACTERS": str(made.MOST_CHARACTERS)}
    done = subprocess.run(
        [*command, "-o", str(out), "--no-overlays"], capture_output=True, text=True, timeout=280, env=env, check=False
    )
    assert done.returncode == 1, f"one document lacks a page: {done.stdout} {done.stderr}"
    return lambda name: Parsed(out, name)


def test_b1_a_page_that_fails_is_listed_and_shifts_nobody(parsed: Callable[[str], Parsed]) -> None:
    found = parsed("b1_failing")
    assert found.document.status == "partial_success"
    assert [(page.page_no, page.status) for page in found.document.pages] == [
        (1, "ok"), (2, "failed"), (3, "ok"), (4, "ok"),
    ]  # fmt: skip
    assert [(error.page_no, error.code.value) for error in found.document.errors] == [(2, "resource_limit")]
    assert [found.text(number) for number in (1, 2, 3, 4)] == [
        "Text of page 1", "", "Text of page 3", "Text of page 4",
    ]  # fmt: skip


def test_b1_a_damaged_page_is_listed_with_what_is_left(parsed: Callable[[str], Parsed]) -> None:
    found = parsed("b1_damaged")
    assert [page.page_no for page in found.document.pages] == [1, 2, 3, 4]
    assert [found.text(number) for number in (1, 2, 3, 4)] == [f"Text of page {number}" for number in (1, 2, 3, 4)]


@pytest.mark.parametrize("columns", [2, 3])
def test_b6_columns_are_read_one_after_the_other_and_what_lies_across_cuts_them(
    parsed: Callable[[str], Parsed], columns: int
) -> None:
    found = parsed("b6_two" if columns == 2 else "b6_three")
    pieces = made.columns_with_title(columns)[1]
    body = [b for b in found.on(1) if b.content_layer == "body"]
    cut = next(i for i, b in enumerate(body) if b.table is not None or b.label == "picture")
    said = [" ".join(" ".join(b.text.split()) for b in part if b.table is None) for part in (body[:cut], body[cut:])]
    assert said[0] == "One title that goes over all of the columns " + " ".join(pieces[:columns])
    assert said[1].strip() == " ".join(pieces[columns:])


def test_b7_vertical_columns_go_from_right_to_left(parsed: Callable[[str], Parsed]) -> None:
    """The order is what the report is about; a small recogniser may take a kana or two for something else."""
    found = parsed("b7")
    said = "".join(found.text(1).split())
    assert LCSseq.normalized_similarity(said, "".join(made.VERTICAL)) >= 0.75
    assert said.index("文章") < said.index("複数") < said.index("分かれ")
    assert {b.writing_mode for b in found.on(1) if b.text} == {"vertical_rl"}


def test_b9_turned_pages_say_the_same_in_one_frame(parsed: Callable[[str], Parsed]) -> None:
    found = parsed("b9")
    pages = found.document.pages
    assert [page.rotation for page in pages] == [0, 90, 180, 270]
    assert [(page.width, page.height) for page in pages] == [(612.0, 792.0)] * 4
    first = [(b.label, b.text) for b in found.on(1)]
    assert " ".join(text for _, text in first) == " ".join(made.SENTENCES)
    for number in (2, 3, 4):
        assert [(b.label, b.text) for b in found.on(number)] == first, f"page {number}"
        for one, other in zip(found.on(number), found.on(1), strict=True):
            assert one.prov[0].bbox == pytest.approx(other.prov[0].bbox, abs=0.1)


@pytest.mark.parametrize("page_no", [1, 2, 3, 4])
def test_b9_text_on_its_side_is_read_along_its_lines(parsed: Callable[[str], Parsed], page_no: int) -> None:
    found = parsed("b9_sideways")
    size = (792.0, 612.0) if page_no in (2, 4) else (612.0, 792.0)
    page = found.document.pages[page_no - 1]
    assert (page.rotation, (page.width, page.height)) == (90 * (page_no - 1), size)
    assert found.text(page_no) == " ".join(made.SENTENCES)
    assert {b.angle for b in found.on(page_no)} == {90.0 * (page_no - 1)}


def test_b9_stamps_in_the_margins_are_read_along_their_lines(parsed: Callable[[str], Parsed]) -> None:
    blocks = parsed("b9_turned").on(1)
    assert [b.text for b in blocks if not b.angle] == list(made.BODY)
    assert {(b.text, b.angle, b.label) for b in blocks if b.angle} == {
        ("Received on the third of May", 270, "aside_text"),
        ("Copy number seven", 90, "aside_text"),
    }


def test_b9_a_paragraph_on_its_head_is_read_between_its_neighbours(parsed: Callable[[str], Parsed]) -> None:
    said = [(b.text, b.angle) for b in parsed("b9_turned").on(2)]
    assert said == [(made.BODY[0], 0), (made.TURNED, 180), (made.BODY[1], 0)]


@pytest.mark.parametrize(("page_no", "angle"), [(3, 315), (4, 45)])
def test_b9_a_watermark_across_the_page_is_a_block_of_its_own(
    parsed: Callable[[str], Parsed], page_no: int, angle: float
) -> None:
    said = [(b.text, b.angle, b.label) for b in parsed("b9_turned").on(page_no) if b.text]
    assert said == [(made.BODY[0], 0, "text"), (made.BODY[1], 0, "text"), (made.MARK, angle, "text")]


def test_b9_heads_on_their_side_are_in_their_cells(parsed: Callable[[str], Parsed]) -> None:
    (block,) = [b for b in parsed("b9_turned").on(5) if b.table is not None]
    rows = [["", *(head.replace("\n", " ") for head in made.SIDE_HEADS)]]
    rows += [[f"{row}-{column}" for column in range(4)] for row in range(3)]
    assert [line.split("\t") for line in block.text.split("\n")] == rows
    assert block.angle == 0


def test_b9_a_table_on_its_side_has_its_rows_and_its_caption(parsed: Callable[[str], Parsed]) -> None:
    blocks = parsed("b9_turned").on(6)
    (table,) = [b for b in blocks if b.table is not None]
    assert [line.split("\t") for line in table.text.split("\n")] == [made.TABLE_HEADER, *made.table_rows()[:8]]
    assert {b.angle for b in blocks} == {270}
    assert [b.text for b in blocks if b.id in table.caption_ids] == [
        "Table 3: The ships of the spring and where they lay"
    ]


def test_b12_the_page_is_what_is_left_of_the_crop(parsed: Callable[[str], Parsed]) -> None:
    found = parsed("b12")
    assert [(page.width, page.height) for page in found.document.pages] == [(500.0, 700.0), (500.0, 660.0)]
    assert found.text(1) == "Inside the crop of this page"
    assert [b.text for b in found.on(1) if b.content_layer == "background"] == ["Off to the upper left"]
    box = found.on(2)[0].prov[0].bbox
    assert found.text(2) == "Twice the size of others"
    assert box is not None
    assert box == pytest.approx([40, 40, 300, 66], abs=12)
    assert "upper left" not in found.markdown


@pytest.mark.parametrize("name", ["b13_repeated", "b13_once"])
def test_b13_a_table_over_two_pages_is_one(parsed: Callable[[str], Parsed], name: str) -> None:
    found = parsed(name)
    tables = [b for b in found.document.blocks if b.table is not None]
    assert len(tables) == 1
    (block,) = tables
    assert block.table is not None
    grid = [["" for _ in range(4)] for _ in range(block.table.num_rows)]
    for cell in block.table.cells:
        grid[cell.row][cell.col] = cell.text
    assert grid == [made.TABLE_HEADER, *made.table_rows()]
    assert [place.page_no for place in block.prov] == [1, 2]
    assert [(part.page_no, part.rows) for part in block.table.parts] == [(1, [0, 21]), (2, [21, 41])]
    assert [cell.text for cell in block.table.cells if cell.column_header] == made.TABLE_HEADER
    outside = " ".join(b.text for b in found.document.blocks if b.table is None)
    assert "ship 0" not in outside, "no table is its lines in the body too"
    assert found.markdown.count("ship 39") == 1
    assert "After the table" in found.markdown


def test_b14_running_heads_are_furniture_and_a_real_heading_stays(parsed: Callable[[str], Parsed]) -> None:
    found = parsed("b14")
    furniture = [b for b in found.document.blocks if b.content_layer == "furniture"]
    heads = [b.prov[0].page_no for b in furniture if "Quarterly report" in b.text]
    assert heads == [1, 2, 3, 4, 6, 7, 8, 9, 10]
    assert [b.text for b in furniture if b.text.startswith("Page ")] == [f"Page {n} of 10" for n in range(1, 11)]
    genuine = next(b for b in found.document.blocks if b.text == made.GENUINE)
    assert (genuine.content_layer, genuine.label in ("title", "section_header")) == ("body", True)
    assert made.GENUINE in found.markdown
    assert "Quarterly report" not in found.markdown
    assert "of 10" not in found.markdown


def test_b17_insertions_are_in_and_deletions_are_kept_apart(parsed: Callable[[str], Parsed]) -> None:
    found = parsed("b17")
    assert found.markdown == (
        "The crane costs nine hundred a day.\n\n| Pier | north |\n| --- | --- |\n\nNothing changed here.\n"
    )
    kept = [(b.text, b.reason) for b in found.document.blocks if b.content_layer == "invisible"]
    assert kept == [("eight hundred", "tracked deletion"), ("south", "tracked deletion")]


@pytest.mark.parametrize("name", ["b19_white", "b19_dusty"])
def test_b19_a_blank_page_has_no_text(parsed: Callable[[str], Parsed], name: str) -> None:
    found = parsed(name)
    assert [page.status for page in found.document.pages] == ["blank"]
    assert (found.document.status, found.document.blocks, found.markdown) == ("success", [], "")


# --- B2: slices ---------------------------------------------------------------------------------------------------------


@pytest_asyncio.fixture
async def composed(tmp_path: Path) -> tuple[Inspection, list[ComposedPage]]:
    """The pages of fifty, each by itself, as the fleet makes them."""
    path = tmp_path / "b2.pdf"
    path.write_bytes(made.numbered_pages())
    options = Options(layout="fast")
    async with Alone(Settings()) as alone:
        inspection = await alone.inspection(path, options)
        pages = []
        for number in range(1, len(inspection.pages) + 1):
            layout = (await alone.page(path, number, options))[0].layout
            given = PageInput(
                document_id="alone", generation=0, page_no=number, width=612.0, height=792.0, unit="pt", layout=layout
            )
            pages.append(compose_page(given))
    return inspection, pages


async def test_b2_every_slicing_gives_the_same_pages(composed: tuple[Inspection, list[ComposedPage]]) -> None:
    inspection, pages = composed
    whole, _ = compose_document(
        DocumentInput(inspection=inspection, selected="1-50", now=0.0, pipeline_version="test"), pages
    )
    assert [page.page_no for page in whole.pages] == list(range(1, 51))
    for number in range(1, 51):
        texts = [b.text for b in whole.blocks if b.prov[0].page_no == number]
        assert "".join(texts).count(f"PAGE-{number:02d}") == 3, f"page {number}"
        assert "".join(texts).count("PAGE-") == 3, f"page {number}"
    for size in (1, 7, 10, 32, 50):
        blocks: list[Block] = []
        for start in range(1, 51, size):
            chosen = f"{start}-{min(50, start + size - 1)}"
            given = DocumentInput(inspection=inspection, selected=chosen, now=0.0, pipeline_version="test")
            part, _ = compose_document(given, pages[start - 1 : start - 1 + size])
            assert [page.page_no for page in part.pages if page.status != "skipped"] == list(
                range(start, min(50, start + size - 1) + 1)
            )
            blocks += part.blocks
        assert [(b.id, b.text) for b in blocks] == [(b.id, b.text) for b in whole.blocks], f"slices of {size}"
