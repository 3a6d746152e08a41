"""GLM-OCR 0.9B. Prompts, sampling and pixel bounds are those of its own client (zai-org/GLM-OCR, `glmocr/config.yaml`, cef4d0e).

It has no prompt for seals or whole pages: its own client sends both with the text prompt.
"""

from __future__ import annotations

from services.vl_worker.profiles.profile import Profile

GLM_OCR = Profile(
    name="glm-ocr",
    model="glm-ocr",
    prompts={"text": "Text Recognition:", "table": "Table Recognition:", "formula": "Formula Recognition:"},
    sampling={"max_tokens": 8192, "temperature": 0.0, "top_p": 0.00001, "top_k": 1, "repetition_penalty": 1.1},
    retry_sampling={"temperature": 0.2, "top_p": 0.8, "top_k": 40, "repetition_penalty": 1.2},
    min_pixels=12_544,
    max_pixels=71_372_800,
)
