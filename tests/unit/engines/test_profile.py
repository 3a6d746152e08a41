"""The batch profile: padded widths and sizes of calls."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.engines import onnxruntime, openvino
from shared.engines.engine import BatchProfile, TensorInfo, checked

pytestmark = pytest.mark.unit

PROFILES = [openvino.PROFILE, onnxruntime.PROFILE]


@pytest.mark.parametrize("profile", PROFILES)
def test_profiles_keep_their_invariant(profile: BatchProfile) -> None:
    widths = [width for width, _ in profile.batches]
    assert widths == sorted(set(widths))
    assert all(width % profile.width_step == 0 for width in widths)


@pytest.mark.parametrize("profile", PROFILES)
def test_no_line_wider_than_640_px_shares_a_call_on_a_cpu(profile: BatchProfile) -> None:
    assert profile.items(profile.bucket(641)) == 1


@given(st.integers(0, 20_000))
def test_a_bucket_holds_its_width_wastes_less_than_a_step_and_is_its_own_bucket(width: int) -> None:
    bucket = openvino.PROFILE.bucket(width)
    assert bucket >= max(1, width)
    assert bucket - width < 64 or bucket == 64
    assert bucket % 64 == 0
    assert openvino.PROFILE.bucket(bucket) == bucket


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
