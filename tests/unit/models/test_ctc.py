"""Frames to text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.models.ctc import characters, decoded

pytestmark = pytest.mark.unit

TABLE = ["", "a", "b", "中", " "]


def decode(*frames: int) -> str:
    return decoded(np.array(frames), np.full(len(frames), 0.5, np.float32), TABLE)[0]


@pytest.mark.parametrize(
    ("frames", "text"),
    [
        ((), ""),
        ((0, 0, 0), ""),
        ((1, 1, 1), "a"),
        ((1, 0, 1), "aa"),
        ((1, 2, 1), "aba"),
        ((0, 3, 3, 0, 0, 4, 4, 2), "中 b"),
    ],
)
def test_repeats_are_one_character_and_a_blank_parts_two(frames: tuple[int, ...], text: str) -> None:
    assert decode(*frames) == text


def test_confidence_is_the_mean_of_the_frames_that_write() -> None:
    line = decoded(np.array([0, 1, 1, 0, 2]), np.array([0.1, 0.9, 0.2, 0.1, 0.5], np.float32), TABLE)
    assert (line.text, line.confidence, line.weakest) == ("ab", pytest.approx(0.7), pytest.approx(0.5))
    assert [letter[:2] for letter in line.letters] == [(1, "a"), (4, "b")]
    assert [letter.confidence for letter in line.letters] == pytest.approx([0.9, 0.5])


def test_no_text_has_no_confidence() -> None:
    assert decoded(np.array([0, 0]), np.array([0.99, 0.98], np.float32), TABLE) == ("", 0.0, 0.0, ())


@given(st.lists(st.integers(1, 4), max_size=20), st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=20))
def test_any_text_comes_back_from_frames_that_write_it(classes: list[int], runs: list[tuple[int, int]]) -> None:
    frames: list[int] = []
    for kind, (written, blank) in zip(classes, runs, strict=False):
        frames += [kind] * written + [0] * blank
    assert decode(*frames) == "".join(TABLE[kind] for kind in classes)


def test_the_dictionary_keeps_odd_characters_and_gets_blank_and_space(tmp_path: Path) -> None:
    path = tmp_path / "dictionary.txt"
    path.write_text("a\n\u3000\n\u2028\nb", encoding="utf-8")
    assert characters(path, 6) == ["", "a", "\u3000", "\u2028", "b", " "]


def test_a_dictionary_of_another_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "dictionary.txt"
    path.write_text("a\nb\n", encoding="utf-8")
    assert len(characters(path, 4)) == 4
    with pytest.raises(DocfleetError) as raised:
        characters(path, 5)
    assert raised.value.code is ErrorCode.model_unavailable
