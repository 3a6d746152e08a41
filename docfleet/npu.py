"""What `docfleet doctor` says of an NPU: the runtime, the card, and whether every network was built for it.

For `ascend` no session and no device is opened. For `cann` a process of its own opens one and runs a sum: nothing less tells whether it would.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Literal

from shared.contracts.errors import DocfleetError
from shared.engines import ascend_card
from shared.engines.ascend_built import read_built
from shared.engines.ascend_environment import VISIBLE, check_visible
from shared.engines.ascend_file import check_file
from shared.models.install import NETWORK, installed
from shared.models.manifest import manifest, names
from shared.settings import Engines

Row = tuple[str, Literal["ok", "warning", "missing"], str, str]
"""What was looked at, how it is, what was found, what to do."""

RUNTIME = "ais_bench.infer.interface"
CHECK_S = 120.0
"""For `shared.engines.cann_check`. A guess on the long side, nothing was measured: a driver in trouble answers never."""
BY_CANN = "source set_env.sh of CANN, and look at npu-smi info; docs/ascend.md, section 6"


def look(settings: Engines) -> Iterator[Row]:
    """Rows for a machine whose engine is `ascend` or `cann`."""
    yield _ais_bench() if settings.kind == "ascend" else _cann(settings.ascend_device)
    chips = ascend_card.chips(ascend_card.told())
    if chips:
        yield "card", "ok", ", ".join(sorted(chips)), ""
    else:
        yield "card", "warning", "npu-smi shows no chip, or is not here", "npu-smi info; docs/ascend.md, section 1"
    try:
        check_visible(os.environ.get(VISIBLE), settings.ascend_device)
    except DocfleetError as error:
        yield "card", "missing", error.message, f"set {VISIBLE}"
    if settings.kind == "ascend":
        yield from _models(settings, chips)


def _ais_bench() -> Row:
    try:
        importlib.import_module(RUNTIME)
    except Exception as error:
        return "engine", "missing", f"{RUNTIME}: {error!s:.200}", "docs/ascend.md, section 2"
    return "engine", "ok", f"ascend ({RUNTIME})", ""


def _cann(device: int) -> Row:
    command = [sys.executable, "-m", "shared.engines.cann_check", str(device)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=CHECK_S, check=False)
    except subprocess.TimeoutExpired:
        return "engine", "missing", f"a sum on the NPU did not end within {CHECK_S:g} s", BY_CANN
    said = done.stdout.strip().splitlines()
    if done.returncode == 0 and said:
        return "engine", "ok", f"cann (onnxruntime {said[-1]}): a sum ran on the NPU", ""
    if done.returncode != 1 or not said:  # it died, or did not come as far as to say why
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return (
            "engine",
            "missing",
            f"a sum on the NPU ended with exit status {done.returncode} {last:.200}".strip(),
            BY_CANN,
        )
    found, _, todo = said[-1].partition("; ")
    # ONNX Runtime says only on standard error which library it could not load.
    reasons = [line.partition("with error: ")[2] for line in done.stderr.splitlines() if "with error: " in line]
    more = f" ({reasons[-1]:.200})" if reasons else ""
    return "engine", "missing", found + more, todo or BY_CANN


def _models(settings: Engines, chips: set[str]) -> Iterator[Row]:
    wrong, targets = [], set()
    for name in names():
        if manifest(name).ascend is None:
            continue
        try:
            built, om = read_built(installed(settings.models, name) / NETWORK, settings.ascend_target)
            check_file(om)
        except DocfleetError as error:
            wrong.append(error.message)
            continue
        targets.add(built.target)
        if chips and built.soc not in chips:
            wrong.append(f"the om of {name} is for {built.soc}")
    target = min(chips).lower() if chips else "CHIP"
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        yield "om files", "missing", wrong[0] + more, f"docfleet models build --target {target}"
    else:
        yield "om files", "ok", f"every network is built for {', '.join(sorted(targets))}", ""
