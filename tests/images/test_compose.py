"""The compose file: what it sets exists, what it starts is bounded and can end in its own time. That it runs: tests/images/containers."""

from __future__ import annotations

import inspect
import re
import subprocess

import pytest

from docfleet.reference import effective
from shared.settings import GROUPS, Settings
from shared.streams.catalog import load
from shared.streams.runner import GRACE_S
from tests.conftest import without
from tests.images import compose
from tests.support.fleet import PARTS
from tests.support.processes import Missing
from tests.support.tools_env import tool

pytestmark = pytest.mark.unit
OVERRIDES = ("docker/compose.versitygw.yml",)
JOBS = ("topics", "buckets")
UPLOADS = "docfleet-uploads"
"""Where `docfleet submit` puts files unless it is told otherwise."""
PAGE = compose.ROOT / "docs" / "operations" / "compose.md"


@pytest.fixture(params=[(), *((one,) for one in OVERRIDES)], ids=["plain", *OVERRIDES])
def services(request) -> dict:
    return compose.loaded(*request.param)["services"]


def ours(services: dict) -> dict:
    """Services and jobs that run an image of docfleet."""
    return {name: one for name, one in services.items() if "build" in one and name != "vl-simulator"}


def test_it_is_a_compose_file():
    try:
        program = tool(compose.ROOT / "tests" / "images" / "tools", "check-jsonschema")
    except Missing as missing:
        without(missing)
    files = [compose.FILE, *(compose.ROOT / name for name in OVERRIDES)]
    done = subprocess.run(
        [program, "--builtin-schema", "vendor.compose-spec", *files], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_part_of_the_fleet_is_there_and_runs_what_it_should(services):
    assert set(GROUPS) <= set(services)
    for part in GROUPS:
        assert services[part]["command"] == ["python", "-m", PARTS[part]]
    assert services["vl_worker"]["profiles"] == ["vl", "vl-simulator"]
    assert not [part for part in set(GROUPS) - {"vl_worker"} if "profiles" in services[part]]


def test_every_variable_that_is_set_is_a_setting_with_a_value_that_is_taken(services, monkeypatch):
    known = {variable for variable, _, _ in effective(Settings())}
    for name, service in ours(services).items():
        for variable, value in service["environment"].items():
            assert variable in known, f"{name} sets {variable}, which is no setting"
            monkeypatch.setenv(variable, str(value))
    settings = Settings()
    assert settings.kafka.bootstrap_servers == "kafka:9092"
    assert settings.objects.sources == ["incoming", UPLOADS]
    assert [(rule.bucket, rule.accept) for rule in settings.ingest.rules] == [(UPLOADS, False)]
    assert settings.vl.endpoints == []
    assert {settings.stage(part).http_port for part in GROUPS} == {8080}


def test_uploads_are_documents_once():
    """Told of by the store, uploads would be documents a second time; not named as a source, they would be refused."""
    from docfleet.cli.submit import submit

    default = inspect.signature(submit).parameters["bucket"].default
    assert default == UPLOADS


def test_the_vl_model_is_reached_where_it_listens(monkeypatch):
    page = PAGE.read_text()
    (given,) = set(re.findall(r"VL_ENDPOINTS='([^']*)'", page))
    file = compose.loaded(variables={"VL_ENDPOINTS": given})["services"]
    monkeypatch.setenv("DOCFLEET_VL__ENDPOINTS", file["vl_worker"]["environment"]["DOCFLEET_VL__ENDPOINTS"])
    (endpoint,) = Settings().vl.endpoints
    assert endpoint == "http://vl:8000/v1"
    assert "8000" in file["vl"]["command"]
    assert file["vl-simulator"]["networks"]["default"]["aliases"] == ["vl"]


def test_whoever_works_has_time_to_end(services):
    settings = Settings()
    for part in GROUPS:
        needed = settings.stage(part).drain_s + 4 * GRACE_S
        assert compose.seconds(services[part]["stop_grace_period"]) > needed, part


def test_whoever_works_says_how_it_is(services):
    for part in GROUPS:
        check = services[part]["healthcheck"]
        assert check["test"] == ["CMD", "python", "-m", "shared.telemetry.probe"]
        assert compose.seconds(check["timeout"]) > 4
        assert services[part]["restart"] == "unless-stopped"


def test_nothing_is_unbounded(services):
    for name, service in services.items():
        assert "mem_limit" in service or name == "vl", f"{name} may take all memory"
        for tmpfs in service.get("tmpfs", []):
            assert "size=" in tmpfs, f"{name}: {tmpfs}"


def test_an_engine_child_is_replaced_before_the_container_ends():
    services, settings = compose.loaded()["services"], Settings()
    for part in ("layout_worker", "rec_worker"):
        limit = compose.bytes_of(services[part]["mem_limit"])
        assert limit > 1.5 * settings.engines.recycle_bytes
    for part in ("ingest", "layout_worker"):
        assert "/tmp" in services[part]["volumes"], "fetched documents are kept on disk"


def test_our_containers_get_nothing_they_do_not_need(services):
    for name, service in [*ours(services).items(), ("vl-simulator", services["vl-simulator"])]:
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["pids_limit"] <= 1_000, name
        assert not {"privileged", "cap_add", "user", "network_mode", "pid"} & set(service), name


def test_ports_are_on_the_loopback_only(services):
    for name, service in services.items():
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), f"{name} listens to everybody at {port}"


def test_images_have_versions(services):
    for name, service in services.items():
        image = service["image"]
        assert re.search(r":[\w.-]*\d[\w.-]*(@sha256:[0-9a-f]{64})?$", image) or image.startswith("docfleet:"), name
        assert "latest" not in image
    assert "@sha256:" in compose.loaded()["services"]["store"]["image"]


def test_work_waits_for_topics_and_buckets(services):
    for part in GROUPS:
        waits = services[part]["depends_on"]
        assert {job: waits[job]["condition"] for job in JOBS} == dict.fromkeys(JOBS, "service_completed_successfully")
    for job in JOBS:
        assert services[job]["restart"] == "no"


def test_the_store_tells_the_topic_that_ingest_reads():
    topic = next(one.name for one in load().topics if "ingest" in one.groups)
    plain, other = compose.loaded()["services"], compose.loaded(*OVERRIDES)["services"]
    store = plain["store"]["environment"]
    assert store["MINIO_NOTIFY_KAFKA_TOPIC_DOCFLEET"] == topic
    assert store["MINIO_NOTIFY_KAFKA_BROKERS_DOCFLEET"] == "kafka:9092"
    assert f"--event-kafka-topic={topic}" in other["store"]["command"]
    assert "arn:minio:sqs::DOCFLEET:kafka" in plain["buckets"]["command"], "the name in MINIO_NOTIFY_KAFKA_*_DOCFLEET"
    for services in (plain, other):
        environment = services["store"]["environment"]
        assert services["buckets"]["environment"]["DOCFLEET_OBJECTS__SECRET_KEY"] in environment.values()


def test_commands_of_the_jobs_exist():
    from typer.testing import CliRunner

    from docfleet.cli.main import app

    for services in (compose.loaded()["services"], compose.loaded(*OVERRIDES)["services"]):
        for job in JOBS:
            program, *words = services[job]["command"]
            assert program == "docfleet"
            assert CliRunner().invoke(app, [*words, "--help"]).exit_code == 0, words


def test_files_that_are_mounted_exist():
    for name, service in compose.loaded()["services"].items():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if source.startswith("./"):
                assert (compose.ROOT / source).exists(), f"{name} mounts {source}"


def test_prometheus_looks_at_every_part():
    import yaml

    text = yaml.safe_load((compose.ROOT / "docker" / "prometheus.yml").read_text())
    names = {
        name
        for job in text["scrape_configs"]
        for discovery in job.get("dns_sd_configs", [])
        for name in discovery["names"]
        if discovery["port"] == 8080
    }
    assert set(GROUPS) == names


def test_every_variable_is_explained():
    page = PAGE.read_text()
    for variable, default in compose.used_variables().items():
        assert f"`{variable}`" in page, variable
        assert default in page or len(default) > 40, f"{variable}: its default is {default}"


def test_no_variable_has_the_name_of_a_setting():
    assert not [name for name in compose.used_variables() if name.startswith("DOCFLEET_")]
