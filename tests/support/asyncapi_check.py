"""AsyncAPI documents against AsyncAPI's own parser, which is JavaScript: it lives in a folder of its own below the cache folder.

Made on first use (some 40 MB) from the packages and hashes of `asyncapi/package-lock.json`, and kept until that changes.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests.support.processes import Missing, cache_folder, locked

FOLDER = Path(__file__).with_name("asyncapi")


def findings(*files: Path) -> list[dict[str, Any]]:
    """What the parser says of documents, errors first: `path`, `severity` (0 is an error), `code`, `message`, `at`. Raises `Missing`."""
    done = subprocess.run(
        ["node", "validate.mjs", *map(str, files)], cwd=_home(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def _home() -> Path:
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise Missing(f"{program} is not installed")
    lock = FOLDER / "package-lock.json"
    home = cache_folder() / f"asyncapi-{hashlib.sha256(lock.read_bytes()).hexdigest()[:16]}"
    with locked(cache_folder() / "asyncapi.lock"):
        if not (home / "done").exists():
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir(parents=True)
            for name in ("package.json", "package-lock.json"):
                shutil.copy(FOLDER / name, home)
            command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
            if done.returncode:
                raise Missing(f"AsyncAPI's parser cannot be had: {done.stderr[-500:]}")
            (home / "done").touch()
        shutil.copy(FOLDER / "validate.mjs", home)
    return home
