"""The settings that pods get are the ones the services read."""

from __future__ import annotations

import os
import tomllib

import pytest

from docfleet.reference import effective
from shared.settings import Settings
from tests.support.helm import SCENARIOS, HelmRefused

pytestmark = pytest.mark.integration


def _toml(rendered, name="fleet-docfleet"):
    return rendered.get("ConfigMap", name)["data"]["docfleet.toml"]


def _settings(rendered, tmp_path, monkeypatch) -> Settings:
    """What a service of the release reads: its file, and the variables of its container."""
    text = _toml(rendered, rendered.workloads()[0]["spec"]["template"]["spec"]["volumes"][0]["configMap"]["name"])
    path = tmp_path / "docfleet.toml"
    path.write_text(text)
    for name in list(os.environ):
        if name.startswith("DOCFLEET_"):
            monkeypatch.delenv(name)
    for variable in rendered.workloads()[0]["spec"]["template"]["spec"]["containers"][0]["env"]:
        if "secretKeyRef" in variable.get("valueFrom", {}):
            monkeypatch.setenv(variable["name"], "from a secret")
    monkeypatch.setenv("DOCFLEET_CONFIG", str(path))
    return Settings()


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.name)
def test_the_services_can_read_them(scenarios, path, tmp_path, monkeypatch):
    settings = _settings(scenarios(path), tmp_path, monkeypatch)
    assert settings.objects.endpoint.startswith("minio")
    assert settings.objects.kind == "s3"


def test_values_arrive(named, tmp_path, monkeypatch):
    settings = _settings(named("production"), tmp_path, monkeypatch)
    assert settings.kafka.security_protocol == "SASL_SSL"
    assert settings.kafka.ssl_ca_location == "/etc/docfleet/kafka-ca/ca.crt"
    assert settings.stage("rec_worker").drain_s == 45
    assert settings.stage("rec_worker").max_in_flight == 24
    assert settings.stage("ingest").max_in_flight == 32, "what was not given keeps the stage's own default"
    assert settings.vl.endpoints == ["http://vllm.models:8000/v1"]
    assert settings.ingest.rules[0].prefix == "2026/"
    assert str(settings.limits.passwords) == "/etc/docfleet/passwords"


def test_numbers_keep_their_kind(render, tmp_path, monkeypatch):
    more = {
        "limits": {"max_file_bytes": 123456789012, "max_pages": 5},
        "layout": {"min_confidence": 0.25},
        "join": {"window": 64},
    }
    settings = _settings(render({"settings": more}), tmp_path, monkeypatch)
    assert (settings.limits.max_file_bytes, settings.limits.max_pages) == (123456789012, 5)
    assert (settings.layout.min_confidence, settings.join.window) == (0.25, 64)


def test_text_that_toml_could_stumble_over(render, tmp_path, monkeypatch):
    awkward = 'a "quoted" \\ path, 中文, = and [brackets]'
    settings = _settings(render({"settings": {"objects": {"bucket": awkward}}}), tmp_path, monkeypatch)
    assert settings.objects.bucket == awkward


def test_every_pod_reads_them(scenario):
    for name, pod in scenario.pods():
        (main,) = pod["spec"]["containers"]
        env = {variable["name"]: variable.get("value") for variable in main["env"]}
        mounts = {mount["name"]: mount["mountPath"] for mount in main["volumeMounts"]}
        assert env["DOCFLEET_CONFIG"] == f"{mounts['settings']}/docfleet.toml", name
        (volume,) = [one for one in pod["spec"]["volumes"] if one["name"] == "settings"]
        assert "docfleet.toml" in scenario.get("ConfigMap", volume["configMap"]["name"])["data"], name


def test_variables_are_settings(scenario):
    known = {variable for variable, _, _ in effective(Settings())} | {"DOCFLEET_CONFIG"}
    for name, pod in scenario.pods():
        for variable in pod["spec"]["containers"][0]["env"]:
            if variable["name"].startswith("DOCFLEET_"):
                assert variable["name"] in known, f"{name}: {variable['name']}"


def test_a_change_of_settings_renews_the_pods(render):
    before, after = (render({"settings": {"join": {"window": window}}}) for window in (64, 65))
    for one, two in zip(before.workloads(), after.workloads(), strict=True):
        assert (
            one["spec"]["template"]["metadata"]["annotations"]["checksum/settings"]
            != two["spec"]["template"]["metadata"]["annotations"]["checksum/settings"]
        )


def test_a_change_of_something_else_does_not(render):
    before, after = (render(more) for more in ({}, {"monitoring": {"podMonitor": {"enabled": True}}}))
    assert before.workloads() == after.workloads()


@pytest.mark.parametrize(
    "wrong",
    [
        {"kafak": {"bootstrap_servers": "x:1"}},
        {"kafka": {"bootstrap_server": "x:1"}},
        {"join": {"window": 0}},
        {"stages": {"rec_worker": {"drain": 3}}},
        {"ingest": {"rules": [{"name": "UPPER"}]}},
        {"engines": {"kind": "abacus"}},
    ],
)
def test_settings_that_the_services_would_not_take_are_refused(render, wrong):
    with pytest.raises(HelmRefused):
        render({"settings": wrong})


def test_threads_follow_the_cpu_limit(named):
    rendered = named("minimal")
    for stage, limited in (("rec-worker", True), ("layout-worker", True), ("ingest", False)):
        (main,) = rendered.get("Deployment", f"fleet-docfleet-{stage}")["spec"]["template"]["spec"]["containers"]
        env = {variable["name"]: variable for variable in main["env"]}
        assert ("OMP_NUM_THREADS" in env) == limited
        if limited:
            assert env["OMP_NUM_THREADS"]["valueFrom"]["resourceFieldRef"] == {
                "containerName": stage,
                "resource": "limits.cpu",
                "divisor": "1",
            }


def test_extra_variables_come_last(render):
    rendered = render(
        {
            "extraEnv": [{"name": "DOCFLEET_TELEMETRY__LEVEL", "value": "debug"}],
            "stages": {"ingest": {"extraEnv": [{"name": "DOCFLEET_TELEMETRY__LEVEL", "value": "warning"}]}},
        }
    )
    env = rendered.get("Deployment", "fleet-docfleet-ingest")["spec"]["template"]["spec"]["containers"][0]["env"]
    assert [one["value"] for one in env if one["name"] == "DOCFLEET_TELEMETRY__LEVEL"] == ["debug", "warning"]


def test_toml_is_toml(scenario):
    for one in scenario.of("ConfigMap"):
        if "docfleet.toml" in one["data"]:
            assert tomllib.loads(one["data"]["docfleet.toml"])["kafka"]["bootstrap_servers"]
