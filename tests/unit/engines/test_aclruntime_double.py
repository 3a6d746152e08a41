"""The double of the NPU runtime has the names and arguments of the real one, as its public source has them (which one, the file says)."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.support import aclruntime_signatures
from tests.support.ascend import DOUBLE

pytestmark = pytest.mark.unit
REAL = json.loads((DOUBLE.parent / "aclruntime_signatures.json").read_text())
SUBPROCESS = {"subprocess_infer", "subprocess_infer_iteration", "subprocess_infer_pipeline"}
"""Of MultiDeviceSession, which loads the model anew for every call: not simulated."""


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ModuleType, ModuleType]]:
    """`aclruntime` and `ais_bench.infer.interface` of the double; this process forgets them afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(DOUBLE))
    import aclruntime
    from ais_bench.infer import interface

    yield aclruntime, interface
    for name in set(sys.modules) - before:
        if str(DOUBLE) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_the_source_is_named() -> None:
    assert "7d48a93e" in REAL["origin"]
    assert len(REAL["aclruntime"]["InferenceSession"]) > 30, "the file was read from a whole source"


def test_every_method_of_ais_bench_has_the_same_arguments_and_defaults(double: tuple[ModuleType, ModuleType]) -> None:
    _, interface = double
    for name, methods in REAL["ais_bench"].items():
        ours = getattr(interface, name)
        for method, wanted in methods.items():
            if method in SUBPROCESS:
                continue
            found = inspect.getattr_static(ours, method)
            function = getattr(found, "__func__", found)
            rows: list[list[Any]] = []
            for parameter in inspect.signature(function).parameters.values():
                given = [] if parameter.default is parameter.empty else [parameter.default]
                rows.append([parameter.name, *given])
            assert rows == wanted, f"{name}.{method}"
            static = not wanted or wanted[0][0] not in ("self", "cls")
            assert isinstance(found, staticmethod) == static, f"{name}.{method}"


def test_aclruntime_has_the_same_names_but_those_that_are_said_to_be_missing(
    double: tuple[ModuleType, ModuleType],
) -> None:
    aclruntime, _ = double
    for owner, names in REAL["aclruntime"].items():
        place = getattr(aclruntime, owner) if owner else aclruntime
        instance = vars(place()) if owner in ("session_options", "infer_options", "tensor_desc", "sumary") else {}
        arguments = {"BaseTensor": (0, 0), "Tensor": (np.zeros(1),), "MemorySummary": ()}
        if owner in arguments:
            instance = vars(place(*arguments[owner]))
        missing = {name for name in names if not hasattr(place, name) and name not in instance}
        said = aclruntime.NOT_SIMULATED.get(owner, set()) | {name for name in names if name.startswith("aipp_set_")}
        assert missing == said, owner


def test_methods_of_aclruntime_take_as_many_arguments(double: tuple[ModuleType, ModuleType]) -> None:
    aclruntime, _ = double
    compared = 0
    for name, counts in REAL["aclruntime_arguments"].items():
        if not hasattr(aclruntime.InferenceSession, name) or name.startswith("__"):
            continue
        found = inspect.getattr_static(aclruntime.InferenceSession, name)
        function = getattr(found, "__func__", found)
        own = 0 if isinstance(found, staticmethod) else 1
        assert len(inspect.signature(function).parameters) - own in counts, name
        compared += 1
    assert compared > 15


def test_a_source_that_changed_is_noticed(tmp_path: Path) -> None:
    source = """
class InferSession:
    def __init__(self, device_id: int, model_path: str, weight_dir=None): ...
    def infer(self, feeds, mode='static'): ...
    def _static_prepare(self): ...
"""
    assert aclruntime_signatures.python_signatures(source) == {
        "InferSession": {
            "__init__": [["self"], ["device_id"], ["model_path"], ["weight_dir", None]],
            "infer": [["self"], ["feeds"], ["mode", "static"]],
        }
    }
    bound = """
    auto model = py::class_<Base::PyInferenceSession, std::shared_ptr<Base::PyInferenceSession>>(m, "InferenceSession");
    model.def("run", &Base::PyInferenceSession::InferVector);
    model.def_static("finalize", &Base::PyInferenceSession::Finalize);
    py::class_<Base::BaseTensor>(m, "BaseTensor")
    .def_readwrite("buf", &Base::BaseTensor::buf);
    m.def("model", &CreateModelInstance);
"""
    assert aclruntime_signatures.bound_names(bound) == {
        "InferenceSession": ["finalize", "run"],
        "BaseTensor": ["buf"],
        "": ["model"],
    }
    header = "std::vector<TensorBase> InferVector(std::vector<std::string>& names, std::map<std::string, A>& feeds);\nstatic int Finalize();"
    assert aclruntime_signatures.bound_counts(bound, header) == {"run": [2], "finalize": [0]}
