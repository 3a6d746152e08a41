"""A network on an NPU as its callers see it: shapes that have a gear go to the session's process, failed work is done again once, no more.

What is done about a failure:
- no memory on the device, a device that failed, a process that died or hung: a fresh session, and the same work once more;
- a failure without a reason: the same work once more;
- a shape without a gear is never sent; one that the om turns out not to have (`conflict`) is not sent twice.
Failing twice is a typed error of whoever asked (a batch then comes again line by line, and only the line to blame fails). When no fresh session
can be opened, nothing of this process is of use any more: it ends, its parent's calls run again, and the stage waits until one starts.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import structlog

from shared.children import progress
from shared.children.block import Block
from shared.children.child import Child
from shared.children.errors import ChildDied, ChildStalled
from shared.contracts.errors import DocfleetError, ErrorCode, Unavailable
from shared.engines.ascend_built import Built, Gear
from shared.engines.ascend_environment import environment_of
from shared.engines.ascend_failures import Failure
from shared.engines.ascend_session import Feeds, Opening, Ran
from shared.engines.engine import Array, TensorInfo, checked

if TYPE_CHECKING:
    from shared.settings import Engines

T = TypeVar("T")
_log = structlog.get_logger()

LOST = 69
"""Exit status of a process whose NPU sessions cannot be opened any more (EX_UNAVAILABLE of sysexits.h)."""

_CODES = {
    Failure.memory: ErrorCode.resource_limit,
    Failure.shape: ErrorCode.conflict,
    Failure.device: ErrorCode.crashed,
    Failure.refused: ErrorCode.internal,
    Failure.other: ErrorCode.internal,
}


class Loop:
    """An event loop in a thread that lasts as long as the process: sessions end with the thread that made them."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="npu-sessions", daemon=True).start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it there and wait for it, without the interpreter lock."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def post(self, work: Callable[[], None]) -> None:
        """Do it there, soon."""
        self._loop.call_soon_threadsafe(work)


def end_process(why: str) -> None:
    """End this process at once; see the module."""
    _log.error("npu_lost", why=why)
    os._exit(LOST)


class AscendNetwork:
    """One `om`, one session. Thread safe; callers take turns."""

    def __init__(
        self, built: Built, om: Path, settings: Engines, loop: Loop, lost: Callable[[str], None] = end_process
    ) -> None:
        """Call `start` before `infer`. `lost` is called when no session can be opened any more; it should not return."""
        self.built = built
        self.inputs = [TensorInfo(name=one.name, shape=one.shape, dtype=one.dtype) for one in built.inputs]
        self.outputs = [TensorInfo(name=one.name, shape=one.shape, dtype=one.dtype) for one in built.outputs]
        self._gears = frozenset(built.gears) if built.mode != "dymshape" else None
        self.closed = False
        self._loop = loop
        self._lost = lost
        environment = environment_of("session", os.environ, settings.ascend_environment)
        self._child = Child(
            "shared.engines.ascend_session:create",
            Opening(built=built, om=str(om), device=settings.ascend_device, environment=environment),
            name=f"npu-{built.model}",
            recycle_bytes=settings.recycle_bytes,
            call_timeout_s=settings.ascend_call_timeout_s,
            start_timeout_s=settings.ascend_start_timeout_s,
            noted=progress.report,
        )

    @property
    def pid(self) -> int | None:
        """Process id of the session."""
        return self._child.pid

    def start(self) -> None:
        """Open the session and run every gear once; what may have been an accident is tried twice.

        Raises `DocfleetError(model_unavailable)`, which says what to do.
        """
        failed = self._opened()
        if failed is not None and failed.code is not ErrorCode.model_unavailable:
            _log.warning("npu_failed", model=self.built.model, shape="start", code=failed.code, why=failed.message)
            failed = self._opened()
        if failed is not None:
            raise DocfleetError(ErrorCode.model_unavailable, failed.message)

    def _opened(self) -> DocfleetError | None:
        """Why there is no session, if there is none."""
        try:
            self._loop.run(self._child.start())
        except ChildDied as error:
            return DocfleetError(
                ErrorCode.crashed,
                f"the om of {self.built.model} is not loaded: {error}. What it printed is in the log above. Look at npu-smi info (a card that"
                " hangs, a driver that does not fit CANN); where loading takes longer, raise DOCFLEET_ENGINES__ASCEND_START_TIMEOUT_S",
            )
        except DocfleetError as error:
            return error
        return None

    def recycle(self) -> None:
        """Replace the session before its next call: it has taken too much device memory."""
        self._loop.post(self._child.recycle)

    def close(self) -> None:
        """End the session."""
        self.closed = True
        self._loop.run(self._child.close())

    def infer(self, *arrays: Array) -> list[Array]:
        """As `Network.infer`. Raises `DocfleetError`: `conflict` for a shape without a gear, and what twice failed work raises."""
        checked(arrays, self.inputs)
        gear = tuple(array.shape for array in arrays)
        if self._gears is not None and gear not in self._gears:
            raise DocfleetError(
                ErrorCode.conflict,
                f"{self.built.model} has no gear for {_words(gear)}; it was not sent (one of {len(self._gears)} is asked for)",
            )
        answer = self._once(arrays)
        if isinstance(answer, DocfleetError):
            self._note(answer, gear)
            if answer.code is not ErrorCode.conflict:
                answer = self._once(arrays)
        if isinstance(answer, DocfleetError):
            self._note(answer, gear)
            raise answer
        return answer

    def _note(self, failed: DocfleetError, gear: Gear) -> None:
        _log.warning("npu_failed", model=self.built.model, shape=_words(gear), code=failed.code, why=failed.message)

    def _once(self, arrays: tuple[Array, ...]) -> list[Array] | DocfleetError:
        """The outputs, or why there are none."""
        name = self.built.model
        # Copied here, in the caller's thread: the loop serves the sessions of all networks.
        given = [Block.of(np.ascontiguousarray(array)) for array in arrays]
        feeds = Feeds([array.shape for array in arrays])
        try:
            ran, blocks = self._loop.run(self._child.call("infer", feeds, given, returns=Ran))
        except ChildDied as error:
            return DocfleetError(ErrorCode.crashed, f"the session of {name} ended while it ran ({error!s:.200})")
        except ChildStalled as error:
            return DocfleetError(ErrorCode.stalled, f"the session of {name} hung and was killed ({error!s:.200})")
        except Unavailable as error:
            self._lost(str(error))
            return DocfleetError(ErrorCode.crashed, f"no session of {name} can be opened ({error!s:.300})")
        finally:
            for block in given:
                block.close()
        if ran.failure is None:
            return self._outputs(ran, blocks)
        if ran.failure in (Failure.memory, Failure.device):
            self._loop.run(self._worn())
        what = {Failure.memory: "the device has no memory left", Failure.shape: "the om has no such gear"}
        return DocfleetError(
            _CODES[ran.failure], f"{name} failed on the NPU: {what.get(ran.failure, ran.failure.value)} ({ran.why})"
        )

    async def _worn(self) -> None:
        self._child.recycle("failed")

    def _outputs(self, ran: Ran, blocks: list[Block]) -> list[Array]:
        arrays = []
        for block, shape, tensor in zip(blocks, ran.shapes, self.built.outputs, strict=True):
            with block:
                arrays.append(block.array(shape, tensor.dtype))  # it keeps the memory, which nobody else holds
        return arrays


def _words(gear: Gear) -> str:
    return " and ".join("x".join(str(size) for size in shape) for shape in gear)
