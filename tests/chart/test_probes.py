"""Probes and the time a pod has to drain, against what the services do."""

from __future__ import annotations

import math

import pytest

from shared.settings import GROUPS, Settings
from shared.streams.runner import GRACE_S
from tests.support.helm import CHART

pytestmark = pytest.mark.integration


def _stage(workload):
    return workload["metadata"]["labels"]["app.kubernetes.io/component"].replace("-", "_")


def _needed(drain_s: float) -> int:
    """When the watchdog of shared/streams/run.py has ended the process at the latest."""
    return math.ceil(drain_s + 4 * GRACE_S)


def test_grace_covers_the_drain_budget(scenario):
    for workload in scenario.workloads():
        grace = workload["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
        assert grace > _needed(Settings().stage(_stage(workload)).drain_s), workload["metadata"]["name"]


@pytest.mark.parametrize(("drain", "grace"), [(0, 25), (20, 45), (45, 70), (0.5, 26), (200, 225)])
def test_grace_follows_the_setting(render, drain, grace):
    rendered = render({"settings": {"stages": {"rec_worker": {"drain_s": drain}}}})
    pod = rendered.get("Deployment", "fleet-docfleet-rec-worker")["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] == grace >= _needed(drain) + 5
    others = rendered.get("Deployment", "fleet-docfleet-ingest")["spec"]["template"]["spec"]
    assert others["terminationGracePeriodSeconds"] == 45


def test_no_stage_waits_before_it_is_told(scenario):
    """Consumers serve no traffic, so a preStop pause would only eat the grace."""
    for _, pod in scenario.pods():
        assert not any("lifecycle" in container for container in pod["spec"]["containers"])


def test_the_image_s_tini_is_process_one(scenario):
    """As process 1 Python would not hear SIGTERM until its handler is there; a shell never."""
    for name, pod in scenario.pods():
        assert all("command" not in container for container in pod["spec"]["containers"]), name
    dockerfile = (CHART.parents[1] / "docker" / "Dockerfile").read_text("utf-8")
    assert dockerfile.count('ENTRYPOINT ["/usr/bin/tini", "--"]') == 2, "of the runtime stage and of ascend"


def test_commands_are_those_of_the_fleet(named):
    from docfleet.processes import MODULES

    commands = {
        _stage(one): one["spec"]["template"]["spec"]["containers"][0]["args"] for one in named("production").workloads()
    }
    assert commands == {name: ["python", "-m", module] for name, module in MODULES.items()}
    assert set(commands) == set(GROUPS)


def test_probes_ask_the_right_questions(scenario):
    for workload in scenario.workloads():
        (main,) = workload["spec"]["template"]["spec"]["containers"]
        paths = {name: main[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness", "readiness")}
        assert paths == {"startup": "/startupz", "liveness": "/livez", "readiness": "/readyz"}
        for name in paths:
            probe = main[f"{name}Probe"]
            assert probe["httpGet"]["port"] == "http"
            assert probe["timeoutSeconds"] >= 5, "a busy worker answers late"


def test_liveness_is_patient(scenario):
    """Hearts have limits of their own (a minute and more); a few lost answers must not kill work in flight."""
    for workload in scenario.workloads():
        probe = workload["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]
        assert probe["periodSeconds"] * probe["failureThreshold"] >= 30


def test_the_port_is_the_one_the_service_listens_on(scenario):
    for workload in scenario.workloads():
        (main,) = workload["spec"]["template"]["spec"]["containers"]
        env = {variable["name"]: variable.get("value") for variable in main["env"]}
        assert main["ports"] == [{"name": "http", "containerPort": 8080}]
        assert env[f"DOCFLEET_STAGES__{_stage(workload).upper()}__HTTP_PORT"] == "8080"


@pytest.mark.parametrize(("seconds", "failures"), [(5, 1), (300, 60), (901, 181)])
def test_startup_budget(render, seconds, failures):
    rendered = render({"stages": {"rec_worker": {"startupSeconds": seconds}}})
    probe = rendered.get("Deployment", "fleet-docfleet-rec-worker")["spec"]["template"]["spec"]["containers"][0][
        "startupProbe"
    ]
    assert (probe["periodSeconds"], probe["failureThreshold"]) == (5, failures)


def test_probe_paths_are_served():
    import urllib.request

    from shared.telemetry.health import Health, serve

    health = Health()
    health.ready("stage", True)
    port = serve(health, "127.0.0.1", 0)
    for path in ("/startupz", "/livez", "/readyz", "/metrics"):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            assert answer.status == 200, path


def test_rollouts_take_no_capacity(named):
    for workload in named("minimal").of("Deployment"):
        assert workload["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": "25%", "maxUnavailable": 0}
        assert workload["spec"]["minReadySeconds"] >= 10


def test_rollouts_with_cards_do_not_wait_for_a_spare_one(named):
    for name in ("fleet-docfleet-layout-worker", "fleet-docfleet-rec-worker"):
        strategy = named("ascend").get("Deployment", name)["spec"]["strategy"]["rollingUpdate"]
        assert strategy == {"maxSurge": 0, "maxUnavailable": 1}


def test_the_join_is_a_stateful_set(scenario):
    (join,) = scenario.of("StatefulSet")
    assert _stage(join) == "join"
    assert join["spec"]["podManagementPolicy"] == "Parallel"
    headless = scenario.get("Service", join["spec"]["serviceName"])
    assert headless["spec"]["clusterIP"] == "None"
    assert headless["spec"]["selector"] == join["spec"]["selector"]["matchLabels"]
