"""Every pod keeps the restricted Pod Security Standard, holds no token and no secret by value."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.integration

ALLOWED_VOLUMES = {
    "configMap",
    "emptyDir",
    "persistentVolumeClaim",
    "secret",
    "projected",
    "csi",
    "downwardAPI",
    "ephemeral",
}
"""Of the restricted standard."""


def test_pods_are_restricted(scenario):
    """The rules of the restricted standard, each on every pod: stages, jobs, CronJobs, the helm test."""
    assert len(scenario.pods()) >= 5
    for name, pod in scenario.pods():
        spec = pod["spec"]
        context = spec["securityContext"]
        assert context["runAsNonRoot"] is True, name
        assert context["runAsUser"] > 0, name
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}, name
        for field in ("hostNetwork", "hostPID", "hostIPC"):
            assert not spec.get(field), name
        for volume in spec["volumes"]:
            assert set(volume) - {"name"} <= ALLOWED_VOLUMES, name
        for container in [*spec["containers"], *spec.get("initContainers", [])]:
            own = container["securityContext"]
            assert own["allowPrivilegeEscalation"] is False, name
            assert own["capabilities"] == {"drop": ["ALL"]}, name
            assert "privileged" not in own, name
            assert not [port for port in container.get("ports", []) if "hostPort" in port], name


def test_root_is_read_only_and_what_is_written_has_a_place(scenario):
    for name, pod in scenario.pods():
        for container in [*pod["spec"]["containers"], *pod["spec"].get("initContainers", [])]:
            assert container["securityContext"]["readOnlyRootFilesystem"] is True, name
        (main,) = pod["spec"]["containers"]
        writable = {mount["mountPath"] for mount in main["volumeMounts"] if not mount.get("readOnly")}
        assert {"/tmp", "/cache"} <= writable, name
        limits = [volume["emptyDir"].get("sizeLimit") for volume in pod["spec"]["volumes"] if "emptyDir" in volume]
        assert all(limits), f"{name}: an emptyDir without a limit fills the node"


def test_no_pod_has_a_token(scenario):
    for name, pod in scenario.pods():
        assert pod["spec"]["automountServiceAccountToken"] is False, name
        assert pod["spec"]["enableServiceLinks"] is False, name
    for account in scenario.of("ServiceAccount"):
        assert account["automountServiceAccountToken"] is False


def test_the_chart_asks_for_no_rights(scenario):
    assert not [
        one for one in scenario.objects if one["kind"] in ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
    ]


def test_no_secret_is_made_and_none_is_given_by_value(scenario):
    assert not scenario.of("Secret")
    for name, pod in scenario.pods():
        for container in pod["spec"]["containers"]:
            for variable in container["env"]:
                if any(word in variable["name"] for word in ("PASSWORD", "SECRET", "ACCESS_KEY", "API_KEY", "TOKEN")):
                    assert set(variable) == {"name", "valueFrom"}, f"{name}: {variable['name']}"
                    assert "secretKeyRef" in variable["valueFrom"], f"{name}: {variable['name']}"


def test_secrets_reach_every_pod_that_connects(named):
    for name, pod in named("production").pods():
        (main,) = pod["spec"]["containers"]
        from_secrets = {
            v["name"]: v["valueFrom"]["secretKeyRef"] for v in main["env"] if "secretKeyRef" in v.get("valueFrom", {})
        }
        assert from_secrets["DOCFLEET_KAFKA__SASL_PASSWORD"] == {"name": "kafka-user", "key": "password"}, name
        assert from_secrets["DOCFLEET_OBJECTS__SECRET_KEY"] == {"name": "minio-keys", "key": "secretKey"}, name
        mounts = {mount["mountPath"] for mount in main["volumeMounts"]}
        assert "/etc/docfleet/kafka-ca" in mounts, name


def test_mounted_secrets_are_not_for_others(named):
    for name, pod in named("production").pods():
        for volume in pod["spec"]["volumes"]:
            if "secret" in volume:
                assert volume["secret"]["defaultMode"] == 0o440, name


def test_settings_refuse_secrets(render):
    from tests.support.helm import HelmRefused

    for group, key in (
        ("kafka", "sasl_password"),
        ("objects", "secret_key"),
        ("objects", "access_key"),
        ("vl", "api_key"),
    ):
        with pytest.raises(HelmRefused, match=key):
            render({"settings": {group: {key: "in the open"}}})


def test_network_policy_lets_in_only_metrics(named):
    (policy,) = named("production").of("NetworkPolicy")
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    (ingress,) = policy["spec"]["ingress"]
    assert ingress["ports"] == [{"protocol": "TCP", "port": "http"}]
    assert ingress["from"] == [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]
    ports = {port["port"] for rule in policy["spec"]["egress"] for port in rule["ports"]}
    assert ports == {53, 9093, 9000, 8000}


def test_network_policy_holds_all_pods(named):
    rendered = named("production")
    (policy,) = rendered.of("NetworkPolicy")
    selected = policy["spec"]["podSelector"]["matchLabels"]
    for name, pod in rendered.pods():
        assert selected.items() <= pod["metadata"]["labels"].items(), name


def test_egress_stays_open_until_it_is_named(named):
    (policy,) = named("minimal").of("NetworkPolicy")
    assert policy["spec"]["policyTypes"] == ["Ingress"]
    assert "egress" not in policy["spec"]


def test_nothing_is_latest(scenario):
    for name, pod in scenario.pods():
        for container in pod["spec"]["containers"]:
            assert "@sha256:" in container["image"] or container["image"].rpartition(":")[2] not in ("", "latest"), name


def test_memory_is_bounded(scenario):
    for name, pod in scenario.pods():
        for container in [*pod["spec"]["containers"], *pod["spec"].get("initContainers", [])]:
            assert "memory" in container["resources"]["limits"], name
            assert "cpu" in container["resources"]["requests"], name


def test_memory_of_stages_is_reserved(named):
    """A worker that is killed for memory its node had promised twice does its work again."""
    for workload in named("minimal").workloads():
        (main,) = workload["spec"]["template"]["spec"]["containers"]
        assert main["resources"]["requests"]["memory"] == main["resources"]["limits"]["memory"]


def test_no_manifest_names_a_password(named):
    text = json.dumps(named("production").objects)
    assert "in the open" not in text
    assert "kafka-user" in text
