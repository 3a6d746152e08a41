"""A stage that does what its record says: the runner is tested with it, on any broker.

It reads RecTask records as `rec_worker` and answers each with a RegionsRead. The task id tells what to do:
`ok-…`, `slow-<seconds>-…`, `fail-<code>-…`, `bug-…`, `die-…` (kills its child each time), `die-in-company-…`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

from shared.children.errors import ChildDied, ChildStalled
from shared.contracts.codec import decode
from shared.contracts.errors import DocfleetError, ErrorCode, Phase, Unavailable
from shared.contracts.records import PageFailed, RecTask, RegionsRead
from shared.streams.stage import Delivery, Emit


class ToyStage:
    """`done` lists task ids in the order they were processed, `runs` counts the tries of each."""

    name = "rec_worker"
    phase = Phase.rec

    def __init__(self) -> None:
        self.runs: Counter[str] = Counter()
        self.done: list[str] = []
        self.active: set[str] = set()
        self.most_active = 0
        self.company: dict[str, set[str]] = {}
        """What ran beside a task at its last try."""
        self.away = False
        self.started = False
        self.stopped = False
        self.on_process: Callable[[Delivery[RecTask]], None] = lambda delivery: None

    def decode(self, value: bytes, key: bytes | None) -> RecTask:
        return decode(value, RecTask)

    def cost(self, record: RecTask) -> int:
        return 1000

    async def start(self) -> None:
        self.started = True

    async def stop(self) -> None:
        self.stopped = True

    async def process(self, delivery: Delivery[RecTask]) -> list[Emit]:
        task = delivery.record.task_id
        self.runs[task] += 1
        self.active.add(task)
        self.most_active = max(self.most_active, len(self.active))
        self.company[task] = self.active - {task}
        try:
            self.on_process(delivery)
            await self._do(task)
        finally:
            self.active.discard(task)
        self.done.append(task)
        record = delivery.record
        read = RegionsRead(
            document_id=record.document_id,
            generation=record.generation,
            pages=[record.page_no],
            task_id=task,
            stage="rec",
        )
        return [Emit("docs.results", record.document_id, read)]

    async def _do(self, task: str) -> None:
        what, _, rest = task.partition("-")
        if self.away:
            raise Unavailable("objects", "the store is away")
        if what == "slow":
            await asyncio.sleep(float(rest.partition("-")[0]))
        elif what == "fail":
            raise DocfleetError(ErrorCode(rest.partition("-")[0]), "as told")
        elif what == "bug":
            raise ZeroDivisionError("as told")
        elif what == "die":
            await asyncio.sleep(0.05)
            raise ChildDied("as told")
        elif what == "stall":
            await asyncio.sleep(0.05)
            raise ChildStalled("as told")
        else:
            await asyncio.sleep(0)

    async def failed(self, delivery: Delivery[RecTask], error: DocfleetError) -> list[Emit]:
        record = delivery.record
        failure = PageFailed(
            document_id=record.document_id,
            generation=record.generation,
            pages=[record.page_no],
            task_id=record.task_id,
            error=error.info(self.phase, record.page_no),
        )
        return [Emit("docs.results", record.document_id, failure)]


def task(task_id: str, document_id: str = "doc", page_no: int = 1, **fields: object) -> RecTask:
    """A record for the toy stage."""
    return RecTask(
        document_id=document_id, generation=0, page_no=page_no, task_id=task_id, layout_sha256="0" * 64, **fields
    )  # type: ignore[arg-type]
