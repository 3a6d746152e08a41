"""rapidocr, in the peers' own environment: as its README calls it, or tuned.

As called: `RapidOCR()` and one call per picture, nothing set. Tuned (`--tuned`): OpenVINO for detection and recognition, no classifier (on
upright pages it costs accuracy), detection at 960 px, one line a
call (on a CPU batches cost more than they save), and one process per core with one unpinned thread each, as pages are independent.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from typing import Any

from benchmarks.peers.serve import Request, serve

_engine: Any = None


def _open(tuned: bool) -> None:
    global _engine
    from rapidocr import EngineType, RapidOCR  # type: ignore[import-not-found]

    if not tuned:
        _engine = RapidOCR()
        return
    _engine = RapidOCR(
        params={
            "Global.use_cls": False,
            "Global.log_level": "error",
            "Det.engine_type": EngineType.OPENVINO,
            "Rec.engine_type": EngineType.OPENVINO,
            "Det.limit_type": "max",
            "Det.limit_side_len": 960,
            "Rec.rec_batch_num": 1,
            "EngineConfig.openvino.inference_num_threads": 1,
            "EngineConfig.openvino.num_streams": 1,
            "EngineConfig.openvino.enable_cpu_pinning": False,
        }
    )


def _text(picture: str) -> str:
    result = _engine(picture)
    return "\n".join(result.txts or ())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tuned", action="store_true")
    tuned = parser.parse_args().tuned
    about = f"rapidocr {version('rapidocr')}, onnxruntime {version('onnxruntime')}, openvino {version('openvino')}"
    if not tuned:
        _open(tuned=False)
        serve(lambda request: {"pages": [_text(picture) for picture in request["pictures"]]}, about)
        return
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), initializer=_open, initargs=(True,)) as pool:

        def read(request: Request) -> dict[str, Any]:
            return {"pages": list(pool.map(_text, request["pictures"]))}

        serve(read, about)


if __name__ == "__main__":
    main()
