"""Results on disk: whole or not at all, and whose trouble it is when one cannot be written."""

from __future__ import annotations

import errno
import os
from pathlib import Path

_OF_ONE = frozenset(
    {
        errno.EACCES, errno.EEXIST, errno.EILSEQ, errno.EINVAL, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOENT,
        errno.ENOTDIR, errno.ENXIO, errno.EPERM,
    }
)  # fmt: skip


def write_whole(path: Path, data: bytes) -> Path:
    """Write a file, in place of an older one, and the folders above it; the path again. Raises `OSError`, and then nothing is left."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")  # two runs into one folder do not meet
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return path


def of_one_file(error: OSError) -> bool:
    """Whether the next file may be read or written all the same: a name that cannot be, rights, something in the way; not a full disk."""
    return error.errno in _OF_ONE or error.errno is None
