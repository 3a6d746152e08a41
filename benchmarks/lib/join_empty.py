"""The empty Faust agent that the join is measured against: one table write an event, nothing else. `python -m benchmarks.lib.join_empty`.

Broker, partitions and the number of events come from the environment; prints the seconds from the first event to the last.
"""

from __future__ import annotations

import os
import sys
import time

import faust

PARTITIONS = int(os.environ["BENCH_PARTITIONS"])
EVENTS = int(os.environ["BENCH_EVENTS"])

app = faust.App(
    "bench-empty",
    broker=f"kafka://{os.environ['BENCH_BOOTSTRAP']}",
    store="memory://",
    datadir=os.environ["BENCH_FOLDER"],
    autodiscover=False,
    web_enabled=False,
    topic_partitions=PARTITIONS,
    topic_disable_leader=True,
    table_standby_replicas=0,
    consumer_auto_offset_reset="earliest",
    broker_commit_interval=1.0,
)
source = app.topic("bench.source", key_serializer="raw", value_serializer="raw", partitions=PARTITIONS)
table = app.Table("written", key_type=bytes, value_type=bytes, partitions=PARTITIONS)


@app.agent(source)
async def agent(stream: faust.Stream) -> None:  # type: ignore[type-arg]
    count, began = 0, 0.0
    async for event in stream.events():
        if count == 0:
            began = time.monotonic()
        table[event.key] = event.value
        count += 1
        if count == EVENTS:
            sys.__stdout__.write(f"seconds {time.monotonic() - began}\n")  # type: ignore[union-attr]
            sys.__stdout__.flush()  # type: ignore[union-attr]
            os._exit(0)


if __name__ == "__main__":
    worker = faust.Worker(app, loglevel="error", redirect_stdouts=False)
    worker.execute_from_commandline()
