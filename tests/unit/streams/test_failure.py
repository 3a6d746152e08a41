"""A failed task of a page: stored once, announced as stored."""

from __future__ import annotations

import pytest

from shared.contracts.codec import decode
from shared.contracts.errors import DocfleetError, ErrorCode, Phase
from shared.contracts.layout import TaskError
from shared.contracts.records import PageFailed, VlTask
from shared.objects import keys
from shared.objects.folder import FolderStore
from shared.streams.failure import page_failed

pytestmark = pytest.mark.unit


async def test_the_first_error_wins_under_every_page_and_is_the_one_announced(tmp_path):
    store = FolderStore(tmp_path)
    task = VlTask(document_id="d", generation=1, mode="range", pages=[3, 4], task_id="vl-1", profile="p")
    first = DocfleetError(ErrorCode.timeout, "took too long")
    later = DocfleetError(ErrorCode.internal, "something else")
    emits = [await page_failed(store, "b", task, task.pages, task.task_id, e, Phase.vl) for e in (first, later)]
    assert emits[0] == emits[1]
    assert (emits[0].topic, emits[0].key) == ("docs.results", "d")
    event = emits[0].record
    assert isinstance(event, PageFailed)
    assert (event.pages, event.task_id, event.error.code) == ([3, 4], "vl-1", ErrorCode.timeout)
    for page_no in task.pages:
        stored = decode(await store.get("b", keys.task_error("d", 1, page_no, "vl-1")), TaskError)
        assert stored.error == event.error
    await store.close()
