"""Blocks hold what was put in, in any shape, and go when they are let go."""

from __future__ import annotations

import os

import numpy as np
import pytest

from shared.children.block import Block

pytestmark = pytest.mark.unit


def test_arrays_and_bytes() -> None:
    picture = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    with Block.of(picture[:, ::-1]) as block:
        assert block.nbytes == 60
        assert np.array_equal(block.array((4, 5, 3)), picture[:, ::-1])
        block.array((60,))[0] = 200
        assert block.tobytes()[0] == 200
    with Block.of(np.arange(6, dtype=np.float32)) as block:
        assert block.array((2, 3), np.float32)[1, 2] == 5.0
    with Block.of(b"abc") as block:
        assert block.tobytes() == b"abc"
        with pytest.raises(ValueError):
            block.array((4,))


def test_empty() -> None:
    with Block.of(b"") as block:
        assert block.tobytes() == b""
        assert block.array((0, 3)).shape == (0, 3)


def test_arrays_outlive_the_block_and_memory_goes_with_the_last() -> None:
    before = len(os.listdir("/proc/self/fd"))
    block = Block.of(b"\7" * 10_000)
    array = block.array((10_000,))
    copy = block.duplicate()
    block.close()
    block.close()
    assert array[9_999] == 7
    assert copy.tobytes()[:1] == b"\7"
    copy.close()
    del array
    assert len(os.listdir("/proc/self/fd")) == before
    with pytest.raises(ValueError):
        block.tobytes()


def test_size_is_sealed_and_checked() -> None:
    with Block.allocate(100) as block:
        with pytest.raises(PermissionError):
            os.ftruncate(block.fileno(), 10)
        with pytest.raises(ValueError):
            Block(os.dup(block.fileno()), 101)
