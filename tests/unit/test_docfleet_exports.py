"""`docfleet export`: where results go, what is needed, and what is told when it is not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.testing import CliRunner

from docfleet import exports
from docfleet.cli.export import To
from docfleet.cli.main import app
from docfleet.exporters import FORMATS, Name
from docfleet.exporters.chunks import MAX_CHARS, MIN_CHARS
from shared.contracts.codec import encode
from shared.contracts.errors import DocfleetError
from shared.settings import Limits
from tests.support.parsed import block, document, everything, page

pytestmark = pytest.mark.unit
WITHOUT_SOURCE = [name for name in FORMATS if not FORMATS[name].source]


@pytest.fixture
def parsed(tmp_path: Path) -> Path:
    """A parsed document on disk, its Markdown beside it, and no source."""
    document, markdown = everything()
    (tmp_path / "report.md").write_text(markdown)
    path = tmp_path / "report.json"
    path.write_bytes(encode(document))
    return path


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["export", *map(str, arguments)])


def test_formats_are_named_in_one_way() -> None:
    assert set(FORMATS) == set(get_args(Name)) == {one.value for one in To}
    assert len({form.suffix for form in FORMATS.values()}) == len(FORMATS)


def test_all_formats_at_once_beside_the_document(parsed: Path) -> None:
    done = run(parsed, *(part for name in WITHOUT_SOURCE for part in ("--to", name)))
    assert done.exit_code == 0, done.output
    names = {f"report{FORMATS[name].suffix}" for name in WITHOUT_SOURCE}
    assert {path.name for path in parsed.parent.iterdir()} == names | {"report.json", "report.md"}
    assert "drawn as empty sheets" in done.stderr
    assert json.loads((parsed.parent / "report.docling.json").read_bytes())["schema_name"] == "DoclingDocument"
    pieces = (parsed.parent / "report.chunks.jsonl").read_text().splitlines()
    assert [json.loads(piece)["index"] for piece in pieces] == list(range(len(pieces)))


def test_exports_among_many_files_are_passed_over(parsed: Path) -> None:
    other = parsed.with_name("other.json")
    other.write_bytes(parsed.read_bytes())
    for _ in range(2):
        done = run(*sorted(parsed.parent.glob("*.json")), "--to", "docling", "--to", "elements")
        assert (done.exit_code, len(done.stdout.splitlines())) == (0, 4), done.output


def test_the_same_document_gives_the_same_bytes(parsed: Path) -> None:
    given = exports.Given(exports.read(parsed), markdown=parsed.with_suffix(".md"))
    for name in WITHOUT_SOURCE:
        assert exports.export(given, name, Limits()) == exports.export(given, name, Limits()), name


def test_a_file_or_a_folder_may_be_named(parsed: Path, tmp_path: Path) -> None:
    assert run(parsed, "--to", "alto", "-o", tmp_path / "x" / "named.xml").exit_code == 0
    assert (tmp_path / "x" / "named.xml").is_file()
    assert run(parsed, "--to", "alto", "--to", "hocr", "-o", tmp_path / "folder").exit_code == 0
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == ["report.alto.xml", "report.hocr"]


def test_the_bound_of_pieces_is_an_option(parsed: Path) -> None:
    assert MIN_CHARS == 50
    assert run(parsed, "--to", "chunks", "--chunk-chars", MAX_CHARS).exit_code == 0
    many = run(parsed, "--to", "chunks", "--chunk-chars", 60, "-o", parsed.with_name("small.jsonl"))
    assert many.exit_code == 0
    count = [len(parsed.with_name(name).read_text().splitlines()) for name in ("report.chunks.jsonl", "small.jsonl")]
    assert count[0] < count[1]
    assert run(parsed, "--to", "chunks", "--chunk-chars", MIN_CHARS - 1).exit_code == 2


def test_what_is_missing_is_told(parsed: Path) -> None:
    done = run(parsed, "--to", "pdf")
    assert (done.exit_code, done.stderr) == (
        2,
        "docfleet: pdf needs the file that was parsed: --source sample.pdf\n",
    )
    parsed.with_suffix(".md").unlink()
    done = run(parsed, "--to", "chunks")
    assert (done.exit_code, done.stderr) == (
        2,
        "docfleet: chunks needs the Markdown of the document: --markdown report.md\n",
    )


def test_another_file_is_no_source(parsed: Path) -> None:
    other = parsed.with_name("sample.pdf")
    other.write_bytes(b"%PDF-1.7 of something else")
    with pytest.raises(DocfleetError, match="not the file that was parsed"):
        exports.checked_source(exports.read(parsed), other)
    done = run(parsed, "--to", "html", "--source", other)
    assert done.exit_code == 2
    assert "source_changed" in done.stderr


def test_a_source_is_looked_for_beside_the_document_only(parsed: Path) -> None:
    document = exports.read(parsed)
    assert exports.beside(parsed, document) is None
    parsed.with_name("sample.pdf").write_bytes(b"x")
    assert exports.beside(parsed, document) == parsed.with_name("sample.pdf")


async def test_beside_a_parse_what_cannot_be_made_is_told_and_the_rest_is_there(tmp_path: Path) -> None:
    flow, markdown = document([block(0, "text", "words")], [page(1, unit=None, width=0.0, height=0.0)])
    (tmp_path / "flow.json").write_bytes(encode(flow))
    (tmp_path / "flow.md").write_text(markdown)
    wanted: list[Name] = ["alto", "chunks", "hocr", "docling"]
    files, refused = await exports.written_beside(
        tmp_path / "flow.json", tmp_path / "flow.docx", wanted, Limits(), None
    )
    assert [file.name for file in files] == ["flow.chunks.jsonl", "flow.docling.json"]
    assert [line.split(":")[0] for line in refused] == ["alto", "hocr"]
    assert all("no places on pages" in line for line in refused)
