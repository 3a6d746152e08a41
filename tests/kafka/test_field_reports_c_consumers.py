"""Field reports C4, C5 and C6 on Apache Kafka: work that outlasts a poll interval, members that come while work runs, members that go."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.kafka import KafkaServer
from tests.support.toys import Toys, answers, lag

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def toys(fresh_kafka: KafkaServer, tmp_path: Path) -> Iterator[Toys]:
    with Toys(fresh_kafka.bootstrap, tmp_path) as started:
        yield started


def members(bootstrap: str) -> set[str]:
    """Member ids of the group: a member that was put out comes back under another."""
    admin = KafkaServer(external=bootstrap).admin()
    group = admin.describe_consumer_groups(["rec-worker"], request_timeout=20)["rec-worker"].result(30)
    return {member.member_id for member in group.members}


def test_c4_work_that_outlasts_the_poll_interval_is_done_once_by_the_same_members(toys, monkeypatch) -> None:
    monkeypatch.setenv("DOCFLEET_KAFKA__EXTRA", '{"max.poll.interval.ms": "6000"}')
    names = ["slow-14-x", *(f"slow-0.2-{n}" for n in range(60))]
    toys.put(*names)
    worker = toys.start()
    monkeypatch.delenv("DOCFLEET_KAFKA__EXTRA")
    toys.until(lambda: toys.tries()["slow-14-x"] == 1)
    before = members(toys.bootstrap)
    assert before
    toys.until(lambda: toys.tries("done")["slow-14-x"] == 1)
    assert members(toys.bootstrap) == before
    assert toys.metric(worker, 'docfleet_rebalances_total{event="lost"}') == 0
    assert toys.metric(worker, 'docfleet_rebalances_total{event="revoked"}') == 0
    assert toys.metric(worker, 'docfleet_commits_total{outcome="refused"}') == 0
    toys.until(lambda: lag(toys.bootstrap) == 0)
    assert toys.tries() == dict.fromkeys(names, 1)
    assert answers(toys.bootstrap, len(names)) == dict.fromkeys(names, 1)


def test_c5_a_third_member_that_comes_while_four_documents_run_doubles_none_and_blocks_nothing(toys) -> None:
    long = [f"slow-8-{n}" for n in range(4)]
    names = [*long, *(f"slow-0.1-{n}" for n in range(300))]
    toys.put(*names)
    workers = [toys.start(), toys.start()]
    toys.until(lambda: all(toys.partitions(worker) > 0 for worker in workers))
    toys.until(lambda: all(toys.tries()[name] for name in long))
    third = toys.start()
    toys.until(lambda: toys.partitions(third) > 0)
    toys.until(lambda: lag(toys.bootstrap) == 0, 120)
    assert toys.tries() == dict.fromkeys(names, 1), "what was in flight was drained before its partition went"
    assert answers(toys.bootstrap, len(names)) == dict.fromkeys(names, 1)


def test_c6_a_worker_that_leaves_amid_a_long_document_holds_up_nobody(toys) -> None:
    """With static membership, as a rolling deployment has it: the long document is abandoned at the end of the drain budget, the others'
    work goes on meanwhile, and who comes back under the same name does it."""
    workers = {name: toys.start(name, drain_s=2) for name in ("static-a", "static-b")}
    toys.until(lambda: all(toys.partitions(worker) > 0 for worker in workers.values()))
    toys.put("slow-12-x")
    toys.until(lambda: toys.tries()["slow-12-x"] == 1)
    name = next(name for name, worker in workers.items() if toys.tries(process=worker))
    leaving = workers.pop(name)
    (staying,) = workers.values()
    assert toys.stop(leaving) == 0
    assert toys.tries("done") == {}, "abandoned, not waited for"
    late = [f"ok-{n}" for n in range(100)]
    toys.put(*late)
    toys.until(lambda: len(toys.tries("done", staying)) > 0)
    back = toys.start(name, drain_s=2)
    toys.until(lambda: lag(toys.bootstrap) == 0, 120)
    assert answers(toys.bootstrap, len(late) + 1) == dict.fromkeys(["slow-12-x", *late], 1)
    assert toys.tries("done", back) + toys.tries("done", staying) == dict.fromkeys(["slow-12-x", *late], 1)
