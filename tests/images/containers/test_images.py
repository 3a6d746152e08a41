"""The images as they come out of the build: how large, what is in them and what is not, and that a process in them can be ended."""

from __future__ import annotations

import json
import time

import pytest

from tests.images.containers.podman import build, inspect, podman
from tests.images.containers.standins import python

pytestmark = [pytest.mark.containers, pytest.mark.slow, pytest.mark.timeout(2_400)]
MOST_BYTES = {"core": 400 * 10**6, "cpu": 1_200 * 10**6}
LOCKED = ("--rm", "--read-only", "--cap-drop=all", "--security-opt=no-new-privileges", "--network=none", "--tmpfs=/tmp")


def said(image: str, *command: str, timeout_s: float = 120) -> str:
    return podman("run", *LOCKED, image, *command, timeout_s=timeout_s)


@pytest.mark.parametrize("target", list(MOST_BYTES))
def test_an_image_is_small(image, target, record_property):
    size = inspect(image(target))["Size"]
    record_property("bytes", size)
    print(f"{target}: {size / 1e6:.0f} MB, of which the base {inspect(python())['Size'] / 1e6:.0f} MB")
    assert size < MOST_BYTES[target]


@pytest.mark.parametrize("target", list(MOST_BYTES))
def test_nothing_that_builds_is_left(image, target):
    programs = "gcc cc g++ c++ clang make cmake ld as cargo go git curl wget"
    assert said(image(target), "sh", "-c", f"for one in {programs}; do command -v $one; done; true") == ""
    assert said(image(target), "sh", "-c", "ls /opt/docfleet/bin | grep -E 'pip|wheel' ; true") == ""
    assert said(image(target), "sh", "-c", "ls -A /tmp /opt /var/lib/apt/lists").split() == [
        *("/opt:", *(["docfleet", "models"] if target == "cpu" else ["docfleet"])),
        "/tmp:",
        "/var/lib/apt/lists:",
    ]


@pytest.mark.parametrize("target", list(MOST_BYTES))
def test_who_runs_in_it_owns_nothing_of_it(image, target):
    assert said(image(target), "id", "-u").strip() == "10001"
    writable = said(
        image(target),
        "sh",
        "-c",
        "find / -xdev -path /proc -prune -o -path /tmp -prune -o -writable -type f -print 2>/dev/null; true",
    )
    assert writable == ""
    assert said(image(target), "cat", "/proc/1/comm").strip() == "tini"


def test_labels_and_metadata_for_scanners(image):
    labels = inspect(image("core"))["Labels"]
    assert labels["org.opencontainers.image.revision"] == "tests"
    names = said(
        image("core"),
        "python",
        "-c",
        "import importlib.metadata as m; print(sorted(d.name for d in m.distributions()))",
    )
    assert "'docfleet'" in names
    assert "'confluent-kafka'" in names
    assert "'pytest'" not in names


def test_the_services_of_the_core_can_be_imported_without_an_engine(image):
    parts = ("services.ingest", "services.vl_worker", "services.assembler.compose", "services.assembler.join")
    code = f"import importlib, sys; [importlib.import_module(p + '.__main__') for p in {parts}]; print('openvino' in sys.modules)"
    assert said(image("core"), "python", "-c", code).strip() == "False"
    assert "Usage" in said(image("core"))


def test_models_are_in_the_image_and_are_what_their_manifests_name(image):
    listed = said(image("cpu"), "docfleet", "models", "list", "--check")
    assert "yes" in listed
    assert " no " not in listed
    assert "damaged" not in listed
    assert "missing" not in said(image("cpu"), "docfleet", "doctor", "--local")


def test_a_page_is_parsed_without_any_network(image, tmp_path):
    from tests.images.dockerfile import ROOT

    mounts = ("--volume", f"{ROOT}/samples:/samples:ro", "--tmpfs=/out:mode=1777")
    command = "docfleet parse /samples/scan.pdf -o /out --no-overlays >/dev/null && cat /out/scan.json"
    document = json.loads(podman("run", *LOCKED, *mounts, image("cpu"), "sh", "-c", command, timeout_s=600))
    assert document["status"] == "success"
    assert {block["method"] for block in document["blocks"]} & {"rec", "ocr"} or any(
        block.get("model") for block in document["blocks"]
    )


def test_a_signal_ends_a_process_that_did_not_ask_for_signals(image):
    """PID 1 without a handler never sees SIGTERM: without tini a service would be deaf until it has imported everything."""
    name = podman("run", "--detach", "--rm", image("core"), "python", "-c", "import time; time.sleep(600)").strip()
    began = time.monotonic()
    podman("stop", "--time", "60", name)
    assert time.monotonic() - began < 40


def test_two_builds_give_the_same_files(image, tmp_path):
    """With the cache of the first left aside: every file below /opt, its bytes and its mode."""
    from tests.images.dockerfile import ROOT

    again = "localhost/docfleet:core-again"
    build("core", again, ROOT, {"PYTHON_IMAGE": python()}, more=["--no-cache"])
    sums = "cd /opt && find . -type f -printf '%m  %p\\n' && find . -type f -print0 | xargs -0 sha256sum"
    first, second = said(image("core"), "sh", "-c", sums, timeout_s=300), said(again, "sh", "-c", sums, timeout_s=300)
    podman("rmi", again)
    assert first.count("\n") > 4_000
    assert sorted(set(first.splitlines()) ^ set(second.splitlines())) == []


@pytest.mark.parametrize("target", list(MOST_BYTES))
def test_all_bytecode_trusts_its_source_and_has_no_time_in_it(image, target):
    """Bit 0 of the flags says that a hash of the source takes the place of its time, bit 1 that it is looked at."""
    flags = "open(f, 'rb').read(8)[4:]"
    code = f"import glob; print([f for f in glob.glob('/opt/docfleet/lib/**/*.pyc', recursive=True) if {flags} != bytes([1, 0, 0, 0])])"
    assert said(image(target), "python", "-c", code).strip() == "[]"


def test_a_package_with_another_hash_ends_the_build(context):
    lock = context / "docker" / "requirements-core.txt"
    text = lock.read_text()
    at = text.index("--hash=sha256:", text.index("annotated-types==")) + len("--hash=sha256:")
    lines = text[at:].split("\n    # via", 1)
    changed = "\n".join(part for part in lines[0].replace(lines[0][:8], "0" * 8, 1).splitlines()[:1]).rstrip(" \\")
    lock.write_text(text[:at] + changed + "\n    # via" + lines[1])
    with pytest.raises(AssertionError, match="DO NOT MATCH THE HASHES"):
        build("core-environment", "localhost/docfleet:broken", context, {"PYTHON_IMAGE": python()})


def test_the_ascend_target_builds_on_a_stand_in(huawei_wheels):
    """No CANN can be had here: that the steps run, that both wheels are asked for, and what the image says of itself."""
    name = "localhost/docfleet:ascend-on-a-stand-in"
    build("ascend", name, huawei_wheels, {"CANN_IMAGE": python(), "PYTHON_IMAGE": python()})
    names = said(name, "python", "-c", "import aclruntime, ais_bench, cv2, services.rec_worker.service; print('all')")
    assert names.strip() == "all"
    assert said(name, "id", "-G").split() == ["10001", "1000"]
    said(name, "sh", "-c", "! python -c 'import openvino' 2>/dev/null && ! python -c 'import onnxruntime' 2>/dev/null")
    podman("rmi", name)


def test_the_ascend_target_says_that_wheels_are_missing(context):
    with pytest.raises(AssertionError, match="put the wheels aclruntime and ais_bench into docker/ascend first"):
        build("ascend", "localhost/docfleet:broken", context, {"CANN_IMAGE": python(), "PYTHON_IMAGE": python()})
