"""Damaged files through a document child: every one ends with pages or a typed error, and this process lives.

DOCFLEET_FUZZ says how many (100 without it; 2,000 before a release), DOCFLEET_FUZZ_SEED where the seeds begin. A child may die of a file: that
is what it is for, it is counted, and the seed is named so that it can be put into `seeds.txt`, whose lines (file, seed) are always run.
"""

from __future__ import annotations

import os
import random
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.children.errors import ChildDied, ChildStalled
from shared.contracts.errors import DocfleetError, Unavailable
from shared.documents.opener import Documents
from shared.settings import Limits
from tests.fuzz.mutations import mutated
from tests.support.reading import read_all

pytestmark = [pytest.mark.integration, pytest.mark.fuzz, pytest.mark.timeout(3_600)]
ROOT = Path(__file__).parents[2]
CORPUS = Path(os.environ.get("DOCFLEET_CORPUS") or ROOT.parent / "shared" / "corpus")
COUNT = int(os.environ.get("DOCFLEET_FUZZ", "100"))
FIRST = int(os.environ.get("DOCFLEET_FUZZ_SEED", "0"))
SMALL = 60_000
"""Bytes of a file worth damaging: in a large one most damage hits pixels."""
PAGE_S = 10.0
DEATHS = 0.01
"""Share of files of which a child may die or stall."""


def originals() -> list[Path]:
    """Small files of the corpus, where it is, and of the samples."""
    places = [CORPUS / name for name in ("hostile", "image_formats", "born_digital", "docx")] + [ROOT / "samples"]
    kinds = {".pdf", ".png", ".jpg", ".tif", ".tiff", ".webp", ".gif", ".avif", ".docx"}
    found = [p for place in places if place.is_dir() for p in sorted(place.iterdir()) if p.suffix.lower() in kinds]
    return [path for path in found if 0 < path.stat().st_size <= SMALL]


def chosen(files: list[Path]) -> Iterator[tuple[Path, int]]:
    by_name = {path.name: path for path in files}
    for line in Path(__file__).with_name("seeds.txt").read_text().splitlines():
        name, _, seed = line.partition(" ")
        if name in by_name:
            yield by_name[name], int(seed)
    for seed in range(FIRST, FIRST + COUNT):
        yield random.Random(seed).choice(files), seed


async def outcome(documents: Documents, path: Path, name: str) -> str:
    try:
        await read_all(documents, path, name, at_most=3)
        return "ok"
    except DocfleetError as error:
        return str(error.code)
    except (ChildDied, ChildStalled) as death:
        return type(death).__name__


async def test_every_damaged_file_ends(tmp_path: Path) -> None:
    files = originals()
    documents = Documents(Limits(page_timeout_s=PAGE_S, child_memory_bytes=2**30))
    outcomes: Counter[str] = Counter()
    deadly: list[str] = []
    path = tmp_path / "damaged"
    try:
        for original, seed in chosen(files):
            path.unlink(missing_ok=True)  # another inode: a child that keeps it open must not see it change
            path.write_bytes(mutated(original.read_bytes(), seed))
            try:
                got = await outcome(documents, path, original.name)
            except Unavailable:
                raise
            except Exception as bug:
                raise AssertionError(f"{original.name} {seed}: {type(bug).__name__}: {bug}") from bug
            outcomes[got] += 1
            if got in ("ChildDied", "ChildStalled"):
                deadly.append(f"{original.name} {seed}")
        assert await outcome(documents, ROOT / "samples" / "page.pdf", "page.pdf") == "ok"
    finally:
        await documents.close()
    print(f"{outcomes.total()} damaged files: {dict(outcomes.most_common())}")
    if deadly:
        warnings.warn(f"children died of: {'; '.join(deadly)}", stacklevel=1)
    assert len(deadly) <= max(1, DEATHS * outcomes.total()), deadly
    assert outcomes["internal"] == 0
    # Without the corpus there are three PDF files, which only end well or are corrupt.
    assert len(outcomes) > (2 if len(files) > 3 else 1)
