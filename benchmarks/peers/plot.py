"""Draw the curves of a JSON file (stdin) as a PNG (argument), in the peers' own environment: matplotlib is no dependency of docfleet.

`[{"title", "x", "y", "log": bool, "curves": [{"name", "x": [...], "y": [...]}]}, ...]`, one panel each, side by side.
"""

from __future__ import annotations

import json
import sys

import matplotlib  # type: ignore[import-not-found]

matplotlib.use("Agg")
from matplotlib import pyplot  # type: ignore[import-not-found]


def main() -> None:
    panels = json.load(sys.stdin)
    figure, axes = pyplot.subplots(1, len(panels), figsize=(6 * len(panels), 4.5), squeeze=False)
    for panel, axis in zip(panels, axes[0], strict=True):
        for curve in panel["curves"]:
            axis.plot(curve["x"], curve["y"], marker="o", markersize=3, label=curve["name"])
        if panel.get("log"):
            axis.set_xscale("log", base=2)
        axis.set_title(panel["title"], fontsize=10)
        axis.set_xlabel(panel["x"])
        axis.set_ylabel(panel["y"])
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(sys.argv[1], dpi=110)


if __name__ == "__main__":
    main()
