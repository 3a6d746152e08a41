"""Autoscaling by the chart: bounds, targets, how it goes down; field report C7 and its kind."""

from __future__ import annotations

import json

import pytest

from shared.settings import GROUPS, Settings
from shared.streams import catalog
from tests.support.helm import HelmRefused

pytestmark = pytest.mark.integration

SCALED = ("ingest", "layout_worker", "rec_worker", "vl_worker", "compose")
KEDA = {"autoscaling": {"method": "keda"}}


def _name(stage: str) -> str:
    return f"fleet-docfleet-{stage.replace('_', '-')}"


def _kafka(scaled):
    return [trigger["metadata"] for trigger in scaled["spec"]["triggers"] if trigger["type"] == "kafka"]


def test_nothing_scales_unless_asked(named):
    rendered = named("minimal")
    assert not rendered.of("ScaledObject") + rendered.of("HorizontalPodAutoscaler")
    assert all("replicas" in one["spec"] for one in rendered.workloads())


def test_every_stage_but_the_join_is_scaled(named):
    rendered = named("production")
    assert {one["metadata"]["name"] for one in rendered.of("ScaledObject")} == {_name(stage) for stage in SCALED}


def test_replicas_are_left_to_the_autoscaler(named):
    """A number here would take pods away at every upgrade."""
    for method in ("production", "hpa"):
        for stage in ("ingest", "rec_worker", "compose"):
            assert "replicas" not in named(method).get("Deployment", _name(stage))["spec"]
        assert named(method).of("StatefulSet")[0]["spec"]["replicas"] >= 1


def test_targets_exist(scenario):
    for one in scenario.of("ScaledObject") + scenario.of("HorizontalPodAutoscaler"):
        target = one["spec"]["scaleTargetRef"]
        assert scenario.get(target["kind"], target["name"])


def test_triggers_look_at_the_topics_and_the_group_of_the_stage(named):
    """A wrong group stays Ready in KEDA and scales nothing, so the names come from the code and are compared with it here."""
    topics = catalog.load()
    for stage in SCALED:
        triggers = _kafka(named("production").get("ScaledObject", _name(stage)))
        assert {one["consumerGroup"] for one in triggers} == {GROUPS[stage]}
        assert [one["topic"] for one in triggers] == [topic.name for topic in topics.read_by(GROUPS[stage])]
        assert all(
            one["bootstrapServers"] == "kafka-0.kafka:9093,kafka-1.kafka:9093,kafka-2.kafka:9093" for one in triggers
        )


def test_never_above_the_partitions(scenario, named):
    for one in scenario.of("ScaledObject"):
        partitions = 48 if scenario is named("strimzi") else catalog.load()["docs.rec"].partitions
        assert 0 < one["spec"]["maxReplicaCount"] <= partitions
    for one in scenario.of("HorizontalPodAutoscaler"):
        assert 0 < one["spec"]["minReplicas"] <= one["spec"]["maxReplicas"] <= 12


@pytest.mark.parametrize("scaling", [{"max": 13}, {"min": 13, "max": 14}])
def test_more_pods_than_partitions_are_refused(render, scaling):
    with pytest.raises(HelmRefused, match="above the 12 partitions"):
        render({**KEDA, "stages": {"rec_worker": {"autoscaling": scaling}}})


def test_more_replicas_than_partitions_are_refused(render):
    with pytest.raises(HelmRefused, match="above the 12 partitions"):
        render({"stages": {"rec_worker": {"replicas": 13}}})
    assert render({"topics": {"partitions": 24}, "stages": {"rec_worker": {"replicas": 13}}})


def test_bounds_follow_the_partitions(render):
    rendered = render({**KEDA, "topics": {"partitions": 30}})
    assert rendered.get("ScaledObject", _name("rec_worker"))["spec"]["maxReplicaCount"] == 30
    (job,) = rendered.of("Job")
    assert job["spec"]["template"]["spec"]["containers"][0]["args"] == [
        "docfleet",
        "topics",
        "apply",
        "--partitions",
        "30",
    ]


@pytest.mark.parametrize(
    ("rate", "seconds", "threshold"),
    [(1.2, 60, 72), (5, 30, 150), (0.1, 60, 16), (2.01, 10, 21)],
)
def test_the_target_is_rate_by_seconds(render, rate, seconds, threshold):
    """And never less than one pod has in flight: committed lag shows that as waiting."""
    rendered = render(
        {**KEDA, "stages": {"rec_worker": {"autoscaling": {"pagesPerSecond": rate, "targetSeconds": seconds}}}}
    )
    for trigger in _kafka(rendered.get("ScaledObject", _name("rec_worker"))):
        assert trigger["lagThreshold"] == str(threshold)


def test_the_target_is_never_below_what_is_in_flight(named, render):
    for stage in SCALED:
        in_flight = Settings().stage(stage).max_in_flight
        for trigger in _kafka(named("production").get("ScaledObject", _name(stage))):
            assert int(trigger["lagThreshold"]) >= in_flight, stage
    wide = render({**KEDA, "settings": {"stages": {"rec_worker": {"max_in_flight": 500}}}})
    assert _kafka(wide.get("ScaledObject", _name("rec_worker")))[0]["lagThreshold"] == "500"


def test_pages_that_wait_are_the_second_trigger(named):
    for stage, waiting in (("layout_worker", "layout|unreleased"), ("rec_worker", "reading"), ("compose", "composing")):
        (trigger,) = [
            t
            for t in named("production").get("ScaledObject", _name(stage))["spec"]["triggers"]
            if t["type"] == "prometheus"
        ]
        assert (
            trigger["metadata"]["query"] == f'sum(docfleet_pending_pages{{namespace="documents",stage=~"{waiting}"}})'
        )
        assert trigger["metadata"]["ignoreNullValues"] == "false", "no sample must not take pods away"


def test_the_metric_exists_with_these_stages():
    from services.assembler.join import figures
    from shared.telemetry import metrics

    assert metrics.PENDING_PAGES._labelnames == ("stage",)
    assert {"layout", "unreleased", "reading", "composing"} <= set(figures.STAGES)


def test_lag_alone_without_prometheus(named):
    for one in named("ascend").of("ScaledObject"):
        assert {trigger["type"] for trigger in one["spec"]["triggers"]} == {"kafka"}


def test_trigger_names_are_different(scenario):
    for one in scenario.of("ScaledObject"):
        names = [trigger["name"] for trigger in one["spec"]["triggers"]]
        assert len(names) == len(set(names))


def test_keda_has_the_broker_s_credentials(named):
    rendered = named("production")
    (auth,) = rendered.of("TriggerAuthentication")
    assert {one["parameter"]: one["name"] for one in auth["spec"]["secretTargetRef"]} == {
        "username": "kafka-user",
        "password": "kafka-user",
        "ca": "kafka-ca",
    }
    for one in rendered.of("ScaledObject"):
        for trigger in one["spec"]["triggers"]:
            if trigger["type"] == "kafka":
                assert trigger["authenticationRef"]["name"] == auth["metadata"]["name"]
                assert (trigger["metadata"]["sasl"], trigger["metadata"]["tls"]) == ("scram_sha512", "enable")


@pytest.mark.parametrize(
    ("mechanism", "name"),
    [
        ("PLAIN", "plaintext"),
        ("SCRAM-SHA-256", "scram_sha256"),
        ("SCRAM-SHA-512", "scram_sha512"),
        ("OAUTHBEARER", "oauthbearer"),
    ],
)
def test_mechanisms_have_keda_s_names(render, mechanism, name):
    rendered = render(
        {
            **KEDA,
            "settings": {"kafka": {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": mechanism}},
            "kafka": {"existingSecret": "user"},
        }
    )
    assert _kafka(rendered.get("ScaledObject", _name("rec_worker")))[0]["sasl"] == name


def test_plain_brokers_need_no_authentication(named):
    assert not named("idle").of("TriggerAuthentication")
    assert "authenticationRef" not in json.dumps(named("idle").of("ScaledObject"))


def test_hpa_is_the_other_way(named):
    rendered = named("hpa")
    hpa = rendered.get("HorizontalPodAutoscaler", _name("rec_worker"))
    assert (hpa["spec"]["minReplicas"], hpa["spec"]["maxReplicas"]) == (2, 6)
    metrics = [one["external"]["metric"] for one in hpa["spec"]["metrics"]]
    assert metrics[0] == {
        "name": "kafka_consumergroup_lag",
        "selector": {"matchLabels": {"consumergroup": "rec-worker", "topic": "docs.rec"}},
    }
    assert metrics[-1]["selector"]["matchExpressions"][0]["values"] == ["reading"]
    assert not rendered.of("ScaledObject")


def test_one_autoscaler_a_stage(scenario):
    """KEDA's HPA has the name of the stage: two on one Deployment would fight."""
    names = [one["metadata"]["name"] for one in scenario.of("HorizontalPodAutoscaler")]
    names += [one["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["name"] for one in scenario.of("ScaledObject")]
    assert len(names) == len(set(names))


class TestReportC7:
    """kedacore/keda 5096, 3904, 4098, 2033, 6719: scale-down kills busy pods; the lag of one broken partition scales to the maximum; a
    broker that is replaced scales to nothing."""

    def _behaviours(self, rendered):
        for one in rendered.of("ScaledObject"):
            yield one, one["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
        for one in rendered.of("HorizontalPodAutoscaler"):
            yield one, one["spec"]["behavior"]

    def test_down_goes_one_at_a_time_and_waits_for_the_last(self, scenario):
        for one, behaviour in self._behaviours(scenario):
            down = behaviour["scaleDown"]
            assert down["stabilizationWindowSeconds"] >= 300
            (policy,) = down["policies"]
            assert (policy["type"], policy["value"]) == ("Pods", 1)
            target = one["spec"]["scaleTargetRef"]
            grace = scenario.get(target["kind"], target["name"])["spec"]["template"]["spec"][
                "terminationGracePeriodSeconds"
            ]
            assert policy["periodSeconds"] >= min(grace, 1800), "the next pod would go while the last one drains"

    def test_up_does_not_wait(self, scenario):
        for _, behaviour in self._behaviours(scenario):
            assert behaviour["scaleUp"]["stabilizationWindowSeconds"] == 0

    def test_a_broken_partition_asks_for_one_pod(self, scenario):
        for one in scenario.of("ScaledObject"):
            for trigger in _kafka(one):
                assert trigger["limitToPartitionsWithLag"] == "true"
                assert trigger["allowIdleConsumers"] == "false", (
                    "KEDA refuses both together, and idle consumers help nobody"
                )

    def test_lost_offsets_scale_to_nothing_nowhere(self, scenario):
        for one in scenario.of("ScaledObject"):
            for trigger in _kafka(one):
                assert trigger["scaleToZeroOnInvalidOffset"] == "false"
                assert trigger["offsetResetPolicy"] == "earliest"
                assert trigger["topic"], "without a topic a stage at zero never wakes"

    def test_one_pod_stays_unless_zero_was_chosen(self, named):
        for one in named("production").of("ScaledObject"):
            assert one["spec"]["minReplicaCount"] == 1
        for one in named("idle").of("ScaledObject"):
            assert one["spec"]["minReplicaCount"] == 0

    def test_a_broker_that_does_not_answer_takes_nobody_away(self, named):
        """With a threshold above 0 KEDA 2.21 stops counting after the first failure where the broker cannot be reached (tests/cluster)."""
        for one in named("production").of("ScaledObject"):
            assert one["spec"]["fallback"] == {
                "failureThreshold": 0,
                "replicas": 1,
                "behavior": "currentReplicasIfHigher",
            }

    def test_the_join_never_goes_to_zero(self, render):
        with pytest.raises(HelmRefused, match=r"stages\.join\.autoscaling\.min"):
            render({**KEDA, "stages": {"join": {"autoscaling": {"enabled": True, "min": 0}}}})

    def test_a_stage_at_zero_wakes_by_either_lane(self, named):
        for one in named("idle").of("ScaledObject"):
            topics = [trigger["topic"] for trigger in _kafka(one)]
            assert topics == [topics[0], f"{topics[0]}.bulk"]
            assert {trigger["activationLagThreshold"] for trigger in _kafka(one)} == {"0"}

    def test_evictions_take_one_at_a_time(self, scenario):
        for workload in scenario.workloads():
            budget = scenario.get("PodDisruptionBudget", workload["metadata"]["name"])
            assert budget["spec"]["maxUnavailable"] == 1
            assert budget["spec"]["selector"] == workload["spec"]["selector"]
            assert budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow", (
                "a pod that never gets ready would hold its node for ever"
            )


def test_sizing_gives_values_the_chart_takes(render):
    import yaml

    from docfleet import sizing

    for pages in (1e4, 1e6, 1e7):
        answer = sizing.size(pages, "cpu", vl_regions=0.4)
        values = yaml.safe_load(sizing.values(answer, 0.7))
        rendered = render(values)
        for stage in answer.stages:
            if stage.name != "join":
                assert rendered.get("ScaledObject", _name(stage.name))["spec"]["maxReplicaCount"] == stage.pods
