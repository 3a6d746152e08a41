"""The recognition path with its engines in the calling process, so that the parts of their work can be timed.

The workers' own code, one page at a time on one stream. What is replaced, and put back at the end: `Child` by a stand-in that runs the
program in a thread, the engine by one that times its networks, the store by one that is timed; functions are wrapped. The document children
stay processes and count as wholes.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from benchmarks.lib import processes
from benchmarks.lib.recpath import RecPath, settings_for
from benchmarks.lib.timers import TimedEngine, Timers
from benchmarks.lib.work import macs
from shared.documents.opener import Documents
from shared.engines import open as engines
from shared.objects.open import open_store
from shared.objects.store import ObjectStore

R = TypeVar("R")
WIDTH_CLASSES = (128, 320, 640, 1_280)
"""Upper ends of the width classes of lines, padded pixels."""


class Spent(NamedTuple):
    """Sums over the pages of some documents."""

    pages: int
    wall_s: float
    cpu_s: float
    stored_s: float
    """Wall time in which a worker waited for the store."""
    parts: dict[str, float]
    calls: dict[str, int]
    flop: dict[str, float]


def part_name(model: str, shape: tuple[int, ...]) -> str:
    """The part a network's call counts to: lines by width class, detection by size, the others by name."""
    if "tiny" in model.split("-"):
        return "draft rec network"
    if "rec" in model.split("-"):
        upper = next((width for width in WIDTH_CLASSES if shape[3] <= width), None)
        return f"rec network, {f'up to {upper}' if upper else f'over {WIDTH_CLASSES[-1]}'} px"
    if "-det-" in model and "seal" not in model:
        return f"det network, {max(shape[2:])} px"
    return f"{model} network"


class InProcess:
    """Stands in for `Child`: the program lives in this process, its calls run in threads."""

    def __init__(self, program: str, settings: object, **_: Any) -> None:
        self._name = program
        self._settings = settings
        self._program: Any = None
        self.pid: int | None = None

    async def start(self) -> None:
        from importlib import import_module

        module, _, factory = self._name.partition(":")
        self._program = await asyncio.to_thread(getattr(import_module(module), factory), self._settings)

    async def call(
        self,
        method: str,
        argument: Any,
        blocks: Sequence[Any] = (),
        *,
        returns: type[R],
        timeout_s: float | None = None,
    ) -> tuple[R, list[Any]]:
        return await asyncio.to_thread(getattr(self._program, method), argument, list(blocks))

    async def close(self) -> None:
        self._program = None


class TimedStore:
    """A store that tells how long each of its calls took, wall time in seconds."""

    def __init__(self, store: ObjectStore, told: Callable[[float], None]) -> None:
        self._store = store
        self._told = told

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if not inspect.iscoroutinefunction(method):
            return method

        async def timed(*args: Any, **kwargs: Any) -> Any:
            started = time.perf_counter()
            try:
                return await method(*args, **kwargs)
            finally:
                self._told(time.perf_counter() - started)

        return timed


class Inside:
    """The recognition path with its engines in this process, timed. All patches are undone by `close`."""

    def __init__(self, folder: Path) -> None:
        from services.layout_worker import pages
        from services.layout_worker import service as layout_service
        from services.layout_worker.engine import program as layout_program
        from services.rec_worker import crops, read, service
        from services.rec_worker import program as rec_program
        from shared.models import reader

        self.timers = Timers()
        self.engine: TimedEngine | None = None
        self._restore: list[tuple[Any, str, Any]] = []
        self._opened: dict[str, Documents] = {}
        self.stored_s = 0.0
        for module in (pages, service):
            self._replace(module, "Child", InProcess)
        self._replace(pages, "Documents", self._documents("open and draw pages (document child)"))
        self._replace(service, "Documents", self._documents("decode pictures (document child)"))
        for module in (layout_service, service):
            self._replace(module, "open_store", lambda settings: TimedStore(open_store(settings), self._stored))
        for module in (layout_program, rec_program):
            self._replace(module, "open_engine", self._open)
        for attribute in ("cut", "turn", "scaled", "pieces"):
            self.timers.wrap(crops, attribute, "cut, scale, split lines")
        self.timers.wrap(read, "crop_key", "hash for the crop cache")
        self.timers.wrap(reader.Reader, "prepare", "normalise and pad lines")
        self.timers.wrap(reader, "decoded", "CTC")
        self.timers.wrap(layout_program.Program, "look", "look: the rest (ink, seals, boxes)")
        self.timers.wrap(layout_program.Program, "lines", "lines: the rest (map to quads)")
        self.timers.wrap(rec_program.RecProgram, "read", "rec: the rest of a call")
        self.path = RecPath(settings_for(folder, engines={"streams": 1}))

    async def start(self) -> None:
        await self.path.start()

    async def close(self) -> None:
        await self.path.stop()
        self.timers.unwrap()
        for owner, name, value in reversed(self._restore):
            setattr(owner, name, value)

    async def spend(self, document: Path) -> Spent:
        """Read a document, one page at a time."""
        assert self.engine is not None
        self.timers.clear()
        self.engine.shapes.clear()
        self.stored_s = 0.0
        children = {name: documents.pid for name, documents in self._opened.items() if documents.pid is not None}
        before = {name: processes.cpu_s(pid) for name, pid in children.items()}
        own, started = time.process_time(), time.perf_counter()
        pages = await self.path.read(document, one_by_one=True)
        wall, own = time.perf_counter() - started, time.process_time() - own
        found = self.timers.parts()
        parts = {name: part.cpu_s for name, part in found.items()}
        opened = {name: processes.cpu_s(pid) - before[name] for name, pid in children.items()}
        parts |= opened
        cpu = own + sum(opened.values())
        parts["the rest (stages, store, batches, threads)"] = max(0.0, cpu - sum(parts.values()))
        flop: dict[str, float] = defaultdict(float)
        for part, calls in self.engine.shapes.items():
            flop[part] = sum(2 * (macs(model, shape) or 0.0) for model, shape in calls)
        calls = {name: part.calls for name, part in found.items()}
        return Spent(len(pages), wall, cpu, self.stored_s, parts, calls, dict(flop))

    def _stored(self, seconds: float) -> None:
        self.stored_s += seconds

    def _documents(self, name: str) -> Callable[..., Documents]:
        def make(*args: Any, **kwargs: Any) -> Documents:
            self._opened[name] = Documents(*args, **kwargs)
            return self._opened[name]

        return make

    def _open(self, settings: Any) -> TimedEngine:
        engine = TimedEngine(engines.open_engine(settings), self.timers, part_name)
        if self.engine is not None:
            engine.shapes = self.engine.shapes
        self.engine = engine
        return engine

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        self._restore.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)


def together(all_: Sequence[Spent]) -> Spent:
    """The sums of several documents."""
    sums: list[dict[str, Any]] = []
    for field in ("parts", "calls", "flop"):
        total: dict[str, Any] = defaultdict(float)
        for one in all_:
            for name, value in getattr(one, field).items():
                total[name] += value
        sums.append(dict(total))
    totals = [sum(getattr(one, field) for one in all_) for field in ("pages", "wall_s", "cpu_s", "stored_s")]
    return Spent(*totals, *sums)
