"""Charts that were given out before, as archives of their folders: what is installed with one of them is upgraded to the present one.

`git archive COMMIT helm/docfleet | gzip -9n > tests/chart/released/docfleet-VERSION-COMMIT.tgz` keeps another; none is ever changed.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

ARCHIVES = sorted((Path(__file__).parents[1] / "chart" / "released").glob("docfleet-*.tgz"))


def unpacked(archive: Path, folder: Path) -> Path:
    """The folder of a chart, below `folder`; its scenario values are in `ci/`."""
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return folder / "helm" / "docfleet"
