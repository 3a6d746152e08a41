"""`python -m tests.faults.light.worker ROLE`: the shipped stage of that role, its engine child synthetic, its work logged.

Every start and end of work on a record is a line in the folder that DOCFLEET_FAULTS_WORKLOG names, so that redone work can be counted.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shared.children.child import Child
from shared.contracts.errors import DocfleetError
from shared.settings import Settings, for_engine_child
from shared.streams.run import run
from shared.streams.stage import Delivery, Emit, Stage
from tests.faults.light import newer

FOLDER = "DOCFLEET_FAULTS_WORKLOG"
HARM = "DOCFLEET_FAULTS_HARM"
"""Lets planted documents harm the process (`tests.faults.poison`)."""
NEXT_SCHEMA = "DOCFLEET_FAULTS_NEXT_SCHEMA"
"""Makes the process one of the next version (`tests.faults.light.newer`)."""


def ingest(settings: Settings) -> Stage[Any]:
    from services.ingest.service import Ingest

    return Ingest(settings)


def layout_worker(settings: Settings) -> Stage[Any]:
    from services.layout_worker.service import LayoutWorker
    from services.layout_worker.trust.comparing import Comparer

    stage = LayoutWorker(settings)
    pages = stage._pages
    pages.engine = _synthetic("looker", "layout-engine", settings, threads=4)
    pages._comparer = Comparer(pages.engine)
    return stage


def rec_worker(settings: Settings) -> Stage[Any]:
    from services.rec_worker.service import RecWorker

    stage = RecWorker(settings)
    stage._engine = _synthetic("reader", "rec-engine", settings, threads=8)
    return stage


def vl_worker(settings: Settings) -> Stage[Any]:
    from services.vl_worker.service import VlWorker

    return VlWorker(settings)


def compose(settings: Settings) -> Stage[Any]:
    from services.assembler.compose.service import Compose

    return Compose(settings)


def _synthetic(program: str, name: str, settings: Settings, threads: int) -> Child:
    return Child(
        f"tests.faults.light.{program}:create",
        for_engine_child(settings),
        name=name,
        call_timeout_s=60.0,
        threads=threads,
    )


class Logged:
    """A stage, and the log of what it works on: `S` or `D` (started, done), topic, partition, offset, seconds since the epoch."""

    def __init__(self, stage: Stage[Any], folder: Path) -> None:
        self._stage = stage
        path = folder / f"{stage.name}-{os.getpid()}.work"
        self._log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stage, name)

    async def process(self, delivery: Delivery[Any]) -> list[Emit]:
        place = f"{delivery.topic} {delivery.partition} {delivery.offset}"
        os.write(self._log, f"S {place} {time.time():.3f}\n".encode())
        try:
            emits = await self._stage.process(delivery)
        except DocfleetError:
            self._done(place)  # an outcome like any other
            raise
        self._done(place)
        return emits

    def _done(self, place: str) -> None:
        os.write(self._log, f"D {place} {time.time():.3f}\n".encode())


STAGES: dict[str, Callable[[Settings], Stage[Any]]] = {
    "ingest": ingest,
    "layout_worker": layout_worker,
    "rec_worker": rec_worker,
    "vl_worker": vl_worker,
    "compose": compose,
}


def make(role: str, settings: Settings) -> Stage[Any]:
    """The stage of a role, logged; one of the next version where that is asked for."""
    stage = STAGES[role](settings)
    if HARM in os.environ:
        stage = importlib.import_module("tests.faults.poison.worker").harmed(stage, settings)
    if NEXT_SCHEMA in os.environ:
        newer.install()
    return Logged(stage, Path(os.environ[FOLDER]))


def join() -> int:
    """The shipped join, on Faust. Without logged work: it handles events, and their effect is looked at."""
    from services.assembler.join import __main__

    if NEXT_SCHEMA in os.environ:
        importlib.import_module("services.assembler.join.faust_run")  # so that there is something to replace
        newer.install()
    return __main__.main()


def main(role: str) -> int:
    """Run the process of a role; its exit code."""
    return join() if role == "join" else run(lambda settings: make(role, settings))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
