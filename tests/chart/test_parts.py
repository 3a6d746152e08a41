"""Images, cards and models, topics, maintenance, monitoring, the helm test, and what is refused."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from shared.streams import catalog
from tests.support.helm import CHART, HelmRefused

pytestmark = pytest.mark.integration

OBSERVABILITY = CHART.parents[1] / "observability"


def _main(rendered, stage, kind="Deployment"):
    return rendered.get(kind, f"fleet-docfleet-{stage}")["spec"]["template"]["spec"]["containers"][0]


# --- images, cards, models ----------------------------------------------------------------------------------------------


def test_images(named):
    assert _main(named("minimal"), "ingest")["image"] == "docfleet-core:0.1.0"
    assert _main(named("minimal"), "rec-worker")["image"] == "docfleet-cpu:0.1.0"
    assert _main(named("production"), "rec-worker")["image"] == "registry.example.com/team/docfleet-cpu:0.1.0"
    assert _main(named("ascend"), "rec-worker")["image"] == "docfleet-ascend:0.1.0"
    assert _main(named("gpu"), "rec-worker")["image"] == "registry.example.com/docfleet-cuda:0.1.0"
    assert (
        named("bare")
        .workloads()[0]["spec"]["template"]["spec"]["containers"][0]["image"]
        .startswith("docfleet-core@sha256:0")
    )


def test_pull_secrets_reach_every_pod(named):
    for name, pod in named("production").pods():
        assert pod["spec"]["imagePullSecrets"] == [{"name": "pull"}], name


def test_an_image_that_nobody_named_is_refused(render):
    with pytest.raises(HelmRefused, match='no "abacus"'):
        render({"stages": {"rec_worker": {"image": "abacus"}}})


@pytest.mark.parametrize(
    "resource",
    ["huawei.com/Ascend910", "huawei.com/Ascend310P", "huawei.com/npu", "huawei.com/ascend-1980", "nvidia.com/gpu"],
)
def test_cards_by_value(render, resource):
    rendered = render({"stages": {"rec_worker": {"accelerator": {"resource": resource, "count": 2}}}})
    resources = _main(rendered, "rec-worker")["resources"]
    assert resources["limits"][resource] == resources["requests"][resource] == 2
    assert resources["limits"]["memory"] == "3Gi", "what the stage has anyway stays"
    assert resource not in json.dumps(rendered.get("Deployment", "fleet-docfleet-layout-worker"))


def test_om_models_are_copied_as_ais_bench_wants_them(named):
    rendered = named("ascend")
    for stage in ("layout-worker", "rec-worker"):
        pod = rendered.get("Deployment", f"fleet-docfleet-{stage}")["spec"]["template"]["spec"]
        (init,) = pod["initContainers"]
        assert init["image"] == "docfleet-ascend:0.1.0"
        assert {"name": "SOURCE", "value": "/source/ppocr"} in init["env"]
        (mount,) = [one for one in pod["containers"][0]["volumeMounts"] if one["name"] == "models"]
        assert mount == {"name": "models", "mountPath": "/models", "readOnly": True}
        env = {variable["name"]: variable.get("value") for variable in pod["containers"][0]["env"]}
        assert env["DOCFLEET_ENGINES__MODELS"] == "/models", "the image's own variable would win over the settings"
        assert pod["securityContext"]["supplementalGroups"] == [1000]
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        assert volumes["source"]["persistentVolumeClaim"] == {"claimName": "om-models", "readOnly": True}
    assert "initContainers" not in rendered.get("Deployment", "fleet-docfleet-compose")["spec"]["template"]["spec"]


def test_the_copy_does_what_it_says(named, tmp_path):
    """The script itself, on the traps of real volumes: links of a ConfigMap, files that the group may write."""
    (init,) = named("ascend").get("Deployment", "fleet-docfleet-rec-worker")["spec"]["template"]["spec"][
        "initContainers"
    ]
    source, models = tmp_path / "source", tmp_path / "models"
    (source / "..data" / "v1").mkdir(parents=True)
    (source / "..data" / "v1" / "rec.om").write_bytes(b"om")
    (source / "rec.om").symlink_to(source / "..data" / "v1" / "rec.om")
    (source / "sub").mkdir()
    (source / "sub" / "det.om").write_bytes(b"om")
    (source / "sub" / "det.om").chmod(0o664)
    models.mkdir()
    script = init["args"][0].replace("/models", str(models))
    subprocess.run(["sh", "-ec", script], env={"SOURCE": str(source), "PATH": "/usr/bin:/bin"}, check=True)
    for path in (models / "rec.om", models / "sub" / "det.om"):
        assert not path.is_symlink()
        assert path.stat().st_mode & 0o777 == 0o440
    shutil.rmtree(source)
    source.mkdir()
    (source / "readme").write_text("no model")
    for path in models.rglob("*.om"):
        path.unlink()
    empty = subprocess.run(
        ["sh", "-ec", script],
        env={"SOURCE": str(source), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert empty.returncode == 1
    assert "no .om file below" in empty.stderr


def test_volcano(named):
    pod = named("volcano").get("Deployment", "fleet-docfleet-rec-worker")["spec"]["template"]
    assert pod["spec"]["schedulerName"] == "volcano"
    assert pod["metadata"]["labels"]["ring-controller.atlas"] == "ascend-310P"
    assert pod["spec"]["initContainers"][0]["image"] == "registry.example.com/om-310p:2026-11"


def test_gpu(named):
    pod = named("gpu").get("Deployment", "fleet-docfleet-rec-worker")["spec"]["template"]["spec"]
    assert (pod["runtimeClassName"], pod["priorityClassName"]) == ("nvidia", "batch")


def test_spread(named):
    for workload in named("minimal").workloads():
        spread = workload["spec"]["template"]["spec"]["topologySpreadConstraints"]
        assert [one["topologyKey"] for one in spread] == ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
        for one in spread:
            assert one["whenUnsatisfiable"] == "ScheduleAnyway"
            assert one["labelSelector"] == workload["spec"]["selector"]
            kind = "controller-revision-hash" if workload["kind"] == "StatefulSet" else "pod-template-hash"
            assert one["matchLabelKeys"] == [kind]


# --- topics and maintenance ---------------------------------------------------------------------------------------------


def test_topics_come_before_the_pods(named):
    (job,) = named("minimal").of("Job")
    hook = job["metadata"]["annotations"]
    assert hook["helm.sh/hook"] == "pre-install,pre-upgrade"
    pod = job["spec"]["template"]["spec"]
    assert pod["containers"][0]["args"] == ["docfleet", "topics", "apply"]
    config = named("minimal").get("ConfigMap", pod["volumes"][0]["configMap"]["name"])
    assert config["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert int(config["metadata"]["annotations"]["helm.sh/hook-weight"]) < int(hook["helm.sh/hook-weight"])
    assert pod["serviceAccountName"] == "default", "the release's own account does not exist yet"


def test_strimzi_topics_are_those_of_the_catalogue(named):
    rendered = named("strimzi")
    wanted = catalog.load(partitions=48)
    found = {one["spec"]["topicName"]: one for one in rendered.of("KafkaTopic")}
    assert set(found) == set(wanted.names())
    for topic in wanted.topics:
        one = found[topic.name]
        assert one["spec"]["partitions"] == topic.partitions
        assert one["spec"]["replicas"] == topic.replication
        assert {key: str(value) for key, value in one["spec"]["config"].items()} == topic.config(topic.replication)
        assert one["metadata"]["labels"]["strimzi.io/cluster"] == "main"
        assert one["metadata"]["namespace"] == "kafka"
        assert one["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


def test_strimzi_groups_get_their_offsets(named):
    (job,) = named("strimzi").of("Job")
    assert job["metadata"]["name"] == "fleet-docfleet-topics-1"
    assert "annotations" not in job["metadata"]
    assert job["spec"]["template"]["spec"]["containers"][0]["args"] == [
        "docfleet",
        "topics",
        "apply",
        "--partitions",
        "48",
    ]


def test_no_topics(named):
    assert not named("bare").of("Job") + named("bare").of("KafkaTopic")


def _commands(rendered):
    for one in rendered.of("CronJob"):
        yield one, one["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]


def test_maintenance(named):
    commands = {one["metadata"]["name"]: main["args"] for one, main in _commands(named("production"))}
    assert commands == {
        "fleet-docfleet-trim": ["docfleet", "topics", "trim", "--send"],
        "fleet-docfleet-purge": ["docfleet", "purge", "--older-than", "90d", "--send"],
        "fleet-docfleet-rc-invoices": [
            "docfleet",
            "reconcile",
            "--bucket",
            "invoices",
            "--older-than",
            "1h",
            "--send",
            "--prefix",
            "2026/",
        ],
        "fleet-docfleet-rc-uploads": [
            "docfleet",
            "reconcile",
            "--bucket",
            "docfleet-uploads",
            "--older-than",
            "10m",
            "--send",
        ],
    }


def test_trim_runs_by_default_and_purge_does_not(named):
    assert [one["metadata"]["name"] for one, _ in _commands(named("minimal"))] == ["fleet-docfleet-trim"]
    assert not named("bare").of("CronJob")


def test_jobs_do_not_pile_up(scenario):
    for one, _ in _commands(scenario):
        assert one["spec"]["concurrencyPolicy"] == "Forbid"
        assert one["spec"]["jobTemplate"]["spec"]["activeDeadlineSeconds"] > 0


@pytest.mark.parametrize("name", ["minimal", "production", "strimzi"])
def test_commands_exist(named, name):
    """Every command line that a job runs is one the CLI takes: an unknown option would only show at night."""
    from docfleet.cli.main import app

    for one in named(name).objects:
        template = (
            one["spec"].get("jobTemplate", {}).get("spec", one["spec"]).get("template", {}) if "spec" in one else {}
        )
        for container in template.get("spec", {}).get("containers", []):
            if container["args"][0] != "docfleet":
                continue
            words = [word for word in container["args"][1:] if not word.startswith("-")]
            done = CliRunner().invoke(app, [*words[: 2 if words[0] == "topics" else 1], "--help"])
            assert done.exit_code == 0, words
            for option in [word for word in container["args"] if word.startswith("--")]:
                assert option in done.output, (container["args"], done.output)


# --- monitoring and the helm test ---------------------------------------------------------------------------------------


def test_monitoring_is_off_by_default(named):
    kinds = {one["kind"] for one in named("minimal").objects}
    assert not kinds & {"PodMonitor", "PrometheusRule"}


def test_pod_monitor_finds_the_pods(named):
    rendered = named("production")
    (monitor,) = rendered.of("PodMonitor")
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    selector = monitor["spec"]["selector"]["matchLabels"].items()
    for workload in rendered.workloads():
        assert selector <= workload["spec"]["template"]["metadata"]["labels"].items()
        ports = {port["name"] for port in workload["spec"]["template"]["spec"]["containers"][0]["ports"]}
        assert monitor["spec"]["podMetricsEndpoints"][0]["port"] in ports


def test_rules_are_those_of_the_repository(named):
    (rule,) = named("production").of("PrometheusRule")
    wanted = [
        group
        for path in sorted((OBSERVABILITY / "rules").glob("*.yaml"))
        for group in yaml.safe_load(path.read_text("utf-8"))["groups"]
    ]
    assert rule["spec"]["groups"] == wanted
    assert wanted


def test_dashboards_are_those_of_the_repository(named):
    found = {
        name: json.loads(text)
        for one in named("production").of("ConfigMap")
        for name, text in one["data"].items()
        if name.endswith(".json")
    }
    wanted = {path.name: json.loads(path.read_text("utf-8")) for path in (OBSERVABILITY / "dashboards").glob("*.json")}
    assert found == wanted
    assert wanted
    for one in named("production").of("ConfigMap"):
        if any(name.endswith(".json") for name in one["data"]):
            assert one["metadata"]["labels"]["grafana_dashboard"] == "1"


def test_helm_test_runs_a_document_through(named):
    (pod,) = named("minimal").of("Pod")
    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
    (main,) = pod["spec"]["containers"]
    assert main["args"][:2] == ["python", "-c"]
    assert main["args"][3:] == ["300", "docfleet-uploads"]
    assert ast.parse(main["args"][2])
    assert main["args"][2] == (CHART / "files" / "parse_one.py").read_text("utf-8")


def test_notes(named):
    notes = named("production").notes
    for words in (
        "fleet-docfleet-rec-worker: group rec-worker, 1 to 12 pods (keda), 70 s to drain",
        "helm test fleet -n documents",
    ):
        assert words in notes
    assert "Nothing scales by itself" in named("minimal").notes
    assert "Topics are yours" in named("bare").notes


# --- refused ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"settings": {"kafka": {"bootstrap_servers": ""}}}, "bootstrap_servers must be given"),
        ({"settings": {"objects": {"endpoint": ""}}}, "endpoint must be given"),
        ({"settings": {"objects": {"kind": "folder"}}}, "pods share no folder"),
        ({"settings": {"vl": {"endpoints": ["http://v:8000/v1"]}}}, "vl_worker is not enabled"),
        ({"models": {"source": "om"}}, "name models.claim or models.image"),
        ({"topics": {"strategy": "strimzi"}}, "name topics.strimziCluster"),
        ({"stages": {"reader": {}}}, "reader"),
        ({"stage": {}}, "stage"),
        ({"stages": {"rec_worker": {"replica": 2}}}, "replica"),
        ({"maintenance": {"purge": {"olderThan": "a month"}}}, "olderThan"),
        ({"autoscaling": {"method": "magic"}}, "method"),
        ({"podSecurityContext": {"runAsUser": 0}}, "runAsUser"),
    ],
)
def test_refused_in_words(render, values, words):
    with pytest.raises(HelmRefused, match=words):
        render(values)


def test_scenarios_say_what_they_are_for():
    for path in sorted((CHART / "ci").glob("*.yaml")):
        assert Path(path).read_text("utf-8").startswith("# "), path.name
