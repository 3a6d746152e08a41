"""The parent side of a child process: calls go in, answers come out, and the child is replaced when it dies or is worn.

What can crash or hang (hostile bytes, networks) runs there, so that the process which polls Kafka does neither. At most
`threads` calls are in the child at once; further ones wait here, those of the first lane before bulk, where a death does not touch
them, and their clock starts when they are handed over. A call that was cancelled keeps its place and its clock until the child is through with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

import msgspec
import structlog

from shared.children import wire
from shared.children.block import Block
from shared.children.errors import ChildDied, ChildFault
from shared.children.life import Life, count_restarts
from shared.children.places import Places
from shared.children.preference import current_lane
from shared.contracts.errors import DocfleetError, ErrorCode, Unavailable

R = TypeVar("R", bound=msgspec.Struct)
_log = structlog.get_logger()


class Child:
    """A program in a process of its own.

    `program` is `package.module:factory`; `factory(settings)` is called in the child and returns an object whose public
    methods are the calls: `def method(self, argument: SomeStruct, blocks: list[Block]) -> tuple[SomeStruct, list[Block]]`.
    The blocks given to a method are closed after it returned, and so are those it returns once they are sent (arrays made
    of them stay valid). `settings` must be picklable. `memory_bytes` limits the address space, `recycle_bytes` is the
    resident size after which the child is replaced between calls. Calls of the bulk lane hold at most `bulk_threads` of `threads` (all,
    unless given): give fewer where their calls are long. `noted` is told, on the event loop, how far a long start is. The limit of the
    start is for the time without progress.
    """

    def __init__(
        self,
        program: str,
        settings: object,
        *,
        name: str,
        memory_bytes: int | None = None,
        recycle_bytes: int | None = None,
        call_timeout_s: float,
        threads: int = 1,
        bulk_threads: int | None = None,
        start_timeout_s: float = 120.0,
        noted: Callable[[str], None] | None = None,
    ) -> None:
        self.name = name
        self._program = program
        self._settings = settings
        self._memory_bytes = memory_bytes
        self._recycle_bytes = recycle_bytes
        self._call_timeout_s = call_timeout_s
        self._start_timeout_s = start_timeout_s
        self._threads = threads
        self._noted = noted
        self._places = Places(threads, bulk_threads)
        self._lock = asyncio.Lock()
        self._life: Life | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Process id of the child that runs now."""
        return self._life.pid if self._life and not self._life.over else None

    async def start(self) -> None:
        """Spawn the child and wait until its factory has returned.

        Raises the `DocfleetError` of the factory, `ChildFault` when it raised something else, `ChildDied` when the child
        ended or took longer than `start_timeout_s`. Not needed before `call`, which starts what is not there.
        """
        async with self._lock:
            await self._alive()

    async def call(
        self,
        method: str,
        argument: msgspec.Struct,
        blocks: Sequence[Block] = (),
        *,
        returns: type[R],
        timeout_s: float | None = None,
    ) -> tuple[R, list[Block]]:
        """Run a method in the child; its result and the blocks that came with it, now the caller's to close.

        Raises the `DocfleetError` that was raised there (`resource_limit` for a `MemoryError`), `ChildFault` for other
        exceptions, `ChildDied` and `ChildStalled` (see there), `Unavailable("child", …)` when a child cannot be started.
        """
        lane = current_lane()
        body, all_blocks, large, extra = wire.body_and_blocks(argument, blocks)
        try:
            await self._places.take(lane)
            try:
                async with self._lock:
                    life = await self._alive_for_call()
                    answered = life.request(method, body, all_blocks, large, timeout_s or self._call_timeout_s)
            except BaseException:
                self._places.give_back(lane)
                raise
        finally:
            if extra is not None:
                extra.close()
        answered.add_done_callback(lambda _: self._places.give_back(lane))
        try:
            answer, descriptors = await asyncio.shield(answered)
        except asyncio.CancelledError:
            answered.add_done_callback(_forget)
            raise
        if answer.raised is not None:
            raise _as_exception(answer.raised)
        body, received = wire.unpack(answer, descriptors)
        return msgspec.msgpack.decode(body, type=returns), received

    def recycle(self, why: Literal["recycled", "failed"] = "recycled") -> None:
        """Replace the child once the calls in it have ended; the next call starts a fresh one. Nothing is lost by it.

        `why` is the reason it is counted with: `failed` where the child answers, but has lost what it works with.
        """
        if self._life is not None:
            self._life.worn = why

    async def close(self) -> None:
        """End the child; calls in it raise `ChildDied`."""
        self._closed = True
        if self._life is not None:
            await self._life.end()

    async def _alive_for_call(self) -> Life:
        # The start belongs to no record, so its failure must not be held against one; one death may be an accident.
        for attempt in range(2):
            try:
                return await self._alive()
            except (ChildDied, ChildFault, DocfleetError, OSError) as error:
                if attempt or not isinstance(error, ChildDied):
                    raise Unavailable("child", f"child {self.name} does not start: {error}") from error
        raise AssertionError

    async def _alive(self) -> Life:
        if self._closed:
            raise ChildDied(f"child {self.name} is closed")
        life = self._life
        if life is not None and life.worn and not life.over:
            await life.idle.wait()
            _log.info("child_recycled", child=self.name, pid=life.pid, why=life.worn)
            count_restarts(self.name, life.worn)
            await life.end()
        if life is None or life.over:
            if life is not None:
                await life.end()
            self._life = life = Life(
                self._program,
                self._settings,
                name=self.name,
                memory_bytes=self._memory_bytes,
                recycle_bytes=self._recycle_bytes,
                threads=self._threads,
                noted=self._noted,
            )
        raised = await self._ready(life)
        if raised is not None:
            life.kill("could not start")
            raise _as_exception(raised)
        return life

    async def _ready(self, life: Life) -> wire.Raised | None:
        while True:
            news = life.news
            try:
                return await asyncio.wait_for(asyncio.shield(life.ready), self._start_timeout_s)
            except TimeoutError:
                if life.news > news:
                    continue
                life.kill(f"did not start within {self._start_timeout_s:g} s")
                raise ChildDied(f"child {self.name} did not start within {self._start_timeout_s:g} s") from None


def _as_exception(raised: wire.Raised) -> Exception:
    if raised.code is None:
        return ChildFault(raised.message)
    return DocfleetError(ErrorCode(raised.code), raised.message, page_no=raised.page_no, region_id=raised.region_id)


def _forget(answered: asyncio.Future[tuple[wire.Answer, list[int]]]) -> None:
    """Close what came for a call that nobody waits for."""
    if answered.cancelled() or answered.exception() is not None:
        return
    for fd in answered.result()[1]:
        with contextlib.suppress(OSError):
            os.close(fd)
