"""`docfleet doctor` on a machine with an NPU, which is the double: what fits together and what does not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import onnxruntime
import pytest

from docfleet import doctor, npu
from shared.contracts.errors import DocfleetError
from shared.engines import cann, cann_check
from shared.engines.ascend_built import read_built
from shared.models.manifest import Ascend
from shared.settings import Engines, Settings
from tests.support.ascend import DOUBLE, Card, built, manifest_of

pytestmark = pytest.mark.integration
ASCEND = Ascend(mode="static", sizes=((8, 16),))


@pytest.fixture
def models(card: Card, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """One model there is, built for the double."""
    before = set(sys.modules)
    entry = manifest_of("small", ASCEND, 5)
    monkeypatch.setattr(npu, "names", lambda: ("small",))
    monkeypatch.setattr(npu, "manifest", lambda name: entry)
    monkeypatch.setattr(npu, "installed", lambda folder, name: folder / entry.folder())
    yield built(tmp_path / "models", ASCEND).parents[1]
    for name in set(sys.modules) - before:  # doctor imports the runtime into this process
        if str(DOUBLE) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def findings(models: Path, **engines: object) -> dict[str, tuple[str, str, str]]:
    settings = Settings(engines=Engines(kind="ascend", models=models, **engines))  # type: ignore[arg-type]
    return {one.what: (one.state, one.found, one.todo) for one in doctor.engines(settings)}


def test_what_fits_together(models: Path) -> None:
    found = findings(models)
    assert found["engine"][:2] == ("ok", "ascend (ais_bench.infer.interface)")
    assert found["card"][:2] == ("ok", "Ascend310P3")
    assert found["om files"][:2] == ("ok", "every network is built for ascend310p3")


def test_what_does_not(card: Card, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card.plan(soc="Ascend910B4")
    state, told, todo = findings(models)["om files"]
    assert (state, told) == ("missing", "the om of small is for Ascend310P3")
    assert todo == "docfleet models build --target ascend910b4"
    card.plan()
    assert "not built for ascend910b4" in findings(models, ascend_target="ascend910b4")["om files"][1]
    network = next(models.glob("small-*/network.onnx"))
    read_built(network, "")[1].chmod(0o666)
    assert "others may write to it" in findings(models)["om files"][1]
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "1,0")
    assert "would be cut short" in findings(models)["card"][1]


def test_no_runtime_and_no_card(models: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(npu, "RUNTIME", "ais_bench_that_is_not_here.infer")
    monkeypatch.setenv("PATH", str(tmp_path))
    found = findings(models)
    assert found["engine"][0] == "missing"
    assert found["engine"][2] == "docs/ascend.md, section 2"
    assert found["card"][0] == "warning"


def cann_findings(**engines: object) -> dict[str, tuple[str, str, str]]:
    settings = Settings(engines=Engines(kind="cann", **engines))  # type: ignore[arg-type]
    return {one.what: (one.state, one.found, one.todo) for one in doctor.engines(settings)}


def test_an_onnxruntime_without_cann_is_not_ok(card: Card) -> None:
    """The module can be imported, which says nothing: it is the one for the CPU."""
    if cann.PROVIDER in onnxruntime.get_available_providers():
        pytest.skip("this ONNX Runtime has the provider")
    found = cann_findings()
    state, told, todo = found["engine"]
    assert (state, told) == ("missing", "this ONNX Runtime has no CANN provider")
    assert "remove onnxruntime and install onnxruntime-cann" in todo
    assert "docs/ascend.md, section 6" in todo
    assert "om files" not in found


def test_no_onnxruntime_at_all(card: Card, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "onnxruntime.py").write_text("raise ImportError('libfoo.so: cannot open shared object file')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    state, told, todo = cann_findings()["engine"]
    assert state == "missing"
    assert "libfoo.so" in told
    assert "onnxruntime-cann" in todo


def test_a_session_that_would_run_on_the_cpu_is_missing_cann(
    card: Card, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As onnxruntime-cann 1.24.4 behaves where CANN is not installed: it lists the provider, says why on standard error, and takes the CPU."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "import onnxruntime as o\n"
        "o.get_available_providers = lambda: ['CANNExecutionProvider', 'CPUExecutionProvider']\n"
        "class Session(o.InferenceSession):\n"
        "    def __init__(self, *given, **named):\n"
        "        print('[E:onnxruntime] Failed to load library x/libonnxruntime_providers_cann.so with error: '\n"
        "              'libascendcl.so: cannot open shared object file: No such file or directory', file=sys.stderr)\n"
        "        super().__init__(given[0], given[1], providers=['CPUExecutionProvider'])\n"
        "o.InferenceSession = Session\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    state, told, todo = cann_findings()["engine"]
    assert state == "missing"
    assert "would run on CPUExecutionProvider and not on an NPU" in told
    assert "libascendcl.so: cannot open shared object file" in told
    assert "set_env.sh" in todo


def test_a_check_that_hangs_or_dies_is_missing_too(card: Card, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(npu, "CHECK_S", 1.0)
    (tmp_path / "onnxruntime.py").write_text("import time\ntime.sleep(60)\n")
    assert "did not end within 1 s" in cann_findings()["engine"][1]
    monkeypatch.undo()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "onnxruntime.py").write_text("import os\nos.abort()\n")
    state, told, _ = cann_findings()["engine"]
    assert state == "missing"
    assert "exit status -6" in told


def test_a_card_that_adds_is_ok_and_one_that_adds_wrongly_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the CPU in place of the card."""

    class Session(onnxruntime.InferenceSession):
        def __init__(self, path: str, options: object, providers: object) -> None:
            super().__init__(path, options, providers=["CPUExecutionProvider"])

        def get_providers(self) -> list[str]:
            return [cann.PROVIDER, "CPUExecutionProvider"]

        def run(self, *given: object) -> list[object]:
            return [array * factor for array in super().run(*given)]

    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [cann.PROVIDER, "CPUExecutionProvider"])
    monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
    factor = 1.0
    assert cann_check.check(0) == onnxruntime.__version__
    factor = 2.0
    with pytest.raises(DocfleetError, match="added wrongly"):
        cann_check.check(0)


def test_the_command_says_what_is_missing(card: Card) -> None:
    if cann.PROVIDER in onnxruntime.get_available_providers():
        pytest.skip("this ONNX Runtime has the provider")
    done = subprocess.run(
        [sys.executable, "-m", "docfleet.cli.main", "doctor", "--local"],
        env={**os.environ, "DOCFLEET_ENGINES__KIND": "cann"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "missing engine" in done.stdout
    assert "no CANN provider" in done.stdout
