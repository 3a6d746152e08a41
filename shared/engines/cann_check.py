"""`python -m shared.engines.cann_check DEVICE`: does ONNX Runtime with CANN run a network on an NPU? For `docfleet doctor --local`.

The provider is listed, and its module imported, also where nothing of CANN is installed, so only a session tells: this opens the smallest there can
be (`x + x` of four numbers) as the engine opens its own, and runs it once. In a process of its own, since a driver in trouble hangs, and
what is loaded of CANN stays. Prints the version of ONNX Runtime, or why not, and ends with 0 or 1; ONNX Runtime writes more to standard error.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.settings import Engines

ADD = bytes.fromhex(
    "08081200 3a3d 0a0e 0a0178 0a0178 120179 2203416464 120167"
    " 5a13 0a0178 120e0a0c0801 12080a0208010a020804 6213 0a0179 120e0a0c0801 12080a0208010a020804 4204 0a00100d"
)
"""An ONNX file, opset 13: `y = x + x`, both float32 of shape (1, 4). Written out, because production images have no package `onnx`."""


def check(device: int) -> str:
    """The version of ONNX Runtime that ran the network on that NPU. Raises `DocfleetError` when it did not, `ImportError` without one."""
    from shared.engines.cann import CannEngine

    engine = CannEngine(Engines(kind="cann", ascend_device=device))
    with tempfile.TemporaryDirectory(prefix="docfleet-cann-") as folder:
        path = Path(folder) / "a sum" / "network.onnx"
        path.parent.mkdir()
        path.write_bytes(ADD)
        (answer,) = engine.load(path).infer(np.ones((1, 4), np.float32))
    if answer.tolist() != [[2.0] * 4]:
        raise DocfleetError(ErrorCode.internal, f"the NPU added wrongly: 1 + 1 became {answer.tolist()}")
    return engine.version


def main(device: int) -> int:
    """The whole command; returns the exit code."""
    try:
        print(check(device))
    except DocfleetError as error:
        print(error.message)
        return 1
    except ImportError as error:
        print(f"onnxruntime cannot be imported ({error!s:.200}); install onnxruntime-cann (docs/ascend.md, section 6)")
        return 1
    except Exception as error:  # the runtime's own share no base but this
        print(f"onnxruntime: {error!s:.200}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
