"""The request of each profile, pinned against what the model's own documentation shows (source in each test)."""

from __future__ import annotations

import base64
import io
from typing import Any

import pytest
from PIL import Image

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.vlm.profile import names, profile_named
from shared.vlm.request import PROBE, Request, probe, request_of

pytestmark = pytest.mark.unit
JPEG = b"\xff\xd8\xff picture"
URL = "data:image/jpeg;base64," + base64.b64encode(JPEG).decode()
PICTURE = {"type": "image_url", "image_url": {"url": URL}}


def body_of(profile: str, kind: str, pictures: int = 1, **more: Any) -> dict[str, Any]:
    request = request_of(profile_named(profile), kind, [JPEG] * pictures, **more)
    assert request.path == "/chat/completions"
    return request.body


@pytest.mark.parametrize(
    ("kind", "prompt"),
    [
        ("text", "Text Recognition:"),
        ("table", "Table Recognition:"),
        ("formula", "Formula Recognition:"),
        ("seal", "Text Recognition:"),
        ("caption", "Text Recognition:"),
    ],
)
def test_glm_ocr(kind: str, prompt: str) -> None:
    """zai-org/GLM-OCR cef4d0e: page_loader.build_request_from_image with the values of config.yaml."""
    assert body_of("glm-ocr", kind) == {
        "model": "glm-ocr",
        "messages": [{"role": "user", "content": [PICTURE, {"type": "text", "text": prompt}]}],
        "max_tokens": 8192,
        "temperature": 0.0,
        "top_p": 0.00001,
        "top_k": 1,
        "repetition_penalty": 1.1,
    }


@pytest.mark.parametrize(
    ("kind", "prompt"),
    [
        ("text", "OCR:"),
        ("table", "Table Recognition:"),
        ("formula", "Formula Recognition:"),
        ("seal", "Seal Recognition:"),
        ("picture", "Chart Recognition:"),
    ],
)
def test_paddleocr_vl(kind: str, prompt: str) -> None:
    """PaddlePaddle/PaddleX 02038c1 doc_vlm/predictor.py, vllm-server branch, with what pipeline.py 01c1d80 gives it."""
    assert body_of("paddleocr-vl", kind) == {
        "model": "PaddleOCR-VL-0.9B",
        "messages": [{"role": "user", "content": [PICTURE, {"type": "text", "text": prompt}]}],
        "temperature": 0,
        "max_completion_tokens": 4096,
        "skip_special_tokens": True,
    }


@pytest.mark.parametrize(
    ("kind", "prompt"),
    [("text", "Free OCR."), ("page", "<|grounding|>Convert the document to markdown.")],
)
def test_deepseek_ocr_2(kind: str, prompt: str) -> None:
    """vllm-project/recipes 0716fea DeepSeek-OCR-2.md, online serving; n-gram 20 in 90 of DeepSeek-OCR-2's own image script."""
    assert body_of("deepseek-ocr-2", kind) == {
        "model": "deepseek-ai/DeepSeek-OCR-2",
        "messages": [{"role": "user", "content": [PICTURE, {"type": "text", "text": prompt}]}],
        "max_tokens": 7000,
        "temperature": 0.0,
        "skip_special_tokens": False,
        "vllm_xargs": {"ngram_size": 20, "window_size": 90, "whitelist_token_ids": [128821, 128822]},
    }


def test_unlimited_ocr() -> None:
    """vllm-project/recipes 1dcd4c1 Unlimited-OCR.yaml: the text comes first and begins with <image>."""
    assert body_of("unlimited-ocr", "page") == {
        "model": "baidu/Unlimited-OCR",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "<image>\ndocument parsing."}, PICTURE]},
        ],
        "max_tokens": 8192,
        "temperature": 0.0,
        "skip_special_tokens": False,
        "vllm_xargs": {"ngram_size": 35, "window_size": 128},
    }


def test_unlimited_ocr_with_several_pages() -> None:
    """baidu/Unlimited-OCR 582efd9 README: one prompt, then all pages, window 1024; one <image> however many there are."""
    body = body_of("unlimited-ocr", "range", 3)
    content = body["messages"][0]["content"]
    assert content == [{"type": "text", "text": "<image>\nMulti page parsing."}, PICTURE, PICTURE, PICTURE]
    assert body["vllm_xargs"] == {"ngram_size": 35, "window_size": 1024}
    assert body["max_tokens"] + 8 * 256 + 100 < 32_768


def test_unlimited_ocr_on_an_npu() -> None:
    """moyuan10086/Unlimited-OCR-NPU e14b5b2: serve_npu.py OCRRequest, values of its README."""
    assert request_of(profile_named("unlimited-ocr-npu"), "page", [JPEG]) == Request(
        path="/ocr",
        body={
            "image_base64": base64.b64encode(JPEG).decode(),
            "prompt": "<image>document parsing.",
            "base_size": 1024,
            "image_size": 640,
            "crop_mode": True,
            "max_length": 4096,
            "no_repeat_ngram_size": 35,
            "ngram_window": 128,
        },
    )


@pytest.mark.parametrize("name", names())
def test_the_retry_asks_for_the_same_in_another_way(name: str) -> None:
    profile = profile_named(name)
    kind = "text" if "text" in profile.prompts else "page"
    first, second = request_of(profile, kind, [JPEG]), request_of(profile, kind, [JPEG], corrected=True)
    assert first.path == second.path
    changed = {field for field in second.body if second.body[field] != first.body.get(field)}
    assert changed == set(profile.retry_body)
    assert changed
    assert first.body.get("messages") == second.body.get("messages")


@pytest.mark.parametrize("name", names())
def test_the_probe_is_a_request_of_the_profile_for_one_token(name: str) -> None:
    profile = profile_named(name)
    request = probe(profile, model="served")
    assert request.body[profile.tokens] == 1
    assert request.body.get("model", "served") == "served"
    with Image.open(io.BytesIO(PROBE)) as picture:
        assert (picture.size, picture.mode) == ((32, 32), "RGB")


def test_a_page_of_a_profile_without_that_prompt_is_refused() -> None:
    with pytest.raises(DocfleetError) as caught:
        request_of(profile_named("glm-ocr"), "range", [JPEG, JPEG])
    assert caught.value.code is ErrorCode.model_unavailable
