"""Pixels or bytes that processes share without copying them.

A block is an anonymous file in memory (`memfd`; an unlinked temporary file where the system has none). Only descriptors
travel, so no name exists that could be left behind: the kernel frees the memory when the last process that holds a
descriptor or a mapping is gone, however it went. The size is sealed, because a mapping of a file that shrinks kills its reader.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import tempfile
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike


class Block:
    """A piece of shared memory of fixed size. Close it when done; arrays made from it stay valid until they are dropped."""

    def __init__(self, fd: int, nbytes: int) -> None:
        """Take over a descriptor. Raises `ValueError` when the file behind it is smaller than `nbytes`."""
        if os.fstat(fd).st_size < nbytes:
            os.close(fd)
            raise ValueError("a block is smaller than announced")
        self._fd = fd
        self._map: mmap.mmap | None = None
        self.nbytes = nbytes

    @classmethod
    def allocate(cls, nbytes: int) -> Block:
        """A block of `nbytes` zero bytes; pages are only taken when written to."""
        fd = _anonymous_file()
        try:
            os.ftruncate(fd, nbytes)
            _seal(fd)
        except BaseException:
            os.close(fd)
            raise
        return cls(fd, nbytes)

    @classmethod
    def of(cls, data: bytes | bytearray | memoryview | np.ndarray[Any, Any]) -> Block:
        """A block with a copy of these bytes, or of this array in C order."""
        if not isinstance(data, bytes | bytearray | memoryview):
            import numpy as np

            data = np.ascontiguousarray(data).reshape(-1).view(np.uint8).data
        source = memoryview(data).cast("B")
        block = cls.allocate(source.nbytes)
        done = 0
        while done < source.nbytes:
            done += os.pwrite(block._fd, source[done:], done)
        return block

    @classmethod
    def of_parts(cls, parts: Iterable[bytes]) -> Block:
        """A block of these bytes one after the other; no more than one part is held at a time."""
        fd = _anonymous_file()
        size = 0
        try:
            for part in parts:
                left = memoryview(part)
                while left:
                    left = left[os.write(fd, left) :]
                size += len(part)
            _seal(fd)
        except BaseException:
            os.close(fd)
            raise
        return cls(fd, size)

    def fileno(self) -> int:
        """The descriptor, still owned by the block."""
        if self._fd < 0:
            raise ValueError("the block is closed")
        return self._fd

    def view(self) -> memoryview:
        """All bytes, mapped, writable, not copied."""
        if self.nbytes == 0:
            return memoryview(bytearray())
        if self._map is None:
            self._map = mmap.mmap(self.fileno(), self.nbytes)
        return memoryview(self._map)

    def array(self, shape: tuple[int, ...], dtype: DTypeLike = "uint8") -> np.ndarray[Any, Any]:
        """The block as a C-ordered array, mapped, writable, not copied. Raises `ValueError` when it does not fit."""
        import numpy as np

        count = int(np.prod(shape, dtype=np.int64))
        return np.frombuffer(self.view(), dtype=dtype, count=count).reshape(shape)

    def tobytes(self) -> bytes:
        """A copy of all bytes. Read, not mapped: a mapping would count as memory of this process until the block is closed."""
        parts = []
        done = 0
        while done < self.nbytes:
            part = os.pread(self.fileno(), self.nbytes - done, done)
            if not part:
                raise ValueError("a block is shorter than announced")
            parts.append(part)
            done += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def duplicate(self) -> Block:
        """The same memory under a second descriptor, closed on its own."""
        return Block(os.dup(self.fileno()), self.nbytes)

    def close(self) -> None:
        """Let go; may be called twice. Arrays and views made before keep the memory until they are dropped."""
        self._map = None
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Block:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            self.close()

    def __repr__(self) -> str:
        return f"Block({self.nbytes} bytes{', closed' if self._fd < 0 else ''})"


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("docfleet", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _seal(fd: int) -> None:
    if hasattr(fcntl, "F_ADD_SEALS") and hasattr(os, "memfd_create"):
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
