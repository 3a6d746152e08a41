"""One producer per process: no acknowledgement lost, nothing written twice, nothing too large."""

from __future__ import annotations

from collections import Counter

import pytest

from shared.contracts.codec import decode
from shared.contracts.errors import DocfleetError
from shared.contracts.records import RecTask
from shared.settings import Settings
from shared.streams.outputs import Outputs
from shared.streams.stage import Emit
from shared.telemetry import tracing
from tests.support import topic
from tests.support.kafka import KafkaServer
from tests.support.proxy import LosesAnswers
from tests.support.toy import task

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]


async def test_lost_acknowledgements_double_nothing(kafka_behind_proxy: tuple[KafkaServer, LosesAnswers]) -> None:
    server, proxy = kafka_behind_proxy
    proxy.lose(0.2)
    await _produce_and_count(server.bootstrap)
    assert proxy.lost >= 5


async def _produce_and_count(bootstrap: str) -> None:
    settings = Settings(kafka={"bootstrap_servers": bootstrap})  # type: ignore[arg-type]
    outputs = Outputs(settings, "test")
    for round_ in range(30):
        emits = [Emit("docs.rec", f"k{n}", task(f"{round_}-{n}")) for n in range(10)]
        await outputs.deliver(emits, tracing.new())
    assert outputs.close(10) == 0
    found = topic.read(bootstrap, "docs.rec", 300, 30, 1.0)
    assert Counter(decode(m.value(), RecTask).task_id for m in found) == {
        f"{r}-{n}": 1 for r in range(30) for n in range(10)
    }


async def test_a_record_that_is_too_large_is_refused_before_anything_is_sent(fresh_kafka: KafkaServer) -> None:
    settings = Settings(kafka={"bootstrap_servers": fresh_kafka.bootstrap})  # type: ignore[arg-type]
    outputs = Outputs(settings, "test")
    emits = [Emit("docs.rec", "k", task("ok-1")), Emit("docs.rec", "k", task("x", regions=["r" * 30] * 1000))]
    with pytest.raises(DocfleetError, match="above the limit"):
        await outputs.deliver(emits, tracing.new())
    await outputs.deliver([Emit("docs.rec", "k", task("ok-2"))], tracing.new())
    outputs.close(10)
    found = topic.read(fresh_kafka.bootstrap, "docs.rec", 1, 30, 0.5)
    assert [decode(m.value(), RecTask).task_id for m in found] == ["ok-2"]
