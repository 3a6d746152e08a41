"""What the join itself costs, without a broker: CPU time an event, bytes appended, and what its state holds in memory.

`python -m benchmarks.lib.join_cost open|ended COUNT` prints the bytes that so many rows take, measured in a process of its own.
"""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from services.assembler.join.driver import Driver, Record
from services.assembler.join.faust_tables import TimedMark
from services.assembler.join.memory import Document, Mark, Opened, Page, Write, encode_state, mark_of, open_key
from shared.contracts import records as r
from shared.contracts.codec import encode
from shared.contracts.ids import document_task_id, task_id


def opened(name: str, pages: int) -> r.DocumentOpened:
    """What ingest says of a document."""
    return r.DocumentOpened(
        document_id=name,
        generation=0,
        source=r.SourceRef(bucket="incoming", key=f"{name}.pdf", etag="0123456789abcdef", size=1_000_000),
        pages_total=pages,
        selected=f"1-{pages}",
        options_hash="0" * 64,
        pipeline_fingerprint="0" * 64,
        submitted_at=time.time(),
        trace_id="0" * 32,
    )


def life(name: str, pages: int) -> Iterator[Any]:
    """All events of a document: each page is laid out, read by one task and composed."""
    given: dict[str, Any] = {"document_id": name, "generation": 0}
    yield opened(name, pages)
    for page in range(1, pages + 1):
        rec = task_id("rec", 0, [page])
        ref = r.TaskRef(task_id=rec, stage="rec")
        layout = task_id("layout", 0, [page])
        yield r.PageLaidOut(**given, page_no=page, task_id=layout, layout_sha256="0" * 64, tasks=[ref])
        yield r.RegionsRead(**given, pages=[page], task_id=rec, stage="rec")
        compose = task_id("compose", 0, [page])
        yield r.PageComposed(**given, page_no=page, task_id=compose, status="ok", sha256="0" * 64)
    source = r.SourceInfo(bucket="incoming", key=f"{name}.pdf", sha256="0" * 64)
    result = r.ObjectRef(bucket="docfleet", key=f"parsed/{name}/0/document.json", sha256="0" * 64, bytes=100_000)
    yield r.DocumentComposed(
        **given,
        task_id=document_task_id(0),
        status="success",
        source=source,
        result=result,
        markdown=result,
        totals=r.Totals(pages=pages, pages_ok=pages),
    )


class Counted:
    """Stands in for the outbox: counts what would be appended, encoded as it would be."""

    def __init__(self) -> None:
        self.records = self.bytes = 0

    def emit(self, emit: Any, trace: Any, acknowledged: Any = None) -> None:
        self.append(emit.topic, emit.key.encode(), encode(emit.record), [])

    def append(self, topic: str, key: bytes | None, value: bytes | None, head: Any, **given: Any) -> None:
        self.records += 1
        self.bytes += len(value or b"")

    def position(self) -> int:
        return self.records

    def acknowledged(self) -> int:
        return self.records


class Rows:
    """The tables, as the driver on Kafka keeps them, without Kafka."""

    def __init__(self, outbox: Counted) -> None:
        self.open: dict[bytes, Any] = {}
        self.marks: dict[str, Mark] = {}
        self._outbox = outbox

    def mark(self, document_id: str) -> Mark | None:
        return self.marks.get(document_id)

    def document(self, document_id: str) -> Document | None:
        return self.open.get(open_key(document_id))

    def page(self, document_id: str, page_no: int) -> Page | None:
        return self.open.get(open_key(document_id, page_no))

    def write(self, write: Write) -> None:
        if write.value is None:
            self.open.pop(write.key, None)
        else:
            self.open[write.key] = write.value
        self._outbox.append("open", write.key, None if write.value is None else encode_state(write.value), [])

    def end(self, parsed: r.DocumentParsed, value: bytes, head: Any) -> None:
        self.marks[parsed.document_id] = mark_of(parsed)
        self._outbox.append("parsed", parsed.document_id.encode(), value, head)

    def forget(self, document_id: str, generation: int, head: Any) -> None:
        raise NotImplementedError


class Cost(NamedTuple):
    pages: int
    us: float
    """CPU microseconds an event, the median of some runs."""
    bytes: float
    """Bytes appended an event."""
    records: float
    """Records appended an event."""


def cost(pages: int, events: int, runs: int) -> Cost:
    """Documents of so many pages until about `events` events were handled, the timers asked four times a second."""
    documents = max(1, round(events / (3 * pages + 2)))
    seconds, outbox, count = [], Counted(), 0
    for _ in range(runs):
        outbox = Counted()
        driver = Driver(Rows(outbox), outbox, 128, 300.0)  # type: ignore[arg-type]
        records = [
            Record("docs.results", 0, at, 1_700_000_000_000, event.document_id.encode(), encode(event), [])
            for document in range(documents)
            for at, event in enumerate(life(f"d{document}", pages))
        ]
        count = len(records)
        gc.collect()
        began = time.process_time()
        for number, record in enumerate(records):
            driver.handle(record)
            if number % 600 == 0:  # 250 ms at the rate of one process
                driver.tick(1e9 + number / 2_400)
        seconds.append(time.process_time() - began)
    return Cost(pages, statistics.median(seconds) / count * 1e6, outbox.bytes / count, outbox.records / count)


def state_bytes(kind: str, count: int) -> float:
    """Bytes of memory that a row takes in the process: `open` pages, or `ended` documents."""
    command = [sys.executable, "-m", "benchmarks.lib.join_cost", kind, str(count)]
    done = subprocess.run(command, env=os.environ, check=True, capture_output=True, text=True)
    return float(done.stdout) / count


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _held(kind: str, count: int) -> int:
    rows: dict[bytes, Any] = {}
    gc.collect()
    before = _resident()
    for number in range(count):
        if kind == "open":
            name, page = f"{number // 128:032x}", number % 128 + 1
            if page == 1:
                rows[open_key(name)] = Document(Opened(opened(name, 128), 128))
            tasks = [task_id(stage, 0, [page]) for stage in ("rec", "vl")]
            rows[open_key(name, page)] = Page(0, tasks, tasks[:1])
        else:
            rows[f"{number:032x}".encode()] = TimedMark(0, "success", 1_700_000_000.0 + number)
    gc.collect()
    return _resident() - before


if __name__ == "__main__":
    print(_held(sys.argv[1], int(sys.argv[2])))
