"""Which engine the settings give, without importing one that is not asked for."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.engines import open as opening
from shared.engines import processor
from shared.settings import Engines

pytestmark = pytest.mark.unit


def test_an_engine_that_is_not_installed_is_a_typed_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "find_spec", lambda name: None)
    for kind in ("auto", "openvino", "onnxruntime"):
        with pytest.raises(DocfleetError, match="pip install") as raised:
            opening.open_engine(Engines(kind=kind))
        assert raised.value.code is ErrorCode.model_unavailable
    for kind in ("ascend", "cann"):
        with pytest.raises(DocfleetError, match=f"the engine {kind} is not installed; see docs/ascend.md"):
            opening.open_engine(Engines(kind=kind))


def test_an_npu_has_two_callers_whatever_the_cores_and_a_cpu_one_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "cores", lambda: 7)
    given = {kind: opening.streams(Engines(kind=kind)) for kind in ("ascend", "cann", "onnxruntime")}
    assert given == {"ascend": 2, "cann": 2, "onnxruntime": 7}
    assert opening.streams(Engines(kind="ascend", streams=3)) == 3
    waits = {kind: opening.start_timeout_s(Engines(kind=kind)) for kind in ("ascend", "cann", "onnxruntime")}
    assert waits["ascend"] == waits["cann"] > waits["onnxruntime"] == opening.START_S


def test_auto_takes_onnxruntime_where_openvino_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "find_spec", lambda name: None if name == "openvino" else object())
    engine = opening.open_engine(Engines(streams=3))
    assert (engine.name, engine.precision, engine.streams) == ("onnxruntime", "f32", 3)


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        ("fma avx2", "onnxruntime"),
        ("fma avx2 avx512f", "openvino"),
        ("avx2 avx512f amx_bf16", "openvino"),
        ("", "onnxruntime"),
    ],
)
def test_auto_takes_the_faster_engine_for_the_processor(monkeypatch: pytest.MonkeyPatch, flags: str, name: str) -> None:
    monkeypatch.setattr(processor, "_flags", lambda: frozenset(flags.split()))
    monkeypatch.setattr(opening, "find_spec", lambda name: object())
    assert opening.available()[0] == name


@pytest.mark.parametrize("kind", ["openvino", "onnxruntime"])
def test_the_profile_is_known_without_the_engine_and_is_the_engine_s_own(kind: Any) -> None:
    settings = Engines(kind=kind, precision="f32")
    assert opening.profile(settings) is opening.open_engine(settings).profile


def test_opening_the_settings_imports_no_engine() -> None:
    code = "import sys, shared.engines.open as o, shared.models.install, shared.settings as s; o.profile(s.Engines());"
    code += "print(*{'openvino', 'onnxruntime', 'onnx', 'cv2'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_there_is_at_least_one_core_and_no_more_than_the_machine_has() -> None:
    import os

    assert 1 <= processor.cores() <= (os.cpu_count() or 1)


@pytest.mark.parametrize(
    ("text", "cores"), [("max 100000", None), ("150000 100000", 2), ("20000 100000", 1), ("", None)]
)
def test_a_container_quota_counts(monkeypatch: pytest.MonkeyPatch, text: str, cores: int | None) -> None:
    monkeypatch.setattr(processor.Path, "read_text", lambda self, encoding: text)
    assert processor._quota() == cores
