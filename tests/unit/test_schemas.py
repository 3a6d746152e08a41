"""The written schemas are those of the code, and each is a schema."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from shared.contracts import schemas

pytestmark = pytest.mark.unit
WRITTEN = Path(__file__).parents[2] / "docs" / "reference" / "schemas"


def test_every_written_schema_is_current() -> None:
    assert {file.stem for file in WRITTEN.glob("*.json")} == set(schemas.KINDS)
    stale = [kind for kind in schemas.KINDS if (WRITTEN / f"{kind}.json").read_bytes() != schemas.schema_bytes(kind)]
    assert not stale, f"run ./dev schemas: {stale}"


@pytest.mark.parametrize("kind", sorted(schemas.KINDS))
def test_a_schema_is_valid_in_its_dialect(kind: str) -> None:
    Draft202012Validator.check_schema(schemas.schema_of(kind))


def test_a_schema_refuses_what_the_type_refuses() -> None:
    page_task = {"type": "PageTask", "document_id": "d", "generation": 0, "page_no": 1, "task_id": "layout-g0-p00001"}
    validator = Draft202012Validator(schemas.schema_of("page_task"))
    assert validator.is_valid(page_task)
    assert not validator.is_valid({**page_task, "page_no": 0})
    assert not validator.is_valid({**page_task, "document_id": "with blank"})


def test_gone_kinds_are_removed(tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "gone.json").write_text("{}")
    files = schemas.write(tmp_path)
    assert len(files) == len(schemas.KINDS)
    assert not (tmp_path / "schemas" / "gone.json").exists()
