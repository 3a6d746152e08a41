"""`docfleet topics plan|apply` against a real cluster."""

from __future__ import annotations

from typing import Any

import pytest

from shared.settings import Settings
from shared.streams import catalog, topics
from shared.streams.cluster import Cluster
from tests.support.kafka import KafkaServer
from tests.support.topic import Writer

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]


@pytest.fixture
def settings(fresh_kafka: KafkaServer) -> Settings:
    return Settings(kafka={"bootstrap_servers": fresh_kafka.bootstrap})  # type: ignore[arg-type]


def changed(**changes: dict[str, Any]) -> catalog.Catalog:
    """The catalogue with fields of some topics changed (`__` in a name is a dot), without the lint."""
    import msgspec

    wanted = {name.replace("__", "."): fields for name, fields in changes.items()}
    found = [msgspec.structs.replace(topic, **wanted.get(topic.name, {})) for topic in catalog.load().topics]
    return catalog.Catalog(found, catalog.load().copartition)


def test_an_empty_cluster_gets_everything_and_a_second_plan_is_empty(kafka: KafkaServer) -> None:
    kafka.reset()
    settings = Settings(kafka={"bootstrap_servers": kafka.bootstrap})  # type: ignore[arg-type]
    first = topics.plan(settings)
    text = first.render()
    assert "+ docs.parsed  partitions=12 replication=1 cleanup.policy=compact" in text
    assert "group rec-worker begins at 0 of 12 partitions" in text
    assert "? replication 1 instead of 3" in text
    topics.apply(settings, first)
    second = topics.plan(settings)
    assert second.changes == []
    assert second.refusals == []
    with Cluster(settings) as cluster:
        assert cluster.partitions()["docs.rec.bulk"] == 12
        assert cluster.committed("assembler-join", "docs.results") == dict.fromkeys(range(12), 0)
        assert cluster.configs(["docs.control"])["docs.control"]["cleanup.policy"] == "compact,delete"


def test_configuration_is_altered_and_partitions_grow_with_their_offsets(settings: Settings) -> None:
    catalog_ = changed(docs__rec={"partitions": 14}, docs__dlq={"retention_ms": 1000})
    plan = topics.plan(settings, catalog_)
    assert "~ docs.rec  partitions 12 -> 14" in plan.render()
    assert "~ docs.dlq  retention.ms 2592000000 -> 1000" in plan.render()
    assert "+ docs.rec  group rec-worker begins at 0 of 2 partitions" in plan.render()
    topics.apply(settings, plan)
    assert topics.plan(settings, catalog_).changes == []


def test_a_topic_never_shrinks(settings: Settings) -> None:
    plan = topics.plan(settings, changed(docs__rec={"partitions": 6}))
    assert "! docs.rec has 12 partitions and can't shrink to 6" in plan.render()
    with pytest.raises(topics.TopicsRefused, match="can't shrink"):
        topics.apply(settings, plan)


def test_partitions_of_the_join_stay_while_documents_are_open(settings: Settings) -> None:
    more = catalog.load(partitions=13)
    assert topics.plan(settings, more).refusals == []
    writer = Writer(settings.kafka.bootstrap_servers)
    writer.write("docs.join.open", b"state", key=b"doc-1", partition=4)
    writer.flush()
    refusals = topics.plan(settings, more).refusals
    assert any("docs.results can't go from 12 to 13" in text and "documents are open" in text for text in refusals)
    writer.write("docs.join.open", None, key=b"doc-1", partition=4)
    writer.flush()
    assert topics.plan(settings, more).refusals == []
    writer.write("docs.results", b"{}", key=b"doc-2")
    writer.flush()
    refusals = topics.plan(settings, more).refusals
    assert any("unread records in docs.results" in text for text in refusals)


def test_a_group_that_lost_its_offsets_is_somebodys_decision(settings: Settings, fresh_kafka: KafkaServer) -> None:
    writer = Writer(settings.kafka.bootstrap_servers)
    writer.write("docs.vl", b"{}", partition=5)
    writer.flush()
    admin = fresh_kafka.admin()
    admin.delete_consumer_groups(["vl-worker"])["vl-worker"].result(20)
    plan = topics.plan(settings)
    assert [text for text in plan.refusals if "vl-worker" in text and "docs.vl " in text]
    skip = topics.plan(settings, lost_offsets="end")
    assert skip.refusals == []
    topics.apply(settings, skip)
    with Cluster(settings) as cluster:
        assert cluster.committed("vl-worker", "docs.vl") == {p: int(p == 5) for p in range(12)}
        assert cluster.lag("vl-worker", "docs.vl") == 0
