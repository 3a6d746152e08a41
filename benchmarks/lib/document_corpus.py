"""The document benchmark on the files of the corpus whose manifest knows headings, an outline, the text or parts of it: `--corpus`.

Per file: `found`, headings of the truth (`headings`, or the `outline` of a PDF) that are headings of the document, in the truth's order;
`levels`, those with the true level, after both are closed up (the outermost is 1, nothing is skipped), as files begin to count at 0 or 1;
`extra`, other headings of the document, which for an outline means little, as outlines need not be complete; `CER`, edits between the true
text and that of body and furniture over the true characters, in order, in per cent; `contains`, texts that must be there.
An outline of a PDF is known to docfleet too, so that its levels are no test of how levels are told without one.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path

from rapidfuzz.distance import Levenshtein

from benchmarks.lib import corpus
from benchmarks.lib.document_truth import HEADINGS, plain
from benchmarks.lib.machine import Report
from services.assembler.document.text import without_number
from shared.contracts.document import ParsedDocument

FOLDERS = ("born_digital", "scans", "docx", "long", "seals", "hostile")
KNOWN = frozenset({"headings", "outline", "text", "contains"})
LONGEST = 400_000
"""Characters of a text up to which edits are counted, which takes time in the square of them."""


def measure(report: Report, folder: Path = corpus.FOLDER, results: Path | None = None, *, quick: bool = False) -> bool:
    """The table; false when a file has no result. `results`: documents parsed before."""
    entries = [entry for entry in corpus.entries(folder, FOLDERS) if KNOWN & set(entry.truth)]
    if not entries:
        report.say(f"skipped: there is no corpus at {folder}")
        return True
    entries = entries[::8] if quick else entries
    with tempfile.TemporaryDirectory() as scratch:
        out = results or Path(scratch)
        if results is None:
            corpus.parse([entry.path for entry in entries], out)
        report.say(f"{'':36}{'found':>10}{'levels':>9}{'extra':>7}{'CER %':>8}{'contains':>10}")
        rows = [(entry, corpus.parsed(out, entry)) for entry in entries]
        for entry, document in rows:
            report.say(
                row(entry, document) if document is not None else f"{entry.folder + '/' + entry.name:36} no result"
            )
    return all(document is not None for _, document in rows)


def row(entry: corpus.Entry, document: ParsedDocument) -> str:
    """A file in the table."""
    found = levels = extra = cer = contains = "-"
    true = _true_headings(entry)
    if true:
        got = [(block.text, block.level or 0) for block in document.blocks if block.label in HEADINGS and block.text]
        pairs = paired([text for text, _ in true], [text for text, _ in got])
        wanted, own = closed_up([true[i][1] for i, _ in pairs]), closed_up([got[j][1] for _, j in pairs])
        found = f"{len(pairs)}/{len(true)}"
        levels = f"{sum(a == b for a, b in zip(wanted, own, strict=True))}/{len(pairs)}"
        extra = str(len(got) - len(pairs))
    if "text" in entry.truth:
        text, mine = plain(entry.read("text")), plain("\n".join(corpus.pages(document)))
        cer = (
            f"{100 * Levenshtein.distance(text, mine) / max(1, len(text)):.2f}" if len(text) <= LONGEST else "too long"
        )
    if "contains" in entry.truth:
        mine = plain("\n".join(block.text for block in document.blocks))
        parts = [plain(part) for part in entry.truth["contains"]]
        contains = f"{sum(part in mine for part in parts)}/{len(parts)}"
    return f"{entry.folder + '/' + entry.name:36}{found:>10}{levels:>9}{extra:>7}{cer:>8}{contains:>10}"


def _true_headings(entry: corpus.Entry) -> list[tuple[str, int]]:
    key = next((key for key in ("headings", "outline") if key in entry.truth), None)
    if key is None:
        return []
    return [(one.get("text") or one.get("title") or "", one["level"]) for one in json.loads(entry.read(key))]


def paired(true: Sequence[str], found: Sequence[str]) -> list[tuple[int, int]]:
    """Indices of the texts that both have, with or without the number that is printed with them, in the order of both."""
    a, b = ([plain(without_number(text)).casefold() for text in texts] for texts in (true, found))
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    return [(block.a + k, block.b + k) for block in blocks for k in range(block.size)]


def closed_up(levels: Sequence[int]) -> list[int]:
    """Levels as ranks from 1."""
    rank = {level: place for place, level in enumerate(sorted(set(levels)), 1)}
    return [rank[level] for level in levels]
