"""`docfleet doctor` on a machine with an NPU, which is the double: what fits together and what does not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from docfleet import doctor, npu
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
