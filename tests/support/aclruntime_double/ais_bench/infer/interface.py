"""A double of `ais_bench.infer.interface`: the same classes and arguments on the double of `aclruntime`. A simulator, for tests only.

Written from what the public source does (Ascend tools, ais-bench_workload/tool/ais_bench at commit 7d48a93e). What our engine does not use
says that it is not simulated.
"""

from __future__ import annotations

import os
import re
import stat

import aclruntime
import numpy as np

MODES = ("static", "dymbatch", "dymhw", "dymdims", "dymshape")


class InferSession:
    def __init__(
        self, device_id: int, model_path: str, acl_json_path: str | None = None, debug: bool = False, loop: int = 1
    ) -> None:
        _check_path(model_path)
        if not isinstance(device_id, int):
            raise TypeError(f"device:{device_id} is not a integer!")
        if not 0 <= device_id <= 255:
            raise ValueError(f"device:{device_id} is illegal. legal value range is [0, 255]")
        self.device_id = device_id
        self.model_path = model_path
        options = aclruntime.session_options()
        options.log_level = 1 if debug else 2
        options.loop = loop
        self.session = aclruntime.InferenceSession(model_path, device_id, options)
        self.outputs_names = [meta.name for meta in self.session.get_outputs()]

    @staticmethod
    def convert_tensors_to_host(tensors):
        for tensor in tensors:
            tensor.to_host()

    @staticmethod
    def convert_tensors_to_arrays(tensors):
        return [np.array(tensor) for tensor in tensors]

    @staticmethod
    def finalize():
        aclruntime.InferenceSession.finalize()

    def get_inputs(self):
        return self.session.get_inputs()

    def get_outputs(self):
        return self.session.get_outputs()

    def set_loop_count(self, loop):
        self.session.options().loop = loop

    def set_context(self):
        self.session.set_context()

    def set_staticbatch(self):
        self.session.set_staticbatch()

    def set_dynamic_batchsize(self, dym_batch: str):
        self.session.set_dynamic_batchsize(dym_batch)

    def set_dynamic_hw(self, w: int, h: int):
        self.session.set_dynamic_hw(w, h)

    def get_max_dym_batchsize(self):
        return self.session.get_max_dym_batchsize()

    def set_dynamic_dims(self, dym_dims: str):
        self.session.set_dynamic_dims(dym_dims)

    def set_dynamic_shape(self, dym_shape: str):
        self.session.set_dynamic_shape(dym_shape)

    def set_custom_outsize(self, custom_sizes):
        self.session.set_custom_outsize(custom_sizes)

    def create_tensor_from_fileslist(self, desc, files):
        raise NotImplementedError("not simulated")

    def create_tensor_from_arrays_to_device(self, arrays):
        tensor = aclruntime.Tensor(arrays)
        tensor.to_device(self.device_id)
        return tensor

    def get_dym_aipp_input_exist(self):
        raise NotImplementedError("not simulated")

    def check_dym_aipp_input_exist(self):
        raise NotImplementedError("not simulated")

    def load_aipp_config_file(self, config_file, batchsize):
        raise NotImplementedError("not simulated")

    def run(self, feeds, out_array=False):
        if feeds and isinstance(feeds[0], np.ndarray):
            feeds = [aclruntime.BaseTensor(one.__array_interface__["data"][0], one.nbytes) for one in feeds]
        outputs = self.session.run(self.outputs_names, feeds)
        if not out_array:
            return outputs
        self.convert_tensors_to_host(outputs)
        return self.convert_tensors_to_arrays(outputs)

    def run_pipeline(
        self,
        infilelist,
        output,
        auto_shape=False,
        auto_dims=False,
        outfmt="BIN",
        pure_infer_mode=False,
        extra_session=None,
    ):
        raise NotImplementedError("not simulated")

    def reset_summaryinfo(self):
        self.session.reset_sumaryinfo()

    def infer(self, feeds, mode="static", custom_sizes=100000, out_array=True):
        if not isinstance(feeds, list):
            raise ValueError("the list be checked is not a list!")
        if not feeds:
            raise ValueError("the list is empty")
        if mode not in MODES:
            raise ValueError("infer mode is illegal, Please check.")
        _check_sizes(custom_sizes, mode)
        arrays = []
        for feed in feeds:
            if isinstance(feed, np.generic):
                feed = np.array(feed)
            if not isinstance(feed, np.ndarray):
                raise RuntimeError(f"type:{type(feed)} invalid")
            arrays.append(np.ascontiguousarray(feed))
        getattr(self, f"_{mode}")([array.shape for array in arrays], custom_sizes)
        return self.run(arrays, out_array)

    def free_resource(self):
        self.session.free_resource()

    def infer_pipeline(self, feeds_list, mode="static", custom_sizes=100000):
        raise NotImplementedError("not simulated")

    def infer_iteration(self, feeds, in_out_list=None, iteration_times=1, mode="static", custom_sizes=100000):
        raise NotImplementedError("not simulated")

    def summary(self):
        return self.session.sumary()

    def _static(self, shapes, custom_sizes):
        self.set_staticbatch()

    def _dymbatch(self, shapes, custom_sizes):
        inputs = self._same_number(shapes)
        for shape, desc in zip(shapes, inputs, strict=True):
            for size, known in zip(shape, desc.shape, strict=False):
                if known < 0:
                    self.set_dynamic_batchsize(size)
                    return
                if known != size:
                    raise RuntimeError("input datas and intensors dim not matched!")
        raise RuntimeError("not a dymbatch model!")

    def _dymhw(self, shapes, custom_sizes):
        for shape, desc in zip(shapes, self._same_number(shapes), strict=True):
            if desc.shape[2] < 0 and desc.shape[3] < 0:
                self.set_dynamic_hw(shape[2], shape[3])
                return
        raise RuntimeError("not a dymhw model!")

    def _dymdims(self, shapes, custom_sizes):
        self.session.set_dynamic_dims(self._words(shapes))

    def _dymshape(self, shapes, custom_sizes):
        self.session.set_dynamic_shape(self._words(shapes))
        sizes = [custom_sizes] * len(self.get_outputs()) if isinstance(custom_sizes, int) else custom_sizes
        self.session.set_custom_outsize(sizes)

    def _words(self, shapes):
        inputs = self._same_number(shapes)
        return ";".join(f"{d.name}:{','.join(map(str, s))}" for d, s in zip(inputs, shapes, strict=True))

    def _same_number(self, shapes):
        inputs = self.get_inputs()
        if len(shapes) != len(inputs):
            raise RuntimeError("input datas and intensors nums not matched!")
        return inputs


class MultiDeviceSession:
    def __init__(self, model_path: str, acl_json_path: str | None = None, debug: bool = False, loop: int = 1):
        _check_path(model_path)
        self.model_path = model_path
        self.summary = {}  # hides the method below, as in the real one

    @classmethod
    def print_subprocess_run_error(cls, value):
        raise NotImplementedError("not simulated")

    def summary(self):
        raise NotImplementedError("not simulated")

    def infer(self, device_feeds: dict, mode="static", custom_sizes=100000):
        raise NotImplementedError("not simulated")

    def infer_pipeline(self, device_feeds_list: dict, mode="static", custom_sizes=100000):
        raise NotImplementedError("not simulated")

    def infer_iteration(
        self, device_feeds: dict, in_out_list=None, iteration_times=1, mode="static", custom_sizes=None
    ):
        raise NotImplementedError("not simulated")


class MemorySummary:
    @staticmethod
    def get_h2d_time_list():
        return aclruntime.MemorySummary().H2D_time_list

    @staticmethod
    def get_d2h_time_list():
        return aclruntime.MemorySummary().D2H_time_list

    @staticmethod
    def reset():
        aclruntime.MemorySummary().reset()


def _check_path(path):
    """The rules of infer/common/path_security_check.py, and its message that does not say which."""
    absolute = os.path.abspath(path)
    if re.search(r"[^_A-Za-z0-9/.-]", absolute):
        raise ValueError("The path string is illegal. Please check.")
    if not os.path.isfile(absolute):
        raise ValueError(f"The path:{path} is not a file.")
    status = os.stat(absolute)
    owned = status.st_uid == os.geteuid() or status.st_gid in os.getgroups()
    writable = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if os.path.islink(absolute) or not owned or writable or not os.access(absolute, os.R_OK):
        raise ValueError(f"The path:{path} is illegal. Please check the error log for more detail.")
    if os.path.splitext(absolute)[1] != ".om":
        raise ValueError(f"The suffix of path:{path} not in ['om']. Please check.")


def _check_sizes(value, mode):
    if value is None:
        if mode == "dymshape":
            raise ValueError(f"custom_size:{value} dismatch with mode. Please check.")
        return
    sizes = value if isinstance(value, list) else [value]
    if not sizes or any(not isinstance(size, int) for size in sizes):
        raise TypeError(f"value:{value} is not a integer!")
    if any(not 0 < size <= 16 * 2**30 for size in sizes):
        raise ValueError(f"custom size value:{value} is out of range. Please check.")
