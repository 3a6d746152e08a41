"""What `docfleet doctor` says of an NPU: the runtime, the card, and whether every network was built for it. Opens no session and no device."""

from __future__ import annotations

import importlib
import os
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


def look(settings: Engines) -> Iterator[Row]:
    """Rows for a machine whose engine is `ascend` or `cann`."""
    module, todo = (
        (RUNTIME, "docs/ascend.md, section 2")
        if settings.kind == "ascend"
        else ("onnxruntime", "pip install onnxruntime-cann")
    )
    try:
        importlib.import_module(module)
        yield "engine", "ok", f"{settings.kind} ({module})", ""
    except Exception as error:
        yield "engine", "missing", f"{module}: {error!s:.200}", todo
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
