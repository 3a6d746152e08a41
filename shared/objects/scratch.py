"""Folders of one process: private, removed at its end, and after a SIGKILL by the next that starts beside it.

The process holds a lock on a file in its folder; the system lets go of the lock when the process ends, however it ends. A folder whose
lock is free is nobody's.
"""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import tempfile
from pathlib import Path
from typing import IO

_LOCK = ".lock"


class Scratch:
    """A folder of this process below `parent` (the system's folder for temporary files unless given), made by the constructor.

    Abandoned folders with the same `name` in `parent` are removed first. `name` must not be the beginning of another's.
    """

    def __init__(self, name: str, parent: Path | None = None) -> None:
        """Raises `OSError` where `parent` can't be made or written."""
        parent = parent or Path(tempfile.gettempdir())
        parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(parent, f"{name}-")
        self.path, self._lock = _own_folder(parent, f"{name}-")

    def close(self) -> None:
        """Remove it with all that is in it. May be called again."""
        self._lock.close()
        shutil.rmtree(self.path, ignore_errors=True)


def _own_folder(parent: Path, prefix: str) -> tuple[Path, IO[bytes]]:
    """A folder that is locked before it has the name by which others would look at it."""
    folder = Path(tempfile.mkdtemp(prefix=f".{prefix}", dir=parent))
    lock = _locked(folder)
    return folder.rename(parent / folder.name[1:]), lock


def _locked(folder: Path) -> IO[bytes]:
    file = (folder / _LOCK).open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    return file


def _remove_abandoned(parent: Path, prefix: str) -> None:
    for folder in parent.glob(prefix + "*"):
        with contextlib.suppress(OSError), _locked(folder):  # an error: in use, or somebody else's
            shutil.rmtree(folder, ignore_errors=True)
