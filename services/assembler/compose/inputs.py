"""What compose reads from the store: inspections (remembered), the inputs of a page, the pages of a document."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Iterable
from typing import TypeVar

from shared.children.block import Block
from shared.contracts.codec import decode
from shared.contracts.errors import DocfleetError, ErrorCode, ErrorInfo, Phase
from shared.contracts.layout import Inspection, TaskError
from shared.contracts.records import ComposePage
from shared.objects import keys
from shared.objects.store import ObjectStore, optional

INSPECTIONS = 32
"""Documents whose inspection is remembered; a long one has some 100 kB of page geometry."""
READS = 16
"""Objects of one document that are read at once."""
MAX_BLOCKS = 100
"""Blocks in one call: each is a file descriptor, of which one message on a socket carries 253 (Linux, SCM_MAX_FD)."""

T = TypeVar("T")


class Inputs:
    """Reads for one stage; `bucket` is that of work objects and results."""

    def __init__(self, store: ObjectStore, bucket: str) -> None:
        self._store, self._bucket = store, bucket
        self._inspections: OrderedDict[tuple[str, int], Inspection] = OrderedDict()

    async def inspection(self, document_id: str, generation: int) -> Inspection:
        """`inspect.json` of a document."""
        name = (document_id, generation)
        known = self._inspections.get(name)
        if known is None:
            known = decode(await self._work(keys.inspection(*name)), Inspection)
            self._inspections[name] = known
            while len(self._inspections) > INSPECTIONS:
                self._inspections.popitem(last=False)
        self._inspections.move_to_end(name)
        return known

    async def page(self, task: ComposePage) -> tuple[Block, list[ErrorInfo]]:
        """Layout and readings of a page, one a line, and the errors of its failed tasks."""
        name = (task.document_id, task.generation, task.page_no)
        wanted = [keys.layout(*name)] if task.laid_out else []
        wanted += [keys.reading(*name, task_id) for task_id in sorted(task.readings)]
        objects = await _together(self._work(key) for key in wanted)
        failed = await _together(self._work(keys.task_error(*name, task_id)) for task_id in sorted(task.failed))
        return Block.of(b"\n".join(objects)), [decode(data, TaskError).error for data in failed]

    async def pages(
        self, document_id: str, generation: int, numbers: list[int]
    ) -> tuple[list[Block], dict[str, list[ErrorInfo]]]:
        """`page.json`s of these pages, many in a block, and why those that are not there are not (page number as text).

        The parent never holds more than one block's worth of pages outside shared memory.
        """
        size = max(READS, -(-len(numbers) // MAX_BLOCKS))
        blocks: list[Block] = []
        missing: dict[str, list[ErrorInfo]] = {}
        try:
            for start in range(0, len(numbers), size):
                chunk = numbers[start : start + size]
                found = await _together(self._page(document_id, generation, number) for number in chunk)
                blocks.append(Block.of(b"\n".join(data for data in found if data is not None)))
                for number, data in zip(chunk, found, strict=True):
                    if data is None:
                        missing[str(number)] = await self._why(document_id, generation, number)
        except BaseException:
            for block in blocks:
                block.close()
            raise
        return blocks, missing

    async def kept_picture(self, task: ComposePage, inspection: Inspection) -> str | None:
        """Key of the page's picture beside the result, where `options.pictures` asks for it and there is one."""
        if not inspection.options.pictures or not task.laid_out:
            return None
        name = (task.document_id, task.generation, task.page_no)
        picture = await self.optional(keys.picture(*name))
        if picture is None:
            return None
        await self._store.put_once(self._bucket, keys.page_image(*name), picture, "image/jpeg")
        return keys.page_image(*name)

    async def _page(self, document_id: str, generation: int, number: int) -> bytes | None:
        return await self.optional(keys.composed_page(document_id, generation, number))

    async def optional(self, key: str) -> bytes | None:
        """An object, or none when it is not there."""
        return await optional(self._store, self._bucket, key)

    async def _why(self, document_id: str, generation: int, number: int) -> list[ErrorInfo]:
        """The stored errors of a page that could not be composed."""
        prefix = keys.task_error(document_id, generation, number, "").removesuffix(".json")
        stored = await self._store.list(self._bucket, prefix)
        return [decode(await self._work(stat.key), TaskError).error for stat in stored]

    async def _work(self, key: str) -> bytes:
        """A work object that must be there: that it is not is a fault of the fleet, not of the document's source."""
        try:
            return await self._store.get(self._bucket, key)
        except DocfleetError as error:
            if error.code is ErrorCode.source_missing:
                raise DocfleetError(
                    ErrorCode.internal, f"the work object {key} is gone; submit the document again"
                ) from error
            raise


async def _together(reads: Iterable[Awaitable[T]]) -> list[T]:
    places = asyncio.Semaphore(READS)

    async def one(read: Awaitable[T]) -> T:
        async with places:
            return await read

    return list(await asyncio.gather(*(one(read) for read in reads)))


def lost_error(task_id: str, page_no: int) -> ErrorInfo:
    """The error of a task that was proven lost twice."""
    phase = Phase(task_id.partition("-")[0]) if not task_id.startswith("compose") else Phase.assemble
    error = DocfleetError(
        ErrorCode.timeout,
        f"the task {task_id} was lost twice: whoever could have answered it is done, and has not; submit the document again",
        attempts=2,
    )
    return error.info(phase, page_no)
