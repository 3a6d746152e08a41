"""The signatures of `ais_bench` and `aclruntime`, out of a checkout of their public source.

`python -m tests.support.aclruntime_signatures CHECKOUT` prints them, as `aclruntime_signatures.json` has them. A newer source is compared by
making the file again and looking at what changed; a test compares the file with the double. CHECKOUT is the folder `tool/ais_bench` of
`ais-bench_workload` in Ascend/tools (or one laid out like it).
"""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path
from typing import Any

INTERFACE = "ais_bench/infer/interface.py"
SESSION = "backend/python/src/PyInferenceSession/PyInferenceSession.cpp"
SESSION_HEADER = "backend/python/include/PyInferenceSession/PyInferenceSession.h"
TENSOR = "backend/python/src/PyTensor/PyTensor.cpp"


def python_signatures(source: str) -> dict[str, dict[str, list[list[Any]]]]:
    """Class to public method to its arguments, `[name]` or `[name, default]`."""
    found = {}
    for node in ast.parse(source).body:
        if not isinstance(node, ast.ClassDef):
            continue
        methods = {}
        for one in node.body:
            if isinstance(one, ast.FunctionDef) and (one.name == "__init__" or not one.name.startswith("_")):
                names = [[argument.arg] for argument in one.args.args]
                for row, default in zip(names[len(names) - len(one.args.defaults) :], one.args.defaults, strict=True):
                    row.append(ast.literal_eval(default))  # type: ignore[arg-type]
                methods[one.name] = names
        if methods:
            found[node.name] = methods
    return found


def bound_names(source: str) -> dict[str, list[str]]:
    """Python name of each class bound with pybind11 to the names of its attributes, as they are bound."""
    found: dict[str, list[str]] = {}
    variables: dict[str, str] = {}
    current = ""
    for line in re.sub(r"\)\s*\n\s*\.", ")\n.", source).splitlines():
        if made := re.search(r'(?:auto (\w+) = )?py::class_<.*>\(m, "(\w+)"', line):
            current = made[2]
            found.setdefault(current, [])
            if made[1]:
                variables[made[1]] = current
        name = re.search(r'(?:(\w+))?\.def(?:_readwrite|_static|_property_readonly)?\("(\w+)"', line)
        if name:
            owner = variables.get(name[1] or "", "" if name[1] == "m" else current)
            found.setdefault(owner, []).append(name[2])
    return {owner: sorted(set(names)) for owner, names in found.items() if names}


def bound_counts(source: str, header: str) -> dict[str, list[int]]:
    """Name of a bound method of InferenceSession to the numbers of arguments its overloads take."""
    counts: dict[str, list[int]] = {}
    for name, member in re.findall(r'model\.def(?:_static)?\("(\w+)", &Base::PyInferenceSession::(\w+)', source):
        declared = re.search(rf"\b{member}\(([^;]*?)\)\s*(?:const)?;", header, re.DOTALL)
        if declared is None:
            continue
        text = re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", declared[1]))).strip()
        counts.setdefault(name, []).append(len(text.split(",")) if text else 0)
    return {name: sorted(some) for name, some in counts.items()}


def signatures(checkout: Path, origin: str) -> dict[str, Any]:
    """All of them, with where they are from."""
    session = (checkout / SESSION).read_text(encoding="utf-8")
    header = (checkout / SESSION_HEADER).read_text(encoding="utf-8")
    names = bound_names(session)
    for owner, some in bound_names((checkout / TENSOR).read_text(encoding="utf-8")).items():
        names[owner] = sorted({*names.get(owner, []), *some})
    return {
        "origin": origin,
        "ais_bench": python_signatures((checkout / INTERFACE).read_text(encoding="utf-8")),
        "aclruntime": names,
        "aclruntime_arguments": bound_counts(session, header),
    }


if __name__ == "__main__":
    json.dump(signatures(Path(sys.argv[1]), sys.argv[2]), sys.stdout, indent=1)
