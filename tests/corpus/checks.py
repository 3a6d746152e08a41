"""What a corpus's manifest says of a file, against what was parsed of it. Every check has a value and a bound, and says which way is better.

The truth of DOCX files leaves out list numbers, notes, running headers and formulas (the corpus's README), so their text is scored by how
much of the truth is there in order, and headings are compared without the numbers that Word counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.lib import corpus, teds
from benchmarks.lib.corpus_text import best_part, judged_by, normal, score
from shared.contracts.document import Block, ParsedDocument

CODES = {
    "encrypted": {"encrypted"},
    "corrupt": {"corrupt"},
    "empty": {"empty_file"},
    "too-large": {"too_large", "resource_limit"},
    "unsupported": {"unsupported_type"},
}
"""The manifest's words for outcomes to error codes."""
FOLDERS = ("scans", "tables", "seals", "born_digital", "docx", "long", "hostile", "image_formats")
NATIVE = ("born_digital", "docx", "long")
OUT_OF_REACH = ("de_clauren", "gar_gbk")
"""Files whose text the corpus's README keeps out of averages: Fraktur, and a page that nowhere holds its characters."""
TEXT_ERROR = {True: 3.0, False: 8.0}
"""Per cent of the characters that may be wrong, in text of files that have their own, and in read text."""
TEXT_MISSING = {True: 1.0, False: 4.0}
"""Per cent of the characters that may be missing, in whatever order."""
PHRASE = {True: 100.0, False: 95.0}
"""Per cent of a phrase's characters that must stand together."""
TABLES = {True: 0.95, False: 0.8}
"""TEDS of tables, of DOCX and of pictures; 0.8 is the project's own target for pictures."""
HEADINGS = 0.97
"""F1 of headings with their levels; the project's own target."""
_WORD = re.compile(r"[^\W\d_]{2,}|[\u4e00-\u9fff]")
_COUNTED = re.compile(
    r"^(?:[(（\[]?[\w一二三四五六七八九十]{1,6}(?:[.．][\w]{1,4})*[.．、)）\]]?|第[\w一二三四五六七八九十]+[章节条])\s+"
)


class Check(NamedTuple):
    """One expectation of one file."""

    name: str
    """`folder/file: what`."""
    value: float
    bound: float
    more_is_better: bool
    found: str = ""
    """In words, for whoever looks at a failure."""

    @property
    def holds(self) -> bool:
        return self.value >= self.bound if self.more_is_better else self.value <= self.bound

    @property
    def contents(self) -> bool:
        """Whether it looks at what the document says, and not at how it ended and how many pages it has."""
        return not self.name.endswith((": outcome", ": pages"))

    def within(self, other: float) -> bool:
        """Whether the value is no worse than another."""
        return self.value >= other if self.more_is_better else self.value <= other

    @property
    def clearly(self) -> bool:
        """Whether it holds by so much that another machine's arithmetic does not change that."""
        room = (self.value - self.bound) if self.more_is_better else (self.bound - self.value)
        return self.holds and (room >= 0.02 * self.bound or self.value in (0.0, 1.0, 100.0))


def outcome(record: dict[str, Any]) -> str:
    """How a document ended: `ok`, or the code of its first error. `record`: its `docs.parsed` value."""
    if record["status"] in ("success", "partial_success"):
        return "ok"
    return str(record["errors"][0]["code"]) if record["errors"] else str(record["status"])


def checks(entry: corpus.Entry, ended: str, document: ParsedDocument | None) -> Iterator[Check]:
    """All that the manifest says of this file. `ended`: see `outcome`."""
    truth, name = entry.truth, f"{entry.folder}/{entry.path.name}"
    allowed = [str(truth.get("expected", "ok")), *truth.get("also_acceptable", [])]
    right = any(ended == "ok" if one == "ok" else ended in CODES[one] for one in allowed)
    yield _true(f"{name}: outcome", right, f"{ended}, expected {' or '.join(allowed)}")
    if document is None:
        return
    if (pages := truth.get("expected_pages")) is not None:
        yield _true(f"{name}: pages", len(document.pages) == pages, f"{len(document.pages)} pages of {pages}")
    body = "\n".join(corpus.pages(document)) if entry.folder != "docx" else _flow(document)
    native = entry.folder in NATIVE
    if "text" in truth and not entry.name.startswith(OUT_OF_REACH):
        yield from _texts(name, entry, document, native)
    for key in ("contains", "visible_text"):
        for number, phrase in enumerate(truth.get(key, []), 1):
            yield Check(f"{name}: {key} {number}", best_part(phrase, body), PHRASE[native], True, phrase)
    for number, phrase in enumerate(truth.get("invisible_text", []), 1):
        hidden = normal("".join(b.text for b in document.blocks if b.content_layer == "invisible"))
        apart = normal(phrase) in hidden and normal(phrase) not in normal(body)
        yield _true(f"{name}: invisible_text {number}", apart, phrase)
    if truth.get("text_empty"):
        yield _true(f"{name}: text_empty", not normal(body), body[:80])
    if "outline" in truth:
        yield _outline(name, json.loads(entry.read("outline")), document)
    if "headings" in truth:
        yield _headings(name, json.loads(entry.read("headings")), document)
    for number, heading in enumerate(truth.get("headings_list", []), 1):
        heads = [normal(b.text) for b in document.blocks if b.label in ("title", "section_header")]
        near = max((best_part(heading, one) for one in heads if len(one) <= 1.5 * len(normal(heading))), default=0.0)
        yield Check(f"{name}: headings_list {number}", near, 90.0, True, heading)
    for key in ("table_html", "tables_html"):
        if key in truth:
            found = [t for b in document.blocks if b.table is not None for t in teds.tables_in(b.table.html)]
            rated = teds.score(found, teds.tables_in(entry.read(key)))
            yield Check(f"{name}: {key}", rated.teds, TABLES[key == "tables_html"], True, f"{len(found)} tables")


def _true(name: str, value: bool, found: str) -> Check:
    return Check(name, float(value), 1.0, True, found)


def _texts(name: str, entry: corpus.Entry, document: ParsedDocument, native: bool) -> Iterator[Check]:
    """Whether the characters are there, and, where the truth has one order and all of the page, whether they are in it.

    Where the truth is a text layer's only the lines have to be whole, see `_broken_lines`.
    """
    if document.pages and document.pages[0].unit is None:
        rated = score(entry.read("text"), [_flow(document)], {})
        yield Check(f"{name}: text", 100 - rated.recall, TEXT_MISSING[True], False, f"{rated.characters} characters")
        return
    rated = score(entry.read("text"), corpus.pages(document), entry.truth)
    words = f"{rated.characters} characters, {rated.cer:.1f} % wrong in order"
    layer = "text layer" in entry.truth_by and native
    if layer or judged_by(entry.truth) == "recall":
        yield Check(f"{name}: words", 100 - rated.bag, TEXT_MISSING[native], False, words)
    if layer:
        broken = _broken_lines(entry.read("text"), normal("".join(corpus.pages(document))))
        yield Check(f"{name}: text", broken, TEXT_ERROR[native], False, f"lines; {words}")
    elif judged_by(entry.truth) == "cer":
        yield Check(f"{name}: text", rated.cer, TEXT_ERROR[native], False, f"{rated.characters} characters")


def _broken_lines(truth: str, found: str) -> float:
    """Per cent of the truth's characters in lines that do not stand as they are in the text.

    For truth out of a text layer: the words of its lines are right, the order of the lines is a reader's guess and that inside tables is no
    order at all (the corpus's README), so lines of fewer than three words do not count.
    """
    prose = [line for line in truth.splitlines() if len(_WORD.findall(line)) >= 3]
    lines = [normal(line).rstrip("-") for line in prose]  # a hyphen at a line's end is healed
    total = sum(len(line) for line in lines)
    return 100 * sum(len(line) for line in lines if line not in found) / max(1, total)


def _flow(document: ParsedDocument) -> str:
    """Body text of a document without places, in its order."""
    blocks = sorted(
        (b for b in document.blocks if b.content_layer == "body" and b.label != "picture"), key=lambda b: b.order
    )
    return "\n".join("\n".join(c.text for c in b.table.cells) if b.table is not None else b.text for b in blocks)


def _outline(name: str, truth: list[dict[str, Any]], document: ParsedDocument) -> Check:
    want = [(one["level"], normal(one["title"]), one["page"]) for one in truth]
    got = [(one.level, normal(one.title), one.page_no) for one in document.outline]
    return _true(
        f"{name}: outline", got == want, f"{sum(a == b for a, b in zip(got, want, strict=False))} of {len(want)}"
    )


def _headings(name: str, truth: list[dict[str, Any]], document: ParsedDocument) -> Check:
    heads: Sequence[Block] = [b for b in document.blocks if b.label in ("title", "section_header") and b.text]
    want = [(one["level"], normal(one["text"])) for one in truth]
    used = [False] * len(want)
    hits = 0
    for head in heads:
        forms = {normal(head.text), normal(_COUNTED.sub("", head.text)), normal(re.sub(r"\$[^$]*\$", "", head.text))}
        forms |= {normal(_COUNTED.sub("", re.sub(r"\$[^$]*\$", "", head.text)))}
        for index, (level, text) in enumerate(want):
            if not used[index] and level == head.level and text in forms:
                used[index] = True
                hits += 1
                break
    value = 2 * hits / (len(heads) + len(want)) if want else float(not heads)
    return Check(f"{name}: headings", value, HEADINGS, True, f"{hits} of {len(want)}, {len(heads)} found")


def all_checks(folder: Path, results: Path, ended: dict[str, str]) -> list[Check]:
    """The checks of every file of a corpus. `results`: `docfleet parse -o`; `ended`: file name without ending to `outcome`."""
    found: list[Check] = []
    for entry in corpus.entries(folder, FOLDERS):
        found += checks(entry, ended.get(entry.path.stem, "no record"), corpus.parsed(results, entry))
    return found
