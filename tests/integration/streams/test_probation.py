"""After a death how many records run alone, one by one: a few of each partition, however many the stage works on at once."""

from __future__ import annotations

from confluent_kafka import Consumer, TopicPartition

from shared.streams.local import LocalBroker
from shared.streams.offsets import PROBATION, Progress, encode
from tests.integration.streams.test_runner import put, pytestmark, running, settings
from tests.support.toy import task

__all__ = ["pytestmark"]


async def test_a_death_sends_a_few_records_of_a_partition_through_alone_and_not_all_that_a_stage_may_hold() -> None:
    with LocalBroker() as local:
        bootstrap = local.bootstrap_servers
        names = [f"slow-0.1-{n:02d}" for n in range(60)]
        put(bootstrap, *map(task, names))
        group = Consumer({"bootstrap.servers": bootstrap, "group.id": "rec-worker", "log_level": 2})
        dead = encode(0, Progress(in_flight=frozenset({0, 20}), clean=False))
        group.commit(offsets=[TopicPartition("docs.rec", 0, 0, metadata=dead)], asynchronous=False)
        group.close()
        async with running(settings(bootstrap, max_in_flight=200)) as run:
            await run.until(lambda: len(run.stage.done) == len(names), 120)
    alone = [name for name in names if not run.stage.company[name]]
    assert alone[:PROBATION] == names[:PROBATION]
    assert names[20] in alone, "what was named as in flight runs alone, wherever it is"
    assert len(alone) <= PROBATION + 3, (
        "the others run together (the first and the last of them may happen to be alone)"
    )
