"""A double of `aclruntime`: the same names and arguments, the ONNX file on the CPU in place of the om on a card. A simulator, for tests only.

Written from what the public source does (Ascend tools, ais-bench_workload/tool/ais_bench/backend at commit 7d48a93e), not from its text. It keeps:
the text of errors, exact gears, sizes compared in bytes and types not at all, one call at a time, the interpreter lock held.
"""

from __future__ import annotations

import math
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import om_double
from device_double import BYTES_PER_ELEMENT, CONTEXT_BYTES, Card, Fault, say
from types_double import (  # noqa: F401 - they are looked for here
    BaseTensor,
    MemorySummary,
    Tensor,
    dtype,
    infer_options,
    name_of,
    session_options,
    sumary,
    tensor_desc,
    type,
)

NOT_SIMULATED = {
    "": {"batch"},
    "InferenceSession": {
        "check_dym_aipp_input_exist",
        "create_tensor_from_fileslist",
        "first_inner_run",
        "get_dym_aipp_input_exist",
        "inner_run",
        "run_pipeline",
        "set_dym_aipp_info_set",
    },
}
"""Names of the real one that this has not, beside `aipp_set_…`: nothing here uses them."""

MESSAGES = {
    -1: "ACL: general failure",
    1: "ACL: invalid parameter",
    2: "ACL: memory allocation fail",
    3: "ACL: runtime failure",
    4: "ACL: Graph Engine failure",
    3011: "Infer: find outputsize is zero",
}


class InferenceSession:
    def __init__(self, model_path: str, device_id: int, options: Any = None) -> None:
        self._options = options or session_options()
        self._entered = threading.Lock()
        self._card = _card()
        self._sumary = sumary()
        self._guard("open", lambda: None)
        if self._card.held == 0:
            self._guard("open", lambda: self._card.hold(CONTEXT_BYTES))
        try:
            head, onnx = om_double.read(Path(model_path))
        except (OSError, ValueError) as error:
            say(f"load model from file failed, model file is {model_path} ({error})", "ERROR")
            raise _error(1) from None
        self._head = head
        self._model = Path(model_path).parent.parent.name or "model"
        if head["soc"] != self._card.plan.get("soc", head["soc"]):
            say(f"EE1001: the model is of {head['soc']}; load model from file failed", "ERROR")
            raise _error(1)
        self._inputs = [_desc(one) for one in head["inputs"]]
        self._outputs = [_desc(one) for one in head["outputs"]]
        for number, desc in enumerate(self._inputs):
            sizes = [math.prod(gear[number]) for gear in head["gears"]] or [0]
            desc.size = max(sizes) * np.dtype(head["inputs"][number]["dtype"]).itemsize
            desc.realsize = desc.size
        for desc, size in zip(self._outputs, head["output_bytes"], strict=True):
            desc.size = desc.realsize = size
        self._weights = len(onnx)
        self._workspace = (
            max((sum(math.prod(s) for s in gear) for gear in head["gears"]), default=0) * BYTES_PER_ELEMENT
        )
        self._seen: set[tuple[tuple[int, ...], ...]] = set()
        self._answers: dict[str, list[Any]] = {}
        self._guard("load", lambda: self._card.hold(self._weights + self._workspace))
        self._network = _network(onnx)
        self._set: tuple[str, Any] = ("none", None)
        self._custom: list[int] = []

    # --- what it is ----------------------------------------------------------------------------------------------------

    def options(self) -> Any:
        return self._options

    def get_inputs(self) -> list[tensor_desc]:
        return self._inputs

    def get_outputs(self) -> list[tensor_desc]:
        return self._outputs

    def sumary(self) -> sumary:
        return self._sumary

    def reset_sumaryinfo(self) -> int:
        self._sumary = sumary()
        return 0

    def get_max_dym_batchsize(self) -> int:
        return max(self._batches(), default=0)

    # --- gears ---------------------------------------------------------------------------------------------------------

    def set_context(self) -> None:
        self._guard("context", lambda: None)

    def set_staticbatch(self) -> int:
        self._set = ("static", None)
        return 0

    def set_dynamic_batchsize(self, batchsize: int) -> int:
        if not 0 < batchsize <= 4096:
            raise RuntimeError("dynamic batchsize out of range. Please check.")
        batches = self._batches()
        if batchsize not in batches:
            what = "the dymBatch parameter is not correct" if batches else _UNSPECIFIED.format("dynamic_batch_size")
            self._refuse(what)
        most = max(batches)
        for desc in self._inputs:
            if -1 in desc.shape:
                desc.realsize = desc.size * batchsize // most
        self._set = ("dymbatch", batchsize)
        return 0

    def set_dynamic_hw(self, width: int, height: int) -> int:
        gears = [(gear[0][2], gear[0][3]) for gear in self._head["gears"]] if self._head["mode"] == "dymhw" else []
        if (width, height) not in gears:  # the first of a gear is compared with the first argument, whatever its name
            self._refuse("the dymHW parameter is not correct" if gears else _UNSPECIFIED.format("dynamic_image_size"))
        most = max(h * w for h, w in gears)
        for desc in self._inputs:
            if -1 in desc.shape:
                desc.realsize = desc.size * width * height // most
        self._set = ("dymhw", (width, height))
        return 0

    def set_dynamic_dims(self, dymdims: str) -> int:
        shapes = _parsed(dymdims)
        if self._head["mode"] != "dymdims":
            self._refuse(_UNSPECIFIED.format("dynamic_dims"), code=-1)
        wanted = [list(shapes.get(desc.name, ())) for desc in self._inputs]
        if wanted not in self._head["gears"]:
            self._refuse("the dynamic_dims parameter is not correct", code=-1)
        self._sizes(shapes)
        self._set = ("dymdims", shapes)
        return 0

    def set_dynamic_shape(self, dymshape: str) -> int:
        if self._head["mode"] != "dymshape":
            self._refuse("check dynamic shape failed: not match", code=-1)
        shapes = _parsed(dymshape)
        self._sizes(shapes)
        self._set = ("dymshape", shapes)
        return 0

    def set_custom_outsize(self, sizes: list[int]) -> int:
        self._custom = list(sizes)
        return 0

    # --- running -------------------------------------------------------------------------------------------------------

    def run(self, output_names: list[str], feeds: list[Any]) -> list[Tensor]:
        if not self._entered.acquire(blocking=False):
            raise RuntimeError("the double was entered by two callers at once: a session is not safe for that")
        try:
            return self._run(output_names, feeds)
        finally:
            self._entered.release()

    def _run(self, output_names: list[str], feeds: list[Any]) -> list[Tensor]:
        self.set_context()
        mode, wish = self._set
        if len(feeds) != len(self._inputs):
            raise _error(3)
        for number, (feed, desc) in enumerate(zip(feeds, self._inputs, strict=True)):
            size = feed.size if isinstance(feed, BaseTensor) else np.asarray(feed).nbytes
            if size != desc.realsize:
                say(f"check i:{number} name:{desc.name} in size:{size} needsize:{desc.realsize} not match", "ERROR")
                raise _error(-1)
        if self._head["mode"] != "static" and mode in ("static", "none"):
            say("check failed dym gearcount but dymtype not set", "WARN")
            raise _error(-1)
        shapes = self._shapes(mode, wish)
        arrays = {
            desc.name: _array(feed, shape, one["dtype"])
            for feed, desc, one, shape in zip(feeds, self._inputs, self._head["inputs"], shapes, strict=True)
        }
        words = ";".join(",".join(map(str, shape)) for shape in shapes)
        room = self._custom if mode == "dymshape" else self._head["output_bytes"]
        # Zeros are what a warm-up sends; a page is never all zeros after normalisation.
        zeros = not any(array.any() for array in arrays.values())
        self._guard("malloc", lambda: self._card.hold(0, sum(room)), words, zeros)
        self._grow(shapes)
        started = time.time()
        self._guard("execute", lambda: None, words, zeros)
        found = self._blank(shapes) if zeros and self._head["rules"] else self._answer(words, arrays)
        self._card.take_time()
        if any(array.nbytes > size for array, size in zip(found, room, strict=True)):
            say("execute model failed: output buffer is too small, user size not match", "ERROR")
            raise _error(-1)
        self._sumary.exec_time_list.append((started, time.time()))
        environment = {name: os.environ[name] for name in os.environ if name.startswith(("GE_", "ASCEND_"))}
        self._card.note(model=self._model, shape=words, mode=mode, zeros=zeros, environment=environment)
        outputs = dict(zip([desc.name for desc in self._outputs], found, strict=True))
        tensors = [Tensor(outputs[name]) for name in output_names]
        for tensor in tensors:
            tensor.to_device(0)
        return tensors

    def _answer(self, shape: str, arrays: dict[str, Any]) -> list[Any]:
        """The network's answer; with the plan's `answers: first` that to the first input of this shape, so that many pages are cheap."""
        if self._card.plan.get("answers") != "first":
            return self._network.run(None, arrays)
        if shape not in self._answers:
            self._answers[shape] = self._network.run(None, arrays)
        return [array.copy() for array in self._answers[shape]]

    def _blank(self, shapes: list[list[int]]) -> list[Any]:
        """Answers to a warm-up: of the right shape, and not computed."""
        found = []
        for rule, one in zip(self._head["rules"], self._head["outputs"], strict=True):
            shape = [size if axis is None else shapes[0][axis] * size // by for axis, size, by in rule]
            found.append(np.zeros(shape, one["dtype"]))
        return found

    def _grow(self, shapes: list[list[int]]) -> None:
        """Without gears every new shape takes memory that is not given back; with GE_USE_STATIC_MEMORY=3 one arena grows to the largest."""
        if self._head["mode"] != "dymshape":
            return
        key = tuple(tuple(shape) for shape in shapes)
        if key in self._seen:
            return
        self._seen.add(key)
        need = sum(math.prod(shape) for shape in shapes) * BYTES_PER_ELEMENT
        if os.environ.get("GE_USE_STATIC_MEMORY") == "3":
            need, self._workspace = max(0, need - self._workspace), max(need, self._workspace)
        if need:
            self._guard("execute", lambda: self._card.hold(need), "")

    def _shapes(self, mode: str, wish: Any) -> list[list[int]]:
        if mode == "static":
            return [list(desc.shape) for desc in self._inputs]
        if mode in ("dymdims", "dymshape"):
            return [list(wish[desc.name]) for desc in self._inputs]
        free = {"dymbatch": lambda at: wish, "dymhw": lambda at: wish[at - 2]}[mode]
        return [[free(at) if size < 0 else size for at, size in enumerate(desc.shape)] for desc in self._inputs]

    # --- ending --------------------------------------------------------------------------------------------------------

    def free_resource(self) -> int:
        self._card.free(self._weights + self._workspace)
        return 0

    @staticmethod
    def finalize() -> int:
        return 0

    # --- inside --------------------------------------------------------------------------------------------------------

    def _batches(self) -> list[int]:
        return [gear[0][0] for gear in self._head["gears"]] if self._head["mode"] == "dymbatch" else []

    def _sizes(self, shapes: dict[str, tuple[int, ...]]) -> None:
        for desc, one in zip(self._inputs, self._head["inputs"], strict=True):
            if desc.name in shapes:
                desc.realsize = math.prod(shapes[desc.name]) * np.dtype(one["dtype"]).itemsize

    def _refuse(self, why: str, code: int = 1) -> None:
        say(why, "ERROR")
        raise _error(code)

    def _guard(self, at: str, work: Any, shape: str = "", warm_up: bool = False) -> None:
        """Pass a place of the card; what fails there comes out as the real one's errors do: allocations as 2, running as -1."""
        try:
            self._card.reach(at, getattr(self, "_model", ""), shape, warm_up)
            work()
        except Fault as fault:
            code = {"malloc": 2, "execute": -1, "load": 1}.get(at, fault.code)
            say("execute model failed" if at == "execute" else f"{at} failed", "ERROR")
            raise _error(code) from None


_UNSPECIFIED = "the {} parameter is not specified for model conversion"
_the_card: list[Card] = []


def _card() -> Card:
    if not _the_card:
        _the_card.append(Card.here())
    return _the_card[0]


def _network(onnx: bytes) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(onnx, options, providers=["CPUExecutionProvider"])


def _error(code: int) -> RuntimeError:
    return RuntimeError(f"[{code}][{MESSAGES.get(code, 'Error code unknown')}] ")


def _desc(one: dict[str, Any]) -> tensor_desc:
    desc = tensor_desc()
    desc.name = one["name"]
    desc.datatype = dtype[name_of(np.dtype(one["dtype"]))]
    desc.shape = [-1 if size is None else size for size in one["shape"]]
    return desc


def _parsed(text: str) -> dict[str, tuple[int, ...]]:
    found = {}
    for part in text.split(";"):
        name, _, sizes = part.rpartition(":")
        found[name] = tuple(int(size) for size in sizes.split(","))
    return found


def _array(feed: Any, shape: list[int], kind: str) -> Any:
    if not isinstance(feed, BaseTensor):
        return np.asarray(feed).reshape(shape)
    import ctypes

    raw = ctypes.string_at(feed.buf, feed.size)
    return np.frombuffer(raw, dtype=kind).reshape(shape).copy()


def model(modelPath: str, deviceId: int = 0, options: Any = None) -> InferenceSession:
    return InferenceSession(modelPath, deviceId, options)
