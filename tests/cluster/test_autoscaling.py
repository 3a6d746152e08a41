"""The chart's autoscaling as one experiment, by an HPA and by KEDA: see `tests.cluster.experiment`. It shows behaviour, not speed.

DOCFLEET_CLUSTER_SAMPLES names a folder for what was sampled; `python -m tests.cluster.picture` draws it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from tests.cluster.experiment import MOST, NAMESPACE, PAGES_EACH, RELEASE, SOURCE, Experiment, running
from tests.cluster.samples import Lag, Parsed, Sample, Sampler
from tests.conftest import without
from tests.faults.redone import work_of
from tests.faults.servers import Servers
from tests.faults.submitting import Submitter
from tests.support.cluster.api import wait
from tests.support.helm import Helm
from tests.support.processes import Missing

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(3600)]

DOCUMENTS = int(os.environ.get("DOCFLEET_CLUSTER_DOCUMENTS", "200"))


@pytest.fixture(scope="module", params=["hpa", "keda"])
def experiment(
    request: pytest.FixtureRequest, helm: Helm, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Experiment]:
    """The release, scaled by the one or the other."""
    try:
        with running(helm, tmp_path_factory.mktemp(request.param), request.param) as one:
            yield one
    except Missing as missing:
        without(missing)


@pytest.fixture
def by_keda(experiment: Experiment) -> Experiment:
    """For what only KEDA has."""
    if experiment.method != "keda":
        pytest.skip("triggers are KEDA's")
    return experiment


def test_the_helm_test_sends_a_document_through(experiment):
    """The chart's own test, as `helm test` runs it: a document in, its words out."""
    experiment.helm_do("test", name=RELEASE, timeout=300)


def test_scaling_follows_the_work_and_loses_none(experiment):
    assert experiment.back_to_one(180), experiment.said()
    parsed = Parsed(experiment.servers.bootstrap)
    lag = Lag(experiment.servers.bootstrap, "rec-worker", ("docs.rec", "docs.rec.bulk"))
    names = [f"scaled-{number:04d}" for number in range(DOCUMENTS)]

    def look(at: float) -> Sample:
        wanted, ready = experiment.replicas()
        parsed.read()
        documents = len([name for name in names if name in parsed.documents])
        read = sum(path.read_text().count("\nD ") for path in experiment.work.glob("rec_worker-*.work"))
        return Sample(at, lag.records(), wanted, ready, read, documents)

    began = time.time()
    with Sampler(look) as sampler:
        time.sleep(5)  # a look at the fleet at rest, for the picture
        submitter = Submitter(experiment.servers)
        for name in names:
            submitter.submit(name, SOURCE)
        submitter.flush()

        def most() -> int:
            return max((sample.ready for sample in sampler.samples), default=0)

        try:
            wait("pods come", lambda: most() >= 3, 600, said=experiment.said)
            done = lambda: sampler.samples and sampler.samples[-1].documents == DOCUMENTS
            wait("every document is parsed", done, 1800, every=2, said=experiment.said)
            came_back = experiment.back_to_one(900)
            time.sleep(5)
        finally:
            if target := os.environ.get("DOCFLEET_CLUSTER_SAMPLES"):
                sampler.write(Path(target) / f"{experiment.method}.csv")
    assert came_back, experiment.said()
    assert 3 <= most() <= MOST

    parsed.read()
    assert {name: parsed.documents[name] for name in names} == dict.fromkeys(names, 1), "each document once"
    assert set(parsed.statuses) == {"success"}
    parsed.close()
    assert lag.records() == 0
    lag.close()

    work = work_of(experiment.work)
    assert work.records >= 2 * DOCUMENTS * PAGES_EACH, "a record of layout and one of reading for each page"
    assert work.redone == 0, f"work that was in flight began again: {work} {experiment.said()}"

    left = [one for one in experiment.kubelet.ended if one.component == "rec-worker" and one.at > began]
    assert len(left) >= 2, "pods went"
    for one in left:
        assert one.asked_s is not None, f"{one.pod} ended unasked with {one.code}"
        assert one.code == 0, f"{one.pod}: {one.code} after {one.asked_s:.1f} s"
        assert one.asked_s < one.grace_s, "SIGKILL"
    asked = [one.at - (one.asked_s or 0) - began for one in left]
    under_load = [at for at in asked if any(sample.lag for sample in sampler.samples if abs(sample.at - at) < 3)]
    print(
        {
            "most": most(),
            "records": work.records,
            "redone": work.redone,
            "went": len(left),
            "went_while_records_waited": len(under_load),
            "drained_s": [round(one.asked_s or 0, 1) for one in left],
            "looks": len(sampler.samples),
            "looks_that_failed": sampler.faults,
        }
    )
    assert under_load, "a pod went while there was work"


class TestWrongTriggers:
    """Mutations of what the chart renders, each found by what the test above asks for."""

    def test_a_topic_that_is_not_there_is_told(self, by_keda):
        """By the condition Fallback; only without a fallback, which the chart has, KEDA is not Ready."""
        assert by_keda.condition("Fallback") != "True"
        with by_keda.changed_trigger(topic="docs.wreck"):
            wait("KEDA falls back", lambda: by_keda.condition("Fallback") == "True", 180, said=by_keda.said)
            assert by_keda.condition("Ready") == "True"
            with by_keda.changed(fallback=None):
                wait("it is not ready", lambda: by_keda.condition("Ready") == "False", 120, said=by_keda.said)
        wait("the right topic is ready", lambda: by_keda.condition("Ready") == "True", 120, said=by_keda.said)
        wait("and asked", lambda: by_keda.condition("Fallback") == "False", 120, said=by_keda.said)

    def test_a_wrong_group_never_comes_back(self, by_keda):
        """KEDA calls it Ready; only that the stage does not come back shows it."""
        assert by_keda.back_to_one(300), by_keda.said()
        with by_keda.changed_trigger(consumerGroup="rec_worker"):
            wait("it grows without work", lambda: by_keda.replicas()[0] > 1, 300, said=by_keda.said)
            assert by_keda.condition("Ready") == "True"
            assert not by_keda.back_to_one(90)
        assert by_keda.back_to_one(900), by_keda.said()


class TestReportC7:
    """What the chart's test of the same name asks of rendered objects, asked of KEDA."""

    def test_a_partition_that_does_not_move_asks_for_one_pod(self, by_keda):
        """One bad partition must not scale to the maximum; without the chart's limit it does."""
        assert by_keda.back_to_one(300), by_keda.said()
        _left(by_keda.servers, "docs.stuck", 2_000, partitions=[3])
        with by_keda.changed_trigger(topic="docs.stuck"):
            wait("KEDA has looked", lambda: by_keda.condition("Active") == "True", 120, said=by_keda.said)
            seen = [by_keda.replicas()[0] for _ in range(20) if not time.sleep(1)]
            assert max(seen) == 1
        with by_keda.changed_trigger(topic="docs.stuck", limitToPartitionsWithLag="false"):
            wait("without the limit it grows", lambda: by_keda.replicas()[0] > 1, 120, said=by_keda.said)
        assert by_keda.back_to_one(900), by_keda.said()

    def test_a_broker_that_is_away_takes_nobody_away(self, by_keda):
        """The stage keeps its pods while KEDA gets no answer, by its fallback, and goes on scaling afterwards."""
        assert by_keda.back_to_one(300), by_keda.said()
        _left(by_keda.servers, "docs.left", 2_400, partitions=range(12))
        with by_keda.changed_trigger(topic="docs.left"):
            wait("pods come", lambda: by_keda.replicas()[0] == MOST, 300, said=by_keda.said)
            by_keda.servers.kafka.pause()
            try:
                wait("KEDA falls back", lambda: by_keda.condition("Fallback") == "True", 180, said=by_keda.said)
                seen = [by_keda.replicas()[0] for _ in range(60) if not time.sleep(1)]
                assert by_keda.condition("Fallback") == "True", "and stays there"
            finally:
                by_keda.servers.kafka.start()
            assert min(seen) == MOST, seen
            wait("KEDA asks again", lambda: by_keda.condition("Fallback") == "False", 180, said=by_keda.said)
        assert by_keda.back_to_one(900), by_keda.said()

    def test_an_idle_stage_goes_to_zero_only_where_that_was_chosen_and_the_next_record_brings_it_back(self, by_keda):
        assert by_keda.back_to_one(300), by_keda.said()
        time.sleep(45)  # twice the cooldown of the release: nothing is to happen
        assert by_keda.replicas() == (1, 1)
        by_keda.upgrade(least=0)
        gone = lambda: by_keda.replicas() == (0, 0) and not by_keda.kubelet.running("rec-worker")
        wait("the stage is gone", gone, 300, said=by_keda.said)
        parsed = Parsed(by_keda.servers.bootstrap)
        submitter = Submitter(by_keda.servers)
        submitter.submit("woken", SOURCE)
        submitter.flush()

        def done() -> bool:
            parsed.read()
            return parsed.documents["woken"] == 1

        wait("the document is parsed", done, 300, said=by_keda.said)
        parsed.close()
        by_keda.upgrade(least=1)
        assert by_keda.back_to_one(300), by_keda.said()


def _left(servers: Servers, topic: str, records: int, partitions: Sequence[int]) -> None:
    """A topic of twelve partitions with records in these, of which the group has committed none."""
    admin = servers.kafka.admin()
    for made in admin.create_topics([NewTopic(topic, num_partitions=12, replication_factor=1)]).values():
        made.result(30)
    producer = Producer({"bootstrap.servers": servers.bootstrap})
    for number in range(records):
        producer.produce(topic, str(number).encode(), partition=partitions[number % len(partitions)])
    assert producer.flush(60) == 0


def test_uninstall_drains(experiment):
    """Nobody is killed, and the claims of the API are gone."""
    experiment.helm_do("uninstall", name=RELEASE, timeout=300)
    gone = lambda: not experiment.api.list("Pod", NAMESPACE, "?labelSelector=app.kubernetes.io/name=docfleet")
    wait("no pod left", gone, 180, said=lambda: str(experiment.kubelet.broken))
    killed = [one for one in experiment.kubelet.ended if one.code == -9]
    assert killed == []
    wait("no autoscaler left", lambda: not experiment.api.list("HorizontalPodAutoscaler", NAMESPACE), 120)
