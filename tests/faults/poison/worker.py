"""The workers that planted documents harm (`tests.faults.light.worker` asks for it where `HARM` is set)."""

from __future__ import annotations

import os
import signal
from typing import Any

from shared.children.child import Child
from shared.documents.limits import bounds_of
from shared.settings import Settings
from shared.streams.stage import Delivery, Emit, Stage
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


def harmed(stage: Stage[Any], settings: Settings) -> Stage[Any]:
    """A stage of the light profile as planted documents harm it: layout_worker and rec_worker; the others are as they were."""
    if stage.name == "rec_worker":
        return Harmed(stage)
    if stage.name == "layout_worker":
        documents = stage._pages.documents  # type: ignore[attr-defined]
        documents._child = Child(
            "tests.faults.poison.child:create",
            bounds_of(settings.limits),
            name="documents",
            memory_bytes=settings.limits.child_memory_bytes,
            call_timeout_s=settings.limits.page_timeout_s,
        )
    return stage
