"""Vision-language models."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, SecretStr

from shared.settings.group import Group


class Vl(Group):
    """Vision-language models behind an OpenAI-compatible API."""

    endpoints: list[str] = Field(
        [], repr=False, description="Base URLs (`http://host:8000/v1`); empty means that no VL task is issued."
    )
    profile: str = Field("glm-ocr", description="Model profile: how the model is asked and how its answers are read.")
    profiles: Path | None = Field(
        None, description="Folder of your own profiles, `NAME.yaml` each; one goes before a built-in one of its name."
    )
    model: str | None = Field(None, description="Served model name; none is the profile's.")
    api_key: SecretStr | None = Field(None, description="Bearer token.")
    start_in_flight: int = Field(
        32, ge=1, le=4_096, description="Requests at once per endpoint at the start; the limit adapts from there."
    )
    min_in_flight: int = Field(1, ge=1, le=4_096, description="The limit never falls below this.")
    max_in_flight: int = Field(
        512,
        ge=1,
        le=4_096,
        description="The limit never rises above this. All endpoints together get no more than `stages.vl_worker.max_in_flight`.",
    )
    timeout_s: float = Field(
        180.0, gt=0, description="Seconds for one answer, with all attempts, from when the first is sent."
    )
    attempts: int = Field(
        4,
        ge=1,
        le=20,
        description="Attempts at a request at which a server fails (500, a connection cut in the answer). Being busy or away counts none.",
    )
    range_pages: int | None = Field(
        None, ge=0, le=64, description="Pages of one request in `vl: document`; none is the profile's, 0 page by page."
    )
    max_answer_chars: int = Field(
        400_000, ge=1_000, description="Characters of an answer that are looked at; a longer one is refused."
    )
    max_table_cells: int = Field(
        20_000, ge=1, description="Places of a table's grid, spans counted in full; a larger table is refused."
    )
    max_blocks: int = Field(2_000, ge=1, description="Blocks of one page in an answer; with more it is refused.")
    disagreement: float = Field(
        0.2,
        ge=0,
        le=1,
        description="Share of words by which a VL reading may differ from the page's own text before the warning `vl_disagreement`.",
    )
    stall_s: float = Field(
        30.0, gt=0, description="Seconds without a byte in the middle of an answer; then it counts as cut."
    )
    retry_after_s: float = Field(60.0, ge=0, le=3_600, description="Longest Retry-After that is honoured.")
    breaker_failures: int = Field(
        5, ge=1, le=1_000, description="Failures in a row after which an endpoint is left alone until a probe succeeds."
    )
    breaker_pause_s: float = Field(
        4.0, ge=0.5, le=600, description="Longest pause between two probes of such an endpoint."
    )
    probe_timeout_s: float = Field(
        30.0, gt=0, description="Seconds for the one-token request that finds out whether an endpoint is ready."
    )
    page_cache_bytes: int = Field(
        96 * 2**20,
        ge=0,
        description="Decoded page pictures that are kept for the next region of the same page; 12 MB each at A4 and 200 dpi.",
    )
    page_cache_pages: int = Field(
        32, ge=1, description="The same in pages: each holds a handle, and of small pages a great many would fit."
    )
    stream: bool = Field(
        True, description="Ask for answers as a stream: a stall or a loop is noticed early, the limit adapts faster."
    )
