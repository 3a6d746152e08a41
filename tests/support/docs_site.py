"""`./dev docs [serve]`: the documentation as a site in `site/`, or on a local port while it is being written.

The tools are no part of docfleet's own lock; see `tests.support.tools_env`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.processes import Missing
from tests.support.tools_env import tool

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).with_name("docs")


def mkdocs(*arguments: str, config: Path = ROOT / "mkdocs.yml") -> subprocess.CompletedProcess[str]:
    """A call of mkdocs, on this repository where nothing else is named, with what it said. Raises `Missing`."""
    return subprocess.run(
        [str(tool(FOLDER, "mkdocs")), *arguments, "--config-file", str(config)],
        capture_output=True,
        text=True,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        check=False,
    )


def main() -> int:
    try:
        if sys.argv[1:] == ["serve"]:
            program = str(tool(FOLDER, "mkdocs"))
            os.execv(program, [program, "serve", "--config-file", str(ROOT / "mkdocs.yml")])
        done = mkdocs("build", "--strict", "--clean")
    except Missing as missing:
        print(missing, file=sys.stderr)
        return 2
    sys.stderr.write(done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
