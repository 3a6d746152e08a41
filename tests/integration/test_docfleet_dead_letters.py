"""Dead letters read, decided on, sent again and dropped: the in-process broker, a folder store, the ingest stage itself."""

from __future__ import annotations

import io
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from typer.testing import CliRunner

from docfleet import replaying
from docfleet.cli.main import app
from docfleet.deadletters import DeadLetters, Reader, Wanted
from docfleet.replaying import Decision
from docfleet.sending import Sender
from services.ingest.service import Ingest
from shared.children.preference import in_lane
from shared.contracts.codec import decode, encode
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.layout import DoneMark
from shared.contracts.records import DocumentOpened, DocumentRejected, DocumentSubmitted, Status
from shared.objects import keys
from shared.objects.folder import FolderStore
from shared.settings import Settings
from shared.streams import deadletter
from shared.streams.deadletter import Mark
from shared.streams.local import LocalBroker
from tests.support import topic
from tests.support.deliveries import delivered
from tests.support.ending import end

pytestmark = pytest.mark.integration
BUCKET, IN = "docfleet", "in"


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    with LocalBroker() as broker:
        yield Settings(
            kafka={"embedded": True, "bootstrap_servers": broker.bootstrap_servers},  # type: ignore[arg-type]
            objects={"kind": "folder", "folder": tmp_path / "objects"},  # type: ignore[arg-type]
        )


@pytest.fixture
async def ingest(settings: Settings) -> AsyncIterator[Ingest]:
    stage = Ingest(settings)
    await stage.start()
    yield stage
    await stage.stop()


@pytest.fixture
def store(settings: Settings) -> FolderStore:
    return FolderStore(settings.objects.folder)


class Deaths:
    """Writes dead letters as a stage does; each partition by hand, so that their names are known."""

    def __init__(self, settings: Settings) -> None:
        self._writer = topic.Writer(settings.kafka.bootstrap_servers)

    def write(
        self,
        source: str,
        value: bytes | None,
        code: ErrorCode = ErrorCode.crashed,
        document: tuple[str, int] | None = None,
        key: bytes = b"k",
        original: Any = None,
    ) -> None:
        head = deadletter.headers(
            original,
            topic=source,
            partition=0,
            offset=0,
            timestamp_ms=1,
            group="g",
            code=code,
            message="why",
            document=document,
        )
        self._writer.write("docs.dlq", value, key, head, partition=0)
        self._writer.flush()

    def page(
        self, document_id: str, page_no: int = 1, generation: int = 0, code: ErrorCode = ErrorCode.crashed
    ) -> None:
        value = encode({"type": "PageTask", "document_id": document_id, "generation": generation, "page_no": page_no})
        self.write("docs.pages", value, code)


@pytest.fixture
def deaths(settings: Settings) -> Deaths:
    return Deaths(settings)


def read(settings: Settings, wanted: Wanted | None = None) -> DeadLetters:
    with Reader(settings) as reader:
        return reader.read(wanted or Wanted())


async def decided(settings: Settings, store: FolderStore, **options: Any) -> list[Decision]:
    found = read(settings)
    return await replaying.decide(found, found.select(["open"], False), store, BUCKET, **options)


def sent(settings: Settings, decisions: list[Decision]) -> int:
    with Reader(settings) as reader, Sender(settings, "test") as sender:
        return replaying.send(decisions, reader.read(Wanted()), reader, sender)


async def ended(
    store: FolderStore, name: str, status: Status = "partial_success", generation: int = 0, **kept: Any
) -> None:
    """A document that was taken and has ended."""
    envelope = {"document_id": name, "generation": generation, "source": {"bucket": IN, "key": name}}
    await store.put(BUCKET, keys.envelope(name, generation), encode(envelope | kept))
    mark = DoneMark(document_id=name, generation=generation, status=status)
    await store.put(BUCKET, keys.done(name), encode(mark))


async def test_a_document_goes_once_however_many_letters_it_has(settings, store, deaths) -> None:
    await ended(store, "d", deadline="2026-01-01T00:00:00Z", tenant="t", priority="interactive")
    for page_no in (1, 2, 3):
        deaths.page("d", page_no)
    plan = await decided(settings, store)
    assert [(one.action, one.generation, one.reason) for one in plan] == [
        ("envelope", 1, ""),
        ("with", 1, "0:0"),
        ("with", 1, "0:0"),
    ]
    assert states(settings) == ["open"] * 3
    assert sent(settings, plan) == 1
    (record,) = topic.read(settings.kafka.bootstrap_servers, "docs.incoming.bulk", quiet_s=0.5)
    again = decode(record.value(), DocumentSubmitted)
    assert (again.document_id, again.generation, again.tenant, again.deadline) == ("d", 1, "t", None)
    assert record.key() == b"d"
    assert dict(record.headers())["replay.count"] == b"1"
    assert states(settings) == ["replayed"] * 3
    assert await decided(settings, store) == []


def states(settings: Settings) -> list[str]:
    found = read(settings)
    return [found.state(letter) for letter in found.letters]


async def test_what_is_let_be_and_why(settings, store, deaths) -> None:
    await ended(store, "since", generation=1)
    await ended(store, "cancelled", "cancelled")
    await ended(store, "again")
    await store.put(BUCKET, keys.envelope("again", 1), b"{}")
    mark = DoneMark(document_id="gone", generation=0, status="success", removed=True)
    await store.put(BUCKET, keys.done("gone"), encode(mark))
    await store.put(BUCKET, keys.envelope("open", 0), b"{}")
    await ended(store, "other")
    for name in ("since", "cancelled", "again", "gone", "open", "unknown"):
        deaths.page(name)
    deaths.write("docs.incoming", b'{"document_id":"other"}', ErrorCode.conflict)
    deaths.write("docs.incoming", None, ErrorCode.invalid_message)
    deaths.page("late", generation=0)
    deaths.page("late", generation=1)
    plan = await decided(settings, store)
    assert {one.action for one in plan} == {"skip"}
    reasons = {one.letter.offset: one.reason for one in plan}
    for offset, said in enumerate(
        [
            "generation 1 has ended since",
            "cancelled",
            "generation 1 is under way",
            "purged or erased",
            "not ended yet",
            "not ended yet",
            "another source",
            "without its value",
            "parsed again since; see 0:9",
            "not ended yet",
        ]
    ):
        assert said in reasons[offset]
    assert sent(settings, plan) == 0


async def test_a_conflict_does_not_hold_back_the_document_whose_id_it_wanted(settings, store, deaths) -> None:
    await ended(store, "d")
    deaths.write("docs.incoming", b'{"document_id":"d"}', ErrorCode.conflict)
    deaths.page("d")
    assert [one.action for one in await decided(settings, store)] == ["skip", "envelope"]


async def test_a_document_that_has_not_ended_goes_when_that_is_asked_for(settings, store, deaths) -> None:
    envelope = {"document_id": "open", "source": {"bucket": IN, "key": "open"}}
    await store.put(BUCKET, keys.envelope("open", 0), encode(envelope))
    deaths.page("open")
    deaths.page("nothing-stored")
    plan = await decided(settings, store, also_open=True)
    assert [(one.action, one.generation) for one in plan] == [("envelope", 1), ("skip", None)]
    assert "nothing is stored" in plan[1].reason


async def test_what_failed_again_is_marked_and_goes_only_when_asked_for(settings, store, deaths) -> None:
    await ended(store, "d")
    deaths.page("d")
    sent(settings, await decided(settings, store))
    await ended(store, "d", generation=1)
    deaths.page("d", generation=1)
    found = read(settings)
    (letter,) = found.select(["open"])
    assert (letter.generation, found.replays(letter)) == (1, 1)
    assert await decided(settings, store) == []
    with Reader(settings) as reader, Sender(settings, "test") as sender:
        plan = await replaying.decide(found, [letter], store, BUCKET)
        assert replaying.send(plan, found, reader, sender) == 1
    await ended(store, "d", generation=2)
    deaths.page("d", generation=2)
    found = read(settings)
    (letter,) = found.select(["open"], again=True)
    assert (letter.generation, found.replays(letter)) == (2, 2)


async def test_a_replay_whose_command_was_killed_before_its_marks_is_a_replay_all_the_same(
    settings, store, deaths, monkeypatch
) -> None:
    """Killed each time between sending and marking, a command would send the same document for ever: each death looked like a first one."""
    await ended(store, "d")
    deaths.page("d")
    plan = await decided(settings, store)
    with monkeypatch.context() as killed:
        killed.setattr(replaying, "_mark", _killed)
        with pytest.raises(KeyboardInterrupt):
            sent(settings, plan)
    assert len(topic.read(settings.kafka.bootstrap_servers, "docs.incoming.bulk", quiet_s=0.5)) == 1
    assert states(settings) == ["open"]

    await ended(store, "d", generation=1)
    deaths.page("d", generation=1)
    found = read(settings)
    (again,) = found.select(["open"], again=True)
    assert (again.generation, found.replays(again)) == (1, 1)
    (first,) = await decided(settings, store)
    assert (first.action, first.letter.generation) == ("skip", 0), "the document was parsed again since"


async def test_a_command_that_was_killed_before_its_marks_asks_for_the_same_again(
    settings, store, deaths, monkeypatch
) -> None:
    await ended(store, "d")
    deaths.page("d")
    with monkeypatch.context() as killed:
        killed.setattr(replaying, "_mark", _killed)
        with pytest.raises(KeyboardInterrupt):
            sent(settings, await decided(settings, store))
    assert states(settings) == ["open"]
    assert sent(settings, await decided(settings, store)) == 1
    assert states(settings) == ["replayed"]
    both = topic.read(settings.kafka.bootstrap_servers, "docs.incoming.bulk", 2)
    assert both[0].value() == both[1].value()
    assert {decode(record.value(), DocumentSubmitted).generation for record in both} == {1}


def _killed(sender: Sender, mark: Mark, _mark: Any = replaying._mark) -> None:
    """In place of writing the mark that a letter was sent again."""
    if mark.action == "replayed":
        raise KeyboardInterrupt
    _mark(sender, mark)


async def test_bytes_that_nobody_understood_go_back_as_they_were(settings, store, deaths) -> None:
    raw = b'{"document_id":"d", "of a later version": true}'
    deaths.write(
        "docs.incoming", raw, ErrorCode.invalid_message, key=b"d", original=[("traceparent", b"t"), ("x", b"\xff")]
    )
    plan = await decided(settings, store)
    assert [(one.action, one.generation) for one in plan] == [("bytes", None)]
    assert sent(settings, plan) == 1
    (record,) = topic.read(settings.kafka.bootstrap_servers, "docs.incoming.bulk", quiet_s=0.5)
    assert (record.key(), record.value()) == (b"d", raw)
    assert record.headers() == [("traceparent", b"t"), ("x", b"\xff"), ("replay.count", b"1")]
    deaths.write("docs.incoming.bulk", raw, ErrorCode.invalid_message, key=b"d", original=record.headers())
    found = read(settings)
    (letter,) = found.select(["open"])
    assert found.replays(letter) == 1
    assert await decided(settings, store) == [], "it does not go round"


async def test_what_ingest_refused_before_it_kept_anything_gets_the_next_generation(
    settings, store, deaths, ingest
) -> None:
    raw = encode({"document_id": "d", "source": {"bucket": IN, "key": "a.png"}, "deadline": "2026-01-01T00:00:00Z"})
    record = ingest.decode(raw, b"d")
    first = delivered(record, key=b"d", timestamp=time.time(), raw=raw)
    (rejected,) = await ingest.failed(first, DocfleetError(ErrorCode.source_missing, "not there"))
    assert isinstance(rejected.record, DocumentRejected)
    deaths.write("docs.incoming", raw, ErrorCode.source_missing, ("d", 0), key=b"d")
    plan = await decided(settings, store)
    assert [(one.action, one.generation) for one in plan] == [("bytes", 1)]
    assert sent(settings, plan) == 1
    (back,) = topic.read(settings.kafka.bootstrap_servers, "docs.incoming.bulk", quiet_s=0.5)
    out = io.BytesIO()
    Image.new("RGB", (8, 8)).save(out, "PNG")
    await store.put(IN, "a.png", out.getvalue())
    again = delivered(
        ingest.decode(back.value(), back.key()), key=back.key(), headers=dict(back.headers()), timestamp=time.time()
    )
    (opened,) = await ingest.process(again)
    assert isinstance(opened.record, DocumentOpened), "its deadline is over and does not count"
    assert (opened.record.document_id, opened.record.generation) == ("d", 1)
    (refused,) = await ingest.failed(again, DocfleetError(ErrorCode.corrupt, "still"))
    assert refused.record.generation == 1  # type: ignore[attr-defined]


async def test_letters_are_chosen_by_code_topic_document_time_and_name(settings, deaths) -> None:
    begun = time.time()
    deaths.page("a")
    deaths.page("b", code=ErrorCode.timeout)
    deaths.write("docs.rec.bulk", b'{"document_id":"a"}', ErrorCode.timeout)

    def offsets(**wanted: Any) -> list[int]:
        return [letter.offset for letter in read(settings, Wanted(**wanted)).letters]

    assert offsets() == [0, 1, 2]
    assert offsets(codes=frozenset({"timeout"})) == [1, 2]
    assert offsets(topics=frozenset({"docs.rec"})) == [2]
    assert offsets(topics=frozenset({"docs.rec.bulk"})) == [2]
    assert offsets(documents=frozenset({"a"})) == [0, 2]
    assert offsets(names=frozenset({"0:1"}), codes=frozenset({"crashed"})) == []
    assert offsets(until=begun - 1) == []
    assert offsets(since=begun - 1, until=begun + 60) == [0, 1, 2]


async def test_a_dropped_letter_is_gone_from_the_list_and_foreign_records_are_counted(settings, store, deaths) -> None:
    await ended(store, "a")
    deaths.page("a")
    deaths.page("b")
    writer = topic.Writer(settings.kafka.bootstrap_servers)
    writer.write("docs.dlq", b"?", headers=[(deadletter.MARK, b"dropped")], partition=1)
    writer.write("docs.dlq", b"somebody's", partition=0)
    writer.flush()
    with Sender(settings, "test") as sender:
        assert replaying.drop(read(settings, Wanted(names=frozenset({"0:0"}))).letters, sender) == 1
    found = read(settings)
    assert [letter.offset for letter in found.select(["open"])] == [1]
    assert [letter.offset for letter in found.select(["dropped"])] == [0]
    assert found.foreign == 2
    assert [one.letter.offset for one in await decided(settings, store)] == [1]
    (record,) = [
        m for m in topic.read(settings.kafka.bootstrap_servers, "docs.dlq", 5) if m.headers() and m.offset() == 3
    ]
    assert record.partition() == 0, "behind its letter, so that it outlives it"


async def test_a_letter_that_retention_took_is_told(settings, deaths) -> None:
    deaths.page("a")
    (letter,) = read(settings).letters
    with Reader(settings) as reader:
        assert reader.message(letter).value().startswith(b"{")
        deaths.page("b")
        gone = deadletter.read(
            reader.message(letter).headers(), partition=0, offset=7, timestamp_ms=0, key=None, value=None
        )
        assert gone is not None
        with pytest.raises(DocfleetError) as told:
            reader.message(gone)
    assert told.value.code is ErrorCode.source_missing


async def test_end_and_mark_are_those_of_compose(settings, store, deaths, ingest) -> None:
    """A document that ingest opened itself, ended as compose ends it, and its envelope sent and opened again."""
    out = io.BytesIO()
    Image.new("RGB", (8, 8)).save(out, "PNG")
    await store.put(IN, "a.png", out.getvalue())
    raw = encode({"document_id": "d", "source": {"bucket": IN, "key": "a.png"}, "options": {"ocr": "off"}})
    await ingest.process(delivered(ingest.decode(raw, b"d"), key=b"d", timestamp=time.time(), raw=raw))
    deaths.page("d")
    assert [one.action for one in await decided(settings, store)] == ["skip"]
    await end(store, BUCKET, "d", "failure")
    sent(settings, await decided(settings, store))
    (record,) = topic.read(settings.kafka.bootstrap_servers, "docs.incoming.bulk")
    with in_lane("bulk"):
        (opened,) = await ingest.process(
            delivered(ingest.decode(record.value(), b"d"), key=b"d", lane="bulk", timestamp=time.time())
        )
    assert isinstance(opened.record, DocumentOpened)
    assert (opened.record.document_id, opened.record.generation) == ("d", 1)


def test_the_commands_say_what_is_wrong() -> None:
    runner = CliRunner()
    for arguments, said in [
        (["list", "seventeen"], "is no letter"),
        (["list", "--code", "odd"], "is no error code"),
        (["drop"], "name letters"),
        (["replay", "--priority", "high"], "--priority"),
    ]:
        result = runner.invoke(app, ["dlq", *arguments])
        assert result.exit_code == 2
        assert said in result.output


def test_the_commands_list_show_and_drop(settings, deaths, monkeypatch) -> None:
    for name, value in {
        "DOCFLEET_KAFKA__EMBEDDED": "true",
        "DOCFLEET_KAFKA__BOOTSTRAP_SERVERS": settings.kafka.bootstrap_servers,
        "DOCFLEET_OBJECTS__KIND": "folder",
        "DOCFLEET_OBJECTS__FOLDER": str(settings.objects.folder),
    }.items():
        monkeypatch.setenv(name, value)
    deaths.page("a", 3)
    runner = CliRunner()
    listed = runner.invoke(app, ["dlq", "list"])
    assert listed.exit_code == 0, listed.output
    assert "0:0" in listed.output
    assert "docs.pages  crashed  a generation 0 page 3  open  why" in listed.output
    assert "1 dead letters" in listed.output
    shown = runner.invoke(app, ["dlq", "show", "0:0"])
    assert "dlt.original.topic  docs.pages" in shown.output
    assert '"page_no": 3' in shown.output
    value = runner.invoke(app, ["dlq", "show", "0:0", "--value"])
    assert value.stdout == '{"document_id":"a","generation":0,"page_no":3,"type":"PageTask"}'
    gone = runner.invoke(app, ["dlq", "show", "5:0"])
    assert gone.exit_code == 2
    assert "no such dead letter: 5:0" in gone.output
    assert "1 letters would be dropped (--send)" in runner.invoke(app, ["dlq", "drop", "--code", "crashed"]).output
    assert "1 dead letters" in runner.invoke(app, ["dlq", "list"]).output
    assert "1 letters dropped" in runner.invoke(app, ["dlq", "drop", "0:0", "--send"]).output
    assert "0 dead letters" in runner.invoke(app, ["dlq", "list"]).output
    assert "dropped  why" in runner.invoke(app, ["dlq", "list", "--show", "all"]).output
