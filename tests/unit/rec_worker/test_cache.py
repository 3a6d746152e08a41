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


def test_a_hundred_thousand_crops_get_their_own_text() -> None:
    """Crops that differ in one pixel, or only in how they are padded; each comes twice. A wrong hit would give another crop's text."""
    cache = CropCache(200_000)
    random = np.random.default_rng(7)
    papers = random.integers(0, 256, (50, 48, 16, 3), dtype=np.uint8)
    read = hits = 0
    for _ in range(2):
        for number in range(50_000):
            pixels = papers[number % 50]
            place = np.unravel_index(number // 50 % pixels.size, pixels.shape)
            value = pixels[place]
            pixels[place] = value ^ 1  # one grey level of one pixel
            future, mine = cache.ask(crop_key(pixels, 64 if number % 2 else 128, "m"))
            pixels[place] = value
            if mine:
                future.set_result(Text(str(number), 1.0))
                read += 1
            else:
                hits += 1
            assert future.result().text == str(number), "a wrong hit"
    assert (read, hits) == (50_000, 50_000)
