"""`python -m tests.faults.poison.worker ROLE`: a worker of the light profile that planted documents harm."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from shared.children.child import Child
from shared.documents.limits import bounds_of
from shared.settings import Settings
from shared.streams.run import run
from shared.streams.stage import Delivery, Emit, Stage
from tests.faults.light import worker as light
from tests.faults.poison.planted import PAGE

WORKER = "kills-the-worker"
"""Beginning of the ids of documents whose page `PAGE` kills the rec_worker that works on it."""


class Harmed:
    """A stage that dies of certain records, together with its whole process, as of a container's OOM kill."""

    def __init__(self, stage: Stage[Any]) -> None:
        self._stage = stage

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stage, name)

    async def process(self, delivery: Delivery[Any]) -> list[Emit]:
        record = delivery.record
        if record.document_id.startswith(WORKER) and record.page_no == PAGE:
            os.kill(os.getpid(), signal.SIGKILL)
        return await self._stage.process(delivery)


def make(role: str, settings: Settings) -> Stage[Any]:
    """The stage of a role, harmed."""
    stage: Any = light.make(role, settings)
    if stage.name == "rec_worker":
        return Harmed(stage)
    documents = stage._pages.documents
    documents._child = Child(
        "tests.faults.poison.child:create",
        bounds_of(settings.limits),
        name="documents",
        memory_bytes=settings.limits.child_memory_bytes,
        call_timeout_s=settings.limits.page_timeout_s,
    )
    return stage  # type: ignore[no-any-return]


if __name__ == "__main__":
    sys.exit(run(lambda settings: make(sys.argv[1], settings)))
