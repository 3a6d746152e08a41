"""What is held of the changelogs, without a broker: bytes in, rows out."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest

from services.assembler.join.driver import Record
from services.assembler.join.faust_tables import JoinStore, TimedMark, evict, read_mark, read_open
from services.assembler.join.memory import Document, Page, encode_state
from services.assembler.join.watchdog import Watchdog
from shared.contracts import records as r
from shared.contracts.codec import encode
from shared.contracts.errors import DocfleetError
from shared.settings import Settings

pytestmark = pytest.mark.unit


def parsed(document_id: str, generation: int = 0) -> bytes:
    source = r.SourceInfo(bucket="b", key="k")
    return encode(r.DocumentParsed(document_id=document_id, generation=generation, status="success", source=source))


def store(read: Any) -> JoinStore[Any]:
    made = JoinStore.__new__(JoinStore)
    made.__post_init__()
    made.read = read
    return made


def message(key: bytes | None, value: bytes | None, offset: int, partition: int = 0, at: float = 1.0) -> Any:
    tp = ("t", partition)
    return SimpleNamespace(
        message=SimpleNamespace(
            key=key, value=value, offset=offset, partition=partition, timestamp=at, tp=tp, topic="t", headers=[]
        )
    )


def test_rows_are_read_by_partition_and_garbage_is_buried() -> None:
    made = store(read_open)
    buried: list[Record] = []
    made.bury = lambda record, error: buried.append(record)
    page = Page(0, tasks=["a"])
    batch = [
        message(b"d", encode_state(Document(parked=1)), 0),
        message(b"d/3", encode_state(page), 1),
        message(b"e", encode_state(Document(parked=2)), 0, partition=1),
        message(b"d", b"garbage", 2),
        message(b"e", None, 1, partition=1),
        message(None, b"x", 3),
        message(b"\xff", b"x", 4),
        message(b"d/x", encode_state(page), 5),
    ]
    made.apply_changelog_batch(batch, None, None)
    assert made.rows == {0: {b"d/3": page}, 1: {}}
    assert [record.offset for record in buried] == [2, 3, 4, 5]
    assert made.persisted_offset(("t", 0)) == 5


@pytest.mark.parametrize(("key", "value"), [(b"d", b"garbage"), (b"other", parsed("d")), (None, parsed("d"))])
def test_a_mark_needs_a_record_under_its_own_key(key: bytes | None, value: bytes) -> None:
    with pytest.raises(DocfleetError):
        read_mark(key, value, 1.0)
    assert read_mark(b"d", parsed("d", 3), 1.0) == TimedMark(3, "success", 1.0)


def test_old_marks_are_evicted_unless_their_document_has_open_state() -> None:
    made = store(read_mark)
    batch = [message(f"d{n}".encode(), parsed(f"d{n}"), n, at=float(n)) for n in range(10)]
    batch.append(message(b"d0", parsed("d0", 1), 10, at=10.0))  # written again: young
    made.apply_changelog_batch(batch, None, None)
    assert evict(made, 5.0, lambda key: key == b"d2") == 3
    assert sorted(made.rows[0]) == [b"d0", b"d2", b"d5", b"d6", b"d7", b"d8", b"d9"]


class Offsets:
    """A consumer that answers about offsets: `waiting` events behind the commit."""

    def __init__(self, waiting: int) -> None:
        self.waiting = waiting

    def committed(self, places: list[Any], timeout: float) -> list[Any]:
        return [SimpleNamespace(topic=place.topic, partition=place.partition, offset=5) for place in places]

    def get_watermark_offsets(self, place: Any, timeout: float) -> tuple[int, int]:
        return 0, 5 + self.waiting


async def test_the_watchdog_follows_the_loop_while_the_tables_are_recovered() -> None:
    """Faust starts the task that beats only after a recovery; one of 100,000 documents took longer than the loop may be silent."""
    recovering = True
    watchdog = Watchdog(Settings(), lambda: 0, set, end=lambda _: None, loop_s=0.3)
    watchdog.follow(asyncio.get_running_loop(), lambda: recovering, every_s=0.05)
    await asyncio.sleep(0.6)
    assert watchdog.look(None, time.monotonic()) is None
    time.sleep(0.4)  # noqa: ASYNC251  # the loop stands still: that is what is to be seen
    assert "loop" in (watchdog.look(None, time.monotonic()) or "")
    recovering = False
    await asyncio.sleep(0.6)
    assert "loop" in (watchdog.look(None, time.monotonic()) or ""), "from now on the application has to beat itself"


def test_the_watchdog_sees_a_still_loop_and_still_events() -> None:
    progress = [0]
    watchdog = Watchdog(
        Settings(), lambda: progress[0], lambda: {("docs.results", 0)}, loop_s=60, still_s=120, end=lambda _: None
    )
    base = watchdog._beat
    assert watchdog.look(Offsets(3), base + 1) is None
    progress[0] = 1
    assert watchdog.look(Offsets(3), base + 50) is None
    assert "loop" in (watchdog.look(Offsets(3), base + 61) or "")

    def alive(now: float, waiting: int) -> str | None:
        watchdog._beat = now
        return watchdog.look(Offsets(waiting), now)

    assert alive(base + 160, 3) is None, "less than the limit since the last progress"
    assert alive(base + 171, 0) is None, "nothing waits"
    assert alive(base + 280, 3) is None
    assert "3 events wait" in (alive(base + 300, 3) or "")
    progress[0] = 2
    assert alive(base + 301, 3) is None
