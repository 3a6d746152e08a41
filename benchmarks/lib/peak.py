"""What this machine can compute at most: products of large matrices. `python -m benchmarks.lib.peak THREADS` prints GFLOP/s as JSON.

With one thread the time is CPU time, so that other work on the machine does not hide what a core can do; with more it is wall time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable

from benchmarks.lib.machine import ROOT

SIZE = 2_048
ROUNDS = 8


def best(run: Callable[[], object], clock: Callable[[], float]) -> float:
    """GFLOP/s of the fastest of `ROUNDS` runs of a product of two `SIZE` x `SIZE` matrices."""
    run()
    seconds = []
    for _ in range(ROUNDS):
        started = clock()
        run()
        seconds.append(clock() - started)
    return 2 * SIZE**3 / min(seconds) / 1e9


def here(threads: int) -> dict[str, float]:
    """GFLOP/s by kind, in this process; the number of threads of numpy's library was set before it was loaded."""
    import numpy as np

    clock = time.process_time if threads == 1 else time.perf_counter
    a = np.random.default_rng(1).standard_normal((SIZE, SIZE), dtype=np.float32)
    found = {"numpy f32": best(lambda: a @ a, clock)}
    try:
        import openvino
        from openvino import opset13

        from shared.engines.processor import has_bf16
    except ImportError:
        return found
    given = opset13.parameter([SIZE, SIZE], name="a")
    model = openvino.Model([opset13.matmul(given, opset13.constant(a), False, False)], [given])
    for precision in ("f32", "bf16") if has_bf16() else ("f32",):
        config = {"INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1}
        request = openvino.Core().compile_model(model, "CPU", config).create_infer_request()
        found[f"openvino {precision}"] = best(lambda request=request: request.infer([a], share_inputs=True), clock)
    return found


def measure(threads: int) -> dict[str, float]:
    """GFLOP/s by kind with so many threads, in a process of its own."""
    variables = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(variables, str(threads)), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "benchmarks.lib.peak", str(threads)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    print(json.dumps(here(int(sys.argv[1]))))
