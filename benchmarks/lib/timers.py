"""CPU time by part of the work, inside one process: functions are wrapped, what is nested counts once, where it happened."""

from __future__ import annotations

import functools
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from shared.engines.engine import Array, BatchProfile, Engine, Network, TensorInfo


class Part(NamedTuple):
    """What was spent on a part: seconds, and how often it ran."""

    cpu_s: float
    calls: int


class Timers:
    """Sums by name. Thread safe; a thread's time goes to the innermost part it is in."""

    def __init__(self, clock: Callable[[], float] = time.thread_time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._parts: dict[str, list[float]] = defaultdict(lambda: [0.0, 0])
        self._local = threading.local()
        self._undo: list[Callable[[], None]] = []

    def parts(self) -> dict[str, Part]:
        with self._lock:
            return {name: Part(seconds, int(calls)) for name, (seconds, calls) in self._parts.items()}

    def clear(self) -> None:
        with self._lock:
            self._parts.clear()

    @contextmanager
    def part(self, name: str, clock: Callable[[], float] | None = None) -> Iterator[None]:
        """Time what runs inside. `clock` where the work is not done by this thread."""
        now = clock or self._clock
        nested: list[float] = getattr(self._local, "nested", [])
        self._local.nested = nested
        nested.append(0.0)
        started = now()
        try:
            yield
        finally:
            spent = now() - started
            inner = nested.pop()
            if nested:
                nested[-1] += spent
            with self._lock:
                entry = self._parts[name]
                entry[0] += max(0.0, spent - inner)
                entry[1] += 1

    def wrap(self, owner: Any, attribute: str, name: str) -> None:
        """Time every call of `owner.attribute` until `unwrap`."""
        function = getattr(owner, attribute)

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            with self.part(name):
                return function(*args, **kwargs)

        setattr(owner, attribute, timed)
        self._undo.append(lambda: setattr(owner, attribute, function))

    def unwrap(self) -> None:
        while self._undo:
            self._undo.pop()()


def model_of(path: Path) -> str:
    """The model of an installed network's file: its folder is `NAME-VERSION-HASH`."""
    return re.sub(r"-[^-]+-[0-9a-f]{12}$", "", path.parent.name)


class TimedEngine:
    """An engine whose networks are timed, by name and shape of their input: `name(model, shape)` is the part they count to."""

    def __init__(self, engine: Engine, timers: Timers, name: Callable[[str, tuple[int, ...]], str]) -> None:
        self.name = engine.name
        self.version = engine.version
        self.precision = engine.precision
        self.streams = engine.streams
        self.profile: BatchProfile = engine.profile
        self._engine = engine
        self._timers = timers
        self._name = name
        self.shapes: dict[str, list[tuple[str, tuple[int, ...]]]] = defaultdict(list)
        """Part to model and shape of each of its calls."""

    def load(self, path: Path) -> Network:
        return _TimedNetwork(self._engine.load(path), model_of(path), self)

    def time(self, model: str, shape: tuple[int, ...], run: Callable[[], list[Array]]) -> list[Array]:
        part = self._name(model, shape)
        # OpenVINO computes in a thread of its own, while the caller waits: the process's CPU time is that thread's, on a busy machine too.
        clock = time.process_time if self.name == "openvino" else None
        with self._timers.part(part, clock):
            result = run()
        self.shapes[part].append((model, shape))
        return result


class _TimedNetwork:
    def __init__(self, network: Network, model: str, engine: TimedEngine) -> None:
        self._network = network
        self._model = model
        self._engine = engine

    @property
    def inputs(self) -> list[TensorInfo]:
        return self._network.inputs

    @property
    def outputs(self) -> list[TensorInfo]:
        return self._network.outputs

    def infer(self, *arrays: Array) -> list[Array]:
        return self._engine.time(self._model, arrays[0].shape, lambda: self._network.infer(*arrays))
