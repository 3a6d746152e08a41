"""Every hostile and odd file of the corpus, twice, through a document child with the default limits: it ends as the manifest says, in time and
in memory, while ordinary documents are read in between.

The corpus is no part of the repository; it is looked for beside the checkout (`../shared/corpus`, or DOCFLEET_CORPUS).
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path

import pytest

from shared.contracts.errors import DocfleetError
from shared.documents.opener import Documents
from shared.settings import Limits
from tests.support.pdfs import contents
from tests.support.reading import read_all

pytestmark = [pytest.mark.integration, pytest.mark.slow]
CORPUS = Path(os.environ.get("DOCFLEET_CORPUS") or Path(__file__).parents[3] / "shared" / "corpus")
WORDS = {
    "too_large": "too-large",
    "resource_limit": "too-large",
    "unsupported_type": "unsupported",
    "empty_file": "empty",
}
"""The manifest's words for our codes; others are the same."""
SECONDS, BYTES = 60, 10**9


def files() -> list[dict]:
    manifest = CORPUS / "manifest.json"
    if not manifest.exists():
        pytest.skip(f"there is no corpus at {CORPUS}; DOCFLEET_CORPUS names its folder")
    entries = json.loads(manifest.read_text())
    return [entry for entry in entries if entry["file"].startswith(("hostile/", "image_formats/"))]


async def outcome(documents: Documents, path: Path, pages: int | None) -> str:
    """What the manifest would call it: `ok` when it opens with that many pages and one of them at least can be read."""
    try:
        counted, _ = await read_all(documents, path, path.name, picture="always")
        assert pages is None or counted == pages, f"{counted} pages"
        return "ok"
    except DocfleetError as error:
        return WORDS.get(error.code, error.code)


def peak_bytes(pid: int | None) -> int:
    """Most memory that a process had resident so far."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")


async def test_every_file_ends_as_the_manifest_says(tmp_path: Path) -> None:
    documents = Documents(Limits())
    good = tmp_path / "good.pdf"
    good.write_bytes(contents(["still reading"]))
    wrong: dict[str, str] = {}
    seen = 0
    try:
        for _ in range(2):
            for entry in files():
                truth = entry["truth"]
                allowed = {truth["expected"], *truth.get("also_acceptable", [])}
                began = time.monotonic()
                got, ordinary = await asyncio.gather(
                    outcome(documents, CORPUS / entry["file"], truth.get("expected_pages")), outcome(documents, good, 1)
                )
                seen += 1
                if got not in allowed:
                    wrong[entry["file"]] = f"{got}, not {sorted(allowed)}"
                assert ordinary == "ok", entry["file"]
                assert time.monotonic() - began < SECONDS, entry["file"]
                assert peak_bytes(documents.pid) < BYTES, entry["file"]
    finally:
        await documents.close()
    assert seen == 2 * 36
    assert wrong == {}
