"""Dead letters sent again, and dropped.

What goes back is the document, not the record of a stage: its stored envelope at the generation after the one that died, once per document
however many letters it has. Only a record of `docs.incoming` whose document has no envelope goes back as the bytes it was.

The generation is the letter's plus one, never "the latest plus one": whoever sends the same letter twice (two people, a command that was
killed before its marks) asks for the same generation twice, and ids absorb it. A replay that dies again is a letter of that generation, and
the mark says so: it is not sent again unless somebody asks for exactly that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

from docfleet.deadletters import DeadLetters, Reader
from docfleet.sending import Sender
from shared.contracts.codec import decode, encode
from shared.contracts.errors import ErrorCode
from shared.contracts.layout import DoneMark
from shared.contracts.options import Priority
from shared.contracts.records import DocumentSubmitted
from shared.objects import keys
from shared.objects.store import ObjectStore, optional
from shared.streams import deadletter
from shared.streams.catalog import load
from shared.streams.deadletter import Letter, Mark

AT_ONCE = 32
"""Documents that are looked up together."""
CHUNK = 500
"""Letters that are sent before they are marked: what a command that is killed has sent without a mark."""

Action = Literal["envelope", "bytes", "with", "skip"]


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What is to become of one letter. `with`: its document goes by another letter of the same generation, and both are marked."""

    letter: Letter
    action: Action
    reason: str = ""
    """Why it is skipped, or with which letter it goes."""
    generation: int | None = None
    """The generation that is asked for."""
    envelope: DocumentSubmitted | None = None


async def decide(
    found: DeadLetters, letters: Sequence[Letter], store: ObjectStore, bucket: str, *, also_open: bool = False
) -> list[Decision]:
    """What a replay does with these letters, in their order. Changes nothing. Raises `Unavailable`.

    `also_open`: also documents whose generation has not ended; the new one ends it as `cancelled`.
    """
    first = _first_of_document(letters)
    decisions: list[Decision] = []
    for start in range(0, len(letters), AT_ONCE):
        batch = letters[start : start + AT_ONCE]
        decisions += await asyncio.gather(*(_decided(one, first, store, bucket, also_open) for one in batch))
    by_place = {decision.letter.place: decision for decision in decisions}
    return [_like_the_first(decision, by_place, first) for decision in decisions]


def send(
    decisions: Sequence[Decision],
    found: DeadLetters,
    reader: Reader,
    sender: Sender,
    priority: Priority = "bulk",
    told: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """Send what was decided on, and mark the letters; the number of documents and records that were sent. Raises `Unavailable`."""
    chosen = [decision for decision in decisions if decision.action != "skip"]
    sent = 0
    for start in range(0, len(chosen), CHUNK):
        chunk = chosen[start : start + CHUNK]
        for decision in chunk:
            if decision.action != "with" and decision.generation is not None:
                _mark(sender, _mark_of(decision, found, "replaying"))
        sender.flush()  # a submission without it could be sent again for ever: killed before its mark each time
        for decision in chunk:
            sent += _send(decision, found, reader, sender, priority)
        sender.flush()  # a mark without its submission would lose the document
        for decision in chunk:
            _mark(sender, _mark_of(decision, found, "replayed"))
        sender.flush()
        told(start + len(chunk), len(chosen))
    return sent


def drop(letters: Iterable[Letter], sender: Sender) -> int:
    """Mark letters as dropped; how many. They stay in the topic until its retention takes them. Raises `Unavailable`."""
    count = 0
    for letter in letters:
        _mark(sender, Mark(action="dropped", partition=letter.partition, offset=letter.offset))
        count += 1
    sender.flush()
    return count


def _first_of_document(letters: Iterable[Letter]) -> dict[str, Letter]:
    """The letter that each document goes by: the first one of its highest generation. A `conflict` is about somebody else's document."""
    first: dict[str, Letter] = {}
    for letter in letters:
        if letter.document_id is None or letter.code == ErrorCode.conflict:
            continue
        best = first.get(letter.document_id)
        if best is None or letter.generation > best.generation:
            first[letter.document_id] = letter
    return first


def _like_the_first(
    decision: Decision, by_place: dict[tuple[int, int], Decision], first: dict[str, Letter]
) -> Decision:
    """A letter that goes with another one is skipped where that one is."""
    if decision.action != "with":
        return decision
    other = by_place[first[decision.letter.document_id or ""].place]
    if other.action == "skip":
        return Decision(letter=decision.letter, action="skip", reason=other.reason)
    return msgspec.structs.replace(decision, generation=other.generation)


async def _decided(
    letter: Letter, first: dict[str, Letter], store: ObjectStore, bucket: str, also_open: bool
) -> Decision:
    if letter.code == ErrorCode.conflict:
        return _skip(letter, "its id belongs to another source; submit it under another id")
    if letter.document_id is None:
        return _as_bytes(letter, None)
    chosen = first[letter.document_id]
    if chosen is not letter:
        if chosen.generation > letter.generation:
            return _skip(letter, f"the document was parsed again since; see {chosen.name}")
        return Decision(letter=letter, action="with", reason=chosen.name)
    generation = letter.generation + 1
    stored = await optional(store, bucket, keys.done(letter.document_id))
    mark = decode(stored, DoneMark) if stored is not None else None
    if mark is not None and (reason := _settled(mark, letter)):
        return _skip(letter, reason)
    if await store.exists(bucket, keys.envelope(letter.document_id, generation)):
        return _skip(letter, f"generation {generation} is under way")
    ended = mark is not None and mark.generation >= letter.generation
    if not also_open and not ended and not await _rejected(letter, store, bucket):
        return _skip(letter, "the document has not ended yet; later, or --also-open")
    envelope = await optional(store, bucket, keys.envelope(letter.document_id, letter.generation))
    if envelope is None:
        return _as_bytes(letter, generation)
    submission = decode(envelope, DocumentSubmitted)
    return Decision(letter=letter, action="envelope", generation=generation, envelope=submission)


async def _rejected(letter: Letter, store: ObjectStore, bucket: str) -> bool:
    """Whether the document ended by this very letter: ingest did not take it, and told so before it wrote the letter."""
    if letter.topic not in deadletter.INTAKE or letter.document_id is None:
        return False
    return not await store.exists(bucket, keys.inspection(letter.document_id, letter.generation))


def _settled(mark: DoneMark, letter: Letter) -> str:
    """Why a document that ended is let be; empty where it is not."""
    if mark.removed:
        return "the document was purged or erased"
    if mark.generation > letter.generation:
        return f"generation {mark.generation} has ended since ({mark.status})"
    if mark.generation == letter.generation and mark.status == "cancelled":
        return "the document was cancelled"
    return ""


def _as_bytes(letter: Letter, generation: int | None) -> Decision:
    if letter.topic not in deadletter.INTAKE:
        return _skip(letter, "nothing is stored of its document")
    if letter.size is None:
        return _skip(letter, "the letter is without its value, and nothing is stored of its document")
    return Decision(letter=letter, action="bytes", generation=generation)


def _skip(letter: Letter, reason: str) -> Decision:
    return Decision(letter=letter, action="skip", reason=reason)


def _send(decision: Decision, found: DeadLetters, reader: Reader, sender: Sender, priority: Priority) -> int:
    letter = decision.letter
    count = str(found.replays(letter) + 1)
    if decision.action == "envelope":
        assert decision.envelope is not None
        again = msgspec.structs.replace(
            decision.envelope,
            document_id=letter.document_id,
            generation=decision.generation,
            priority=priority,
            deadline=None,
            not_before=None,
        )
        sender.send("docs.incoming", letter.document_id or "", again, extra={deadletter.REPLAYS: count})
    elif decision.action == "bytes":
        message = reader.message(letter)
        own = (deadletter.PREFIX, deadletter.REPLAYS, deadletter.REPLAY_GENERATION)
        head = [(name, text or b"") for name, text in message.headers() or [] if not name.startswith(own)]
        head.append((deadletter.REPLAYS, count.encode()))
        if decision.generation is not None:
            head.append((deadletter.REPLAY_GENERATION, str(decision.generation).encode()))
        topic = (load().bulk_of("docs.incoming") if priority == "bulk" else None) or "docs.incoming"
        sender.send_raw(topic, message.key(), message.value(), headers=head)
    else:
        return 0
    return 1


def _mark_of(decision: Decision, found: DeadLetters, action: Literal["replaying", "replayed"]) -> Mark:
    letter = decision.letter
    return Mark(
        action=action,
        partition=letter.partition,
        offset=letter.offset,
        document_id=letter.document_id,
        generation=decision.generation,
        replays=found.replays(letter) + 1,
    )


def _mark(sender: Sender, mark: Mark) -> None:
    """Behind the letter, in its partition, so that it outlives the letter."""
    head = [(deadletter.MARK, mark.action.encode()), ("content-type", b"application/json")]
    key = mark.document_id
    sender.send_raw(deadletter.TOPIC, key, encode(mark), headers=head, partition=mark.partition)
