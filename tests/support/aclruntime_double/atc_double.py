"""A double of atc: checks a command as the ATC guide has its rules, and writes an om of the double. A simulator, for tests only."""

import math
import sys
from pathlib import Path

import numpy as np
import om_double

LISTS = {"dynamic_batch_size": "dymbatch", "dynamic_image_size": "dymhw", "dynamic_dims": "dymdims"}
KNOWN = {
    "framework",
    "model",
    "output",
    "soc_version",
    "input_format",
    "input_shape",
    "input_shape_range",
    "precision_mode",
    "log",
}


def fail(why):
    print(f"ATC run failed, E10001: {why}")
    sys.exit(1)


def main():
    flags = dict(word.removeprefix("--").split("=", 1) for word in sys.argv[1:])
    if unknown := set(flags) - KNOWN - set(LISTS):
        fail(f"unknown flag {sorted(unknown)}")
    if flags.get("framework") != "5":
        fail("--framework=5 is ONNX")
    varying = [name for name in (*LISTS, "input_shape_range") if name in flags]
    if len(varying) > 1:
        fail(f"{varying} are mutually exclusive")
    onnx = Path(flags["model"]).read_bytes()
    session = _session(onnx)
    inputs = session.get_inputs()
    given = flags.get("input_shape") or flags["input_shape_range"].replace("[", "").replace("]", "")
    name, _, text = given.partition(":")
    if len(inputs) != 1 or inputs[0].name != name:
        fail(f"the model has no input {name}")
    sizes = text.split(",")
    free = [axis for axis, size in enumerate(sizes) if size == "-1" or "~" in size]
    if varying == ["input_shape_range"]:
        mode, gears, extra = "dymshape", [], "_linux_x86_64"
    elif varying:
        mode, extra = LISTS[varying[0]], ""
        text = flags[varying[0]]
        rows = (
            [[size] for size in text.split(",")] if mode == "dymbatch" else [row.split(",") for row in text.split(";")]
        )
        if not 1 < len(rows) <= 100:
            fail(f"{len(rows)} gears; from 2 to 100 are allowed")
        if {"dymbatch": [0], "dymhw": [2, 3]}.get(mode, free) != free or any(len(row) != len(free) for row in rows):
            fail(f"--{varying[0]} does not go with --input_shape={given}")
        if (mode == "dymdims") != (flags.get("input_format") == "ND"):
            fail("--dynamic_dims needs --input_format=ND, and nothing else does")
        gears = []
        for row in rows:
            shape = [int(size) if size != "-1" else -1 for size in sizes]
            for axis, size in zip(free, row, strict=True):
                shape[axis] = int(size)
            gears.append([shape])
    else:
        if free:
            fail("the shape is not fixed")
        mode, gears, extra = "static", [[[int(size) for size in sizes]]], ""
    kind = {"tensor(float)": "float32"}[inputs[0].type]
    known = [{"tensor(float)": "float32", "tensor(int64)": "int64"}[one.type] for one in session.get_outputs()]
    rules, room = _rules(session, gears, len(known))
    fixed = [None if axis in free else int(size) for axis, size in enumerate(sizes)]
    outputs = [
        {
            "name": f"node_{at}:0:{one.name}",
            "dtype": dtype,
            "shape": [size if isinstance(size, int) else None for size in one.shape],
        }
        for at, (one, dtype) in enumerate(zip(session.get_outputs(), known, strict=True))
    ]
    head = {
        "soc": flags["soc_version"],
        "mode": mode,
        "gears": gears,
        "output_bytes": room,
        "rules": rules,
        "inputs": [{"name": name, "dtype": kind, "shape": fixed}],
        "outputs": outputs,
    }
    target = Path(f"{flags['output']}{extra}.om")
    om_double.write(target, head, onnx)
    target.chmod(0o600)
    print("ATC run success, welcome to the next use.")


def _session(onnx):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(onnx, options, providers=["CPUExecutionProvider"])


def _rules(session, gears, count):
    """How each output's sizes follow from the input's, `[axis, numerator, denominator]` or `[None, size, 1]`, and the room for the largest gear.

    From the smallest two gears that differ in all axes that vary, in each by another factor where there are such: else an output's size could be
    taken for that of a wrong axis. Checked by nothing, for the double computes every call that is no warm-up.
    """
    if not gears:
        return [], [0] * count
    shapes = sorted((gear[0] for gear in gears), key=math.prod)
    first = shapes[0]
    varied = [axis for axis in range(len(first)) if len({shape[axis] for shape in shapes}) > 1]
    others = [shape for shape in shapes if all(shape[axis] != first[axis] for axis in varied)]
    others.sort(key=lambda shape: len({shape[axis] / first[axis] for axis in varied}) < len(varied))
    found = [
        (shape, session.run(None, {session.get_inputs()[0].name: np.zeros(shape, np.float32)}))
        for shape in [first, *others[:1]]
    ]
    rules = []
    for at in range(count):
        rows = []
        for axis_out, size in enumerate(found[0][1][at].shape):
            rule = [None, size, 1]
            if len(found) > 1 and found[1][1][at].shape[axis_out] != size:
                second = found[1][1][at].shape[axis_out]
                rule = next(
                    ([axis, size, first[axis]] for axis in varied if second * first[axis] == size * found[1][0][axis]),
                    rule,
                )
            rows.append(rule)
        rules.append(rows)
    room = [
        max(math.prod(r[1] if r[0] is None else shape[r[0]] * r[1] // r[2] for r in rules[at]) for shape in shapes)
        * found[0][1][at].itemsize
        for at in range(count)
    ]
    return rules, room


if __name__ == "__main__":
    main()
