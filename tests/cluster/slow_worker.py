"""`python -m tests.cluster.slow_worker ROLE`: layout_worker or rec_worker of the light profile, whose synthetic networks take their time.

A page costs seconds without work of the processor, so that one process is too few for the load of a test on any machine, and so that
something is in flight whenever a process is asked to leave.
"""

from __future__ import annotations

import os
import sys

from shared.children.child import Child
from shared.settings import Settings, for_engine_child
from shared.streams.stage import Stage
from tests.faults.light import looker, reader, worker

LOOK = "DOCFLEET_CLUSTER_LOOK_SECONDS"
READ = "DOCFLEET_CLUSTER_READ_SECONDS"
READERS = 4
"""Pages that one process reads at once, with one stream (`engines.streams`). What is in flight beyond these waits for its turn."""


def create_looker(settings: object) -> looker.Looker:
    """The factory that `shared.children` calls."""
    looker.SECONDS = float(os.environ.get(LOOK, looker.SECONDS))
    return looker.Looker()


def create_reader(settings: object) -> reader.Reader:
    """The factory that `shared.children` calls."""
    reader.SECONDS = float(os.environ.get(READ, reader.SECONDS))
    return reader.Reader()


def layout_worker(settings: Settings) -> Stage[object]:
    from services.layout_worker.trust.comparing import Comparer

    stage = worker.layout_worker(settings)
    pages = stage._pages  # type: ignore[attr-defined]
    pages.engine = _child("create_looker", "layout-engine", settings, threads=4)
    pages._comparer = Comparer(pages.engine)
    return stage


def rec_worker(settings: Settings) -> Stage[object]:
    stage = worker.rec_worker(settings)
    stage._engine = _child("create_reader", "rec-engine", settings, threads=READERS)  # type: ignore[attr-defined]
    return stage


def _child(factory: str, name: str, settings: Settings, threads: int) -> Child:
    program = f"tests.cluster.slow_worker:{factory}"
    return Child(program, for_engine_child(settings), name=name, call_timeout_s=60.0, threads=threads)


if __name__ == "__main__":
    worker.STAGES |= {"layout_worker": layout_worker, "rec_worker": rec_worker}
    sys.exit(worker.main(sys.argv[1]))
