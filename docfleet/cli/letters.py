"""How a dead letter, and what a replay does with it, is shown: as a line, and as plain data for `--json`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docfleet.deadletters import DeadLetters
    from docfleet.replaying import Decision
    from shared.streams.deadletter import Letter

SHOWN_BYTES = 2_000
"""Bytes of a record that is no JSON which are shown."""


def plain(letter: Letter, found: DeadLetters) -> dict[str, Any]:
    """A letter as plain data. Times are RFC 3339, `bytes` is null where the letter is without its value."""
    return {
        "letter": letter.name,
        "died_at": _time(letter),
        "topic": letter.topic,
        "group": letter.group,
        "code": letter.code,
        "message": letter.message,
        "attempts": letter.attempts,
        "document_id": letter.document_id,
        "generation": letter.generation if letter.document_id else None,
        "page_no": letter.page_no,
        "bytes": letter.size,
        "state": found.state(letter),
        "replays": found.replays(letter),
        "sent_as_generation": found.generation(letter),
    }


def line(letter: Letter, found: DeadLetters) -> str:
    """A letter in one line."""
    document = f"{letter.document_id} generation {letter.generation}" if letter.document_id else "-"
    page = f" page {letter.page_no}" if letter.page_no is not None else ""
    state: str = found.state(letter)
    if (count := found.replays(letter)) > 0:
        state += f", failed again after {count} replay{'s' if count > 1 else ''}"
    return f"{letter.name}  {_time(letter)}  {letter.topic}  {letter.code}  {document}{page}  {state}  {letter.message}"


def decided(decision: Decision) -> dict[str, Any]:
    """A decision as plain data. `action` is `envelope`, `bytes`, `with` (its document goes by another letter) or `skip`."""
    letter = decision.letter
    return {
        "letter": letter.name,
        "code": letter.code,
        "topic": letter.topic,
        "document_id": letter.document_id,
        "generation": decision.generation,
        "action": decision.action,
        "reason": decision.reason,
    }


def told(plain: dict[str, Any]) -> str:
    """A decision in one line."""
    if plain["action"] == "skip":
        what = f"skipped: {plain['reason']}"
    elif plain["action"] == "with":
        what = f"goes with {plain['reason']}"
    else:
        what = "the record as it was" if plain["action"] == "bytes" else "the stored submission"
        what += f" at generation {plain['generation']}" if plain["generation"] is not None else ""
    return f"{plain['letter']}  {plain['topic']}  {plain['code']}  {plain['document_id'] or '-'}  {what}"


def as_json(plain: dict[str, Any]) -> str:
    """Plain data in one line."""
    return json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def readable(value: bytes | None) -> str:
    """A record as text: JSON over several lines, else its beginning."""
    if value is None:
        return "(the record had no value, or the letter had to go without it)"
    try:
        return json.dumps(json.loads(value), indent=1, ensure_ascii=False)
    except ValueError:
        return f"{len(value)} bytes, no JSON: {value[:SHOWN_BYTES]!r}"


def _time(letter: Letter) -> str:
    return datetime.fromtimestamp(letter.died_at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
