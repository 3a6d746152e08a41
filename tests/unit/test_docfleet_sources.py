"""What a submission names, one after the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from docfleet.sources import Given, listed, named
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.records import SourceRef
from shared.objects.folder import FolderStore

pytestmark = pytest.mark.unit


@pytest.fixture
async def store(tmp_path: Path) -> FolderStore:
    store = FolderStore(tmp_path / "store")
    for key in ("2026-01/a.pdf", "2026-01/b.txt", "2026-02/deep/c.pdf", "2025-12/d.pdf"):
        await store.put("inbox", key, b"x")
    return store


async def names(store: FolderStore, *given: str) -> list[str]:
    return [one.name async for one in named(store, given)]


async def test_an_object_a_prefix_and_a_pattern(store: FolderStore) -> None:
    assert await names(store, "s3://inbox/nobody-looked") == ["s3://inbox/nobody-looked"]
    assert sorted(await names(store, "s3://inbox/2026-01/")) == ["s3://inbox/2026-01/a.pdf", "s3://inbox/2026-01/b.txt"]
    assert sorted(await names(store, "s3://inbox/2026-*.pdf")) == [
        "s3://inbox/2026-01/a.pdf",
        "s3://inbox/2026-02/deep/c.pdf",
    ]
    assert len(await names(store, "s3://inbox")) == 4
    (one,) = [one async for one in named(store, ["s3://inbox/2025-12/"])]
    stat = await store.stat("inbox", "2025-12/d.pdf")
    assert one.source == SourceRef(bucket="inbox", key="2025-12/d.pdf", etag=stat.etag, size=1)
    for wrong in ("s3://in*/x", "s3://"):
        with pytest.raises(DocfleetError):
            await names(store, wrong)


async def test_files_folders_and_patterns_of_this_machine(store: FolderStore, tmp_path: Path) -> None:
    folder = tmp_path / "scans"
    for name in ("b.pdf", "a/c.PNG", "a/note.txt", ".hidden/x.pdf"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")
    assert await names(store, str(folder)) == [f"{folder}/a/c.PNG", f"{folder}/b.pdf"]
    assert await names(store, f"{folder}/**/*.txt", f"{folder}/b.pdf") == [f"{folder}/a/note.txt", f"{folder}/b.pdf"]
    for gone in ("gone.pdf", "*.gone"):
        with pytest.raises(FileNotFoundError):
            await names(store, str(folder / gone))


def test_a_csv_list(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text(
        "\ufeffsource,document_id,tenant,pages,pictures,priority\n"
        's3://inbox/a.pdf,order-17,acme,"1-3,7",true,bulk\n'
        "scans/b c.pdf,,,,,\n",
        encoding="utf-8",
    )
    first, second = listed(path)
    assert first.source == SourceRef(bucket="inbox", key="a.pdf")
    assert first.fields == {
        "document_id": "order-17",
        "tenant": "acme",
        "priority": "bulk",
        "options": {"pages": "1-3,7", "pictures": True},
    }
    assert second == Given("scans/b c.pdf", tmp_path / "scans/b c.pdf")


def test_a_list_of_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "list.jsonl"
    path.write_text(
        '{"source":{"bucket":"inbox","key":"a b.pdf","version_id":"v1"},"options":{"vl":"off"},"ocr":"force"}\n\n{"source":"c.pdf"}\n'
    )
    first, second = listed(path)
    assert first.source == SourceRef(bucket="inbox", key="a b.pdf", version_id="v1")
    assert first.fields == {"options": {"vl": "off", "ocr": "force"}}
    assert second.source == tmp_path / "c.pdf"


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.csv", "source,pages\ns3://b/k,1\n,2\n", 3),
        ("a.csv", "source,shade\ns3://b/k,red\n", 2),
        ("a.csv", "source\ns3://b/k,2\n", 2),
        ("a.csv", "source,document_id\ns3://b/k,not an id\n", 2),
        ("a.csv", "source,vl\ns3://b/k,sometimes\n", 2),
        ("a.jsonl", '{"source":"s3://b/k"}\n{"source":"s3://b"}\n', 2),
        ("a.jsonl", '{"source":"s3://b/k"}\nnot json\n', 2),
        ("a.jsonl", "[]\n", 1),
        ("a.jsonl", '{"source":17}\n', 1),
    ],
)
def test_a_mistake_in_a_list_is_told_with_its_line(tmp_path: Path, name: str, text: str, line: int) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(DocfleetError, match=f"line {line}:") as told:
        list(listed(path))
    assert told.value.code is ErrorCode.invalid_message


@pytest.mark.parametrize("name", ["list.csv", "list.jsonl"])
def test_a_list_that_is_no_utf_8_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"source\n\xe9t\xe9.pdf\n")
    with pytest.raises(DocfleetError, match=rf"{name} is not UTF-8"):
        list(listed(tmp_path / name))


def test_a_value_or_a_line_beyond_all_measure_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text(f"source\na.pdf\n{'b' * 200_000}\n")
    with pytest.raises(DocfleetError, match="line 3"):
        list(listed(tmp_path / "list.csv"))
    (tmp_path / "list.jsonl").write_text('{"source": "a.pdf"}\n{"source": "b.pdf"}' + " " * 200_000 + "\n")
    found = listed(tmp_path / "list.jsonl")
    assert next(found).name == "a.pdf"
    with pytest.raises(DocfleetError, match="line 2: the line has more"):
        next(found)
