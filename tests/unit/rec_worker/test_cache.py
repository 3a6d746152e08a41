"""The crop cache: exact, bounded, shared while under way."""

from __future__ import annotations

import numpy as np
import pytest

from services.rec_worker.cache import CropCache, crop_key
from services.rec_worker.inference import Text

pytestmark = pytest.mark.unit


def test_the_key_knows_pixels_shape_bucket_and_model() -> None:
    pixels = np.arange(48 * 64 * 3, dtype=np.uint8).reshape(48, 64, 3)
    other = pixels.copy()
    other[0, 0, 0] += 1
    keys = [
        crop_key(pixels, 64, "m"),
        crop_key(other, 64, "m"),
        crop_key(pixels.reshape(64, 48, 3), 64, "m"),
        crop_key(pixels, 128, "m"),
        crop_key(pixels, 64, "n"),
    ]
    assert len(set(keys)) == len(keys)
    assert crop_key(pixels.copy(), 64, "m") == keys[0]
    assert crop_key(np.asfortranarray(pixels), 64, "m") == keys[0]


def test_a_crop_is_read_once_and_the_least_recently_used_goes() -> None:
    cache = CropCache(2)
    for name in (b"a", b"b"):
        future, mine = cache.ask(name)
        assert mine
        future.set_result(Text(name.decode(), 0.9))
    assert cache.ask(b"a")[0].result() == Text("a", 0.9)
    future, mine = cache.ask(b"c")
    future.set_result(Text("c", 0.9))
    assert cache.ask(b"a")[1] is False
    assert cache.ask(b"b")[1] is True, "b was the least recently used"
    assert len(cache) == 2


def test_a_crop_under_way_is_shared_and_a_failure_is_forgotten() -> None:
    cache = CropCache(0)
    first, mine = cache.ask(b"a")
    second, also_mine = cache.ask(b"a")
    assert (mine, also_mine) == (True, False)
    assert first is second
    first.set_exception(ValueError("poison"))
    assert second.exception() is not None
    assert cache.ask(b"a")[1] is True
