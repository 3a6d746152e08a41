"""Whether ais_bench will accept an `om` file, said beforehand and in words: itself it raises "illegal, please check" and logs the reason elsewhere.

Its rules (ais_bench 0.0.2, commit 7d48a93e, infer/common/path_security_check.py): a regular file with the suffix `.om`, its last part no
symlink, its path made of letters, digits and `_ - . /`, owned by this user or one of its groups (root too), not writable for group or others,
readable, at most 10 GB.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from shared.contracts.errors import DocfleetError, ErrorCode

MAX_BYTES = 10 * 2**30
_ILLEGAL = re.compile(r"[^_A-Za-z0-9/.-]")
CURE = "copy it as the user that runs: install -m 0440 (in Kubernetes: an init container into an emptyDir)"


def check_file(path: Path) -> None:
    """Raise `DocfleetError(model_unavailable)` with what to do about a file that ais_bench would refuse."""
    why = _refusal(path.absolute())
    if why:
        raise DocfleetError(ErrorCode.model_unavailable, f"ais_bench would not load {path}: {why}")


def _refusal(path: Path) -> str:
    if found := _ILLEGAL.search(str(path)):
        return f"its path holds {found[0]!r}; only letters, digits and _ - . / may be in it"
    if path.suffix != ".om":
        return "its name does not end in .om"
    if path.is_symlink():
        return f"it is a symlink, as files of a ConfigMap are; {CURE}"
    try:
        status = path.stat()
    except OSError as error:
        return f"it cannot be looked at ({error.strerror})"
    if not stat.S_ISREG(status.st_mode):
        return "it is not a file"
    if status.st_size > MAX_BYTES:
        return "it is larger than 10 GB"
    if status.st_uid != os.geteuid() and status.st_gid not in os.getgroups():
        return f"neither its owner nor its group is that of this process (root counts as any other); {CURE}"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others may write to it (mode {stat.S_IMODE(status.st_mode):04o}, as fsGroup makes it); {CURE}"
    if not os.access(path, os.R_OK) or not status.st_mode & stat.S_IRUSR:
        return f"it cannot be read; {CURE}"
    return ""
