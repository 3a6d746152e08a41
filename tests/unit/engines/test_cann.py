"""The CANN path of ONNX Runtime is refused where it would quietly run on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnxruntime
import pytest

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.engines.cann import PROVIDER, CannEngine
from shared.engines.open import open_engine
from shared.engines.profiles import ASCEND
from shared.settings import Engines
from tests.support.ascend import write_network

pytestmark = [pytest.mark.unit, pytest.mark.filterwarnings("ignore:Specified provider")]


def test_an_onnxruntime_without_the_provider_is_refused() -> None:
    if PROVIDER in onnxruntime.get_available_providers():
        pytest.skip("this ONNX Runtime has the provider")
    with pytest.raises(
        DocfleetError, match="no CANN provider; remove onnxruntime and install onnxruntime-cann"
    ) as raised:
        open_engine(Engines(kind="cann"))
    assert raised.value.code is ErrorCode.model_unavailable


def test_a_session_that_fell_back_to_the_cpu_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without an NPU: the provider is listed, the session is made, and it is one of the CPU."""
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [PROVIDER, "CPUExecutionProvider"])
    network = tmp_path / "small-1-0" / "network.onnx"
    network.parent.mkdir()
    write_network(network)
    engine = CannEngine(Engines(kind="cann"))
    with pytest.raises(DocfleetError, match="would run on CPUExecutionProvider and not on an NPU"):
        engine.load(network)


@pytest.mark.parametrize("used", [[], ["CPUExecutionProvider", PROVIDER]], ids=["none", "the CPU first"])
def test_a_session_that_only_knows_of_the_npu_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, used: list[str]
) -> None:
    """The first provider is the one that is asked first; the others take what it leaves."""

    class Session(onnxruntime.InferenceSession):
        def get_providers(self) -> list[str]:
            return used

    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [PROVIDER, "CPUExecutionProvider"])
    monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
    network = tmp_path / "network.onnx"
    write_network(network)
    with pytest.raises(DocfleetError, match="and not on an NPU"):
        CannEngine(Engines(kind="cann")).load(network)


def test_a_session_on_the_npu_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    class Session(onnxruntime.InferenceSession):
        def __init__(self, path: str, options: Any, providers: Any) -> None:
            asked["providers"] = providers
            super().__init__(path, options, providers=["CPUExecutionProvider"])

        def get_providers(self) -> list[str]:
            return [PROVIDER, "CPUExecutionProvider"]

    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [PROVIDER, "CPUExecutionProvider"])
    monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
    network = tmp_path / "network.onnx"
    write_network(network)
    engine = CannEngine(Engines(kind="cann", ascend_device=1))
    assert engine.load(network).inputs[0].name == "x"
    assert engine.profile is ASCEND
    ((name, options),) = asked["providers"]
    assert name == PROVIDER
    assert options == {"device_id": 1, "enable_cann_graph": True, "precision_mode": "allow_fp32_to_fp16"}
