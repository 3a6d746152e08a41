"""The small types of the double of `aclruntime`: options, descriptions and tensors."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np


def name_of(kind: np.dtype) -> str:
    """A numpy type by the name it has in `dtype`."""
    return {"float64": "double"}.get(kind.name, kind.name)


class dtype(enum.IntEnum):
    float32 = 0
    float16 = 1
    int8 = 2
    int32 = 3
    uint8 = 4
    int16 = 6
    uint16 = 7
    uint32 = 8
    int64 = 9
    uint64 = 10
    double = 11
    bool = 12


class type(enum.IntEnum):
    memory_host = 0
    memory_device = 1
    memory_dvpp = 2


class session_options:
    def __init__(self) -> None:
        self.loop = 1
        self.log_level = 2
        self.acl_json_path = ""


class infer_options:
    def __init__(self) -> None:
        self.output_dir = ""
        self.auto_dym_shape = False
        self.auto_dym_dims = False
        self.out_format = "BIN"
        self.pure_infer_mode = False
        self.output_names: list[str] = []
        self.shapes_list: list[str] = []


class tensor_desc:
    def __init__(self) -> None:
        self.name = ""
        self.datatype = dtype.float32
        self.format = 2
        self.shape: list[int] = []
        self.size = 0
        self.realsize = 0


class sumary:
    def __init__(self) -> None:
        self.exec_time_list: list[tuple[float, float]] = []


class MemorySummary:
    def __init__(self) -> None:
        self.H2D_time_list: list[float] = []
        self.D2H_time_list: list[float] = []

    def reset(self) -> None:
        self.__init__()  # type: ignore[misc]


class BaseTensor:
    def __init__(self, buf: int, size: int) -> None:
        self.buf = buf
        self.size = size


class Tensor:
    """An array, on the card until it is brought to the host."""

    def __init__(self, array: Any) -> None:
        self._array = np.array(array)
        self._on_device = False
        self.device = -1

    def to_device(self, device_id: int) -> None:
        self._on_device, self.device = True, device_id

    def to_host(self) -> None:
        self._on_device = False

    def to_dvpp(self, device_id: int) -> None:
        self.to_device(device_id)

    @property
    def shape(self) -> list[int]:
        return list(self._array.shape)

    @property
    def dtype(self) -> Any:
        return globals()["dtype"][name_of(self._array.dtype)]

    @property
    def type(self) -> Any:
        return globals()["type"].memory_device if self._on_device else globals()["type"].memory_host

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if self._on_device:
            raise RuntimeError("tensor is in npu. can't convert to numpy array")
        return self._array.astype(dtype) if dtype is not None else self._array
