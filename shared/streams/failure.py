"""How a stage says that a task of a page has failed: the error is stored once, and what is stored is announced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shared.contracts.codec import decode, encode
from shared.contracts.errors import DocfleetError, Phase
from shared.contracts.layout import TaskError
from shared.contracts.records import PageFailed
from shared.objects import keys
from shared.objects.store import ObjectStore
from shared.streams.stage import Emit


class _Work(Protocol):
    """The document that a record is about."""

    @property
    def document_id(self) -> str: ...

    @property
    def generation(self) -> int: ...


async def page_failed(
    store: ObjectStore, bucket: str, work: _Work, pages: Sequence[int], task_id: str, error: DocfleetError, phase: Phase
) -> Emit:
    """Store the error under every page of the task (1-based, at least one) and return its `PageFailed`.

    The first attempt's error wins and is the one announced, so that record and store never disagree. Raises `Unavailable`.
    """
    told = error.info(phase, pages[0])
    for page_no in reversed(pages):
        key = keys.task_error(work.document_id, work.generation, page_no, task_id)
        stored = await store.put_once(bucket, key, encode(TaskError(task_id=task_id, error=told)))
    event = PageFailed(
        document_id=work.document_id,
        generation=work.generation,
        pages=list(pages),
        task_id=task_id,
        error=decode(stored, TaskError).error,
    )
    return Emit("docs.results", work.document_id, event)
