"""What became of a document, and the exit code that says it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from docfleet.inputs import Input
from shared.contracts.errors import DocfleetError, Phase
from shared.contracts.records import DocumentParsed, SourceInfo, Status


@dataclass
class Outcome:
    """What became of one input. `notes` is for people; `seconds` from its submission to its files; `unwritten` when these could not be written."""

    input: Input
    parsed: DocumentParsed
    files: list[Path] = field(default_factory=list)
    overlays: int = 0
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    unwritten: bool = False


def severity(status: Status) -> int:
    """Exit code of one document: 0 success, 1 something is missing in it, 2 there is no result."""
    return {"success": 0, "partial_success": 1, "failure": 2, "cancelled": 2}[status]


def not_taken(given: Input, error: DocfleetError) -> Outcome:
    """Of a file that could not be submitted: with the record that a rejected document has, which nobody published."""
    source = SourceInfo(bucket="-", key=given.path.name)
    info = error.info(Phase.ingest)
    return Outcome(given, DocumentParsed(document_id="-", generation=0, status="failure", source=source, errors=[info]))


def exit_code(outcomes: Iterable[Outcome]) -> int:
    """The worst of all."""
    return max((2 if one.unwritten else severity(one.parsed.status) for one in outcomes), default=0)
