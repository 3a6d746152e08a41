"""Profiles are files: the built-in ones are sound, a user's is checked, and a name is never a path."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.vlm.profile import FOLDER, names, profile_named

pytestmark = pytest.mark.unit

OWN = """
name: mine
model: org/Mine-OCR
source: my own card
body: {max_tokens: 100}
picture: {min_pixels: 100, max_pixels: 1000000, multiple: 4}
prompts:
  text: {text: "Read:", grammar: text}
"""


def refused(name: str, folder: Path | None) -> str:
    with pytest.raises(DocfleetError) as caught:
        profile_named(name, folder)
    assert caught.value.code is ErrorCode.model_unavailable
    return caught.value.message


@pytest.mark.parametrize("name", names())
def test_every_built_in_profile_is_sound_and_names_its_source(name: str) -> None:
    profile = profile_named(name)
    assert any(character.isdigit() for character in profile.source), "a source has a commit"
    assert profile.tokens in profile.body
    assert profile.is_served_as(profile.model)
    assert profile.picture.min_pixels < profile.picture.max_pixels


def test_there_are_profiles_for_all_four_models_and_the_plain_service() -> None:
    assert set(names()) >= {"glm-ocr", "deepseek-ocr-2", "unlimited-ocr", "unlimited-ocr-npu", "paddleocr-vl"}


def test_a_user_adds_one_by_a_file_and_a_setting(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(OWN)
    assert profile_named("mine", tmp_path).prompt("table").text == "Read:"
    assert "mine" in names(tmp_path)
    (tmp_path / "glm-ocr.yaml").write_text(OWN.replace("name: mine", "name: glm-ocr"))
    assert profile_named("glm-ocr", tmp_path).model == "org/Mine-OCR"
    assert profile_named("glm-ocr").model == "glm-ocr"


def test_a_changed_file_is_read_again_and_has_another_hash(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(OWN)
    before = profile_named("mine", tmp_path).sha256()
    file.write_text(OWN.replace("Read:", "Read this:"))

    os.utime(file, ns=(1, 1))
    assert profile_named("mine", tmp_path).sha256() != before


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("name: mine", "name: other"), "its name is 'other'"),
        (("body: {max_tokens: 100}", "bodies: {}"), "bodies"),
        (("grammar: text", "grammar: xml"), "grammar"),
        (("max_pixels: 1000000", "max_pixels: 10"), "min_pixels"),
        (("multiple: 4", "multiple: 2000"), "multiple"),
        (("multiple: 4", "multiple: four"), "multiple"),
        (('text: {text: "Read:", grammar: text}', 'table: {text: "T:", grammar: otsl}'), "neither"),
        (("source: my own card", "source: my own card\nrange_pages: 4"), "range_pages"),
        (("prompts:", "prompts: ["), "mine.yaml"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, change: tuple[str, str], told: str) -> None:
    (tmp_path / "mine.yaml").write_text(OWN.replace(*change))
    assert told in refused("mine", tmp_path)


@pytest.mark.parametrize("name", ["nobody", "../glm-ocr", "/etc/passwd", "", "a" * 200, "glm-ocr.yaml/..", ".hidden"])
def test_a_name_is_only_a_name(name: str, tmp_path: Path) -> None:
    (tmp_path.parent / "outside.yaml").write_text(OWN)
    message = refused(name, tmp_path)
    assert "glm-ocr" in message


@pytest.mark.parametrize(
    ("name", "served", "same"),
    [
        ("glm-ocr", "zai-org/GLM-OCR", True),
        ("glm-ocr", "glm-ocr", True),
        ("glm-ocr", "glm-4.5v", False),
        ("paddleocr-vl", "PaddlePaddle/PaddleOCR-VL", True),
        ("deepseek-ocr-2", "/models/DeepSeek-OCR-2", True),
        ("deepseek-ocr-2", "deepseek-ai/DeepSeek-OCR", False),
        ("unlimited-ocr", "Unlimited-OCR", True),
    ],
)
def test_a_served_name_is_known_by_its_last_part(name: str, served: str, same: bool) -> None:
    assert profile_named(name).is_served_as(served) is same


def test_profiles_are_in_one_place() -> None:
    assert all((FOLDER / f"{name}.yaml").is_file() for name in names())
