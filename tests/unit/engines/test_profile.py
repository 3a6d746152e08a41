"""The batch profile: padded widths and sizes of calls."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.rec_worker.crops import MAX_WIDTH
from shared.engines import onnxruntime, openvino
from shared.engines.engine import BatchProfile, TensorInfo, checked

pytestmark = pytest.mark.unit

PROFILES = [openvino.OPENVINO, onnxruntime.ONNXRUNTIME]


@pytest.mark.parametrize("profile", PROFILES)
def test_profiles_keep_their_invariant(profile: BatchProfile) -> None:
    widths = [width for width, _ in profile.batches]
    assert widths == sorted(set(widths))
    assert list(profile.steps) == sorted(set(profile.steps))
    assert all(profile.bucket(width) == width for width in [*widths, *(widest for widest, _ in profile.steps)])
    assert [step for _, step in profile.steps] == sorted(step for _, step in profile.steps)


@pytest.mark.parametrize("profile", PROFILES)
def test_no_line_wider_than_640_px_shares_a_call_on_a_cpu(profile: BatchProfile) -> None:
    assert profile.items(profile.bucket(641)) == 1


@pytest.mark.parametrize("profile", PROFILES)
@given(st.integers(0, 20_000))
def test_a_bucket_holds_its_width_wastes_less_than_a_step_and_is_its_own_bucket(
    profile: BatchProfile, width: int
) -> None:
    bucket = profile.bucket(width)
    step = next((step for widest, step in profile.steps if width <= widest), profile.width_step)
    assert bucket >= max(1, width)
    assert bucket - width < step or bucket == step
    assert bucket % step == 0
    assert profile.bucket(bucket) == bucket


@pytest.mark.parametrize("profile", PROFILES)
def test_the_shapes_of_an_engine_are_few(profile: BatchProfile) -> None:
    """Memory grows with them: about 40 widths up to the widest crop (1,920 px), and batches only where they pay."""
    buckets = {profile.bucket(width) for width in range(1, MAX_WIDTH + 1)}
    assert len(buckets) <= 50
    shapes = {(size, bucket) for bucket in buckets for count in range(1, 17) for size in profile.split(count, bucket)}
    assert len(shapes) <= 70


@given(st.integers(0, 100), st.integers(1, 60), st.sampled_from(PROFILES))
def test_calls_cover_all_lines_in_few_sizes(count: int, steps: int, profile: BatchProfile) -> None:
    bucket = steps * profile.width_step
    sizes = profile.split(count, bucket)
    most = profile.items(bucket)
    assert sum(sizes) == count
    assert all(size == most or (size < most and size.bit_count() == 1) for size in sizes)
    assert sizes[: count // most] == [most] * (count // most)


INPUTS = [TensorInfo(name="x", shape=(1, 3, None, None), dtype="float32")]


def test_arrays_that_fit_are_taken() -> None:
    checked((np.zeros((1, 3, 7, 9), np.float32),), INPUTS)


@pytest.mark.parametrize(
    "arrays",
    [
        (),
        (np.zeros((1, 3, 7, 9), np.float64),),
        (np.zeros((2, 3, 7, 9), np.float32),),
        (np.zeros((3, 7, 9), np.float32),),
        (np.zeros((1, 3, 7, 9), np.float32), np.zeros(1, np.float32)),
    ],
)
def test_arrays_that_do_not_fit_are_refused_before_the_engine_sees_them(arrays: tuple[np.ndarray, ...]) -> None:
    with pytest.raises(ValueError):
        checked(arrays, INPUTS)
