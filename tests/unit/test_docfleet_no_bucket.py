"""A bucket that is not there is named."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from docfleet.sources import named
from docfleet.sweep import sweep
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.settings import Settings

pytestmark = pytest.mark.unit


class _Empty:
    async def walk(self, bucket: str, prefix: str = "") -> AsyncIterator[None]:
        raise DocfleetError(ErrorCode.source_missing, "there is no such object")
        yield


async def test_a_sweep_names_it() -> None:
    with pytest.raises(DocfleetError, match="bucket invoices cannot be listed"):
        await sweep(Settings(), _Empty(), "invoices", older_than_s=0)  # type: ignore[arg-type]


async def test_a_submission_names_it() -> None:
    with pytest.raises(DocfleetError, match="bucket invoices cannot be listed"):
        [one async for one in named(_Empty(), ["s3://invoices/"])]  # type: ignore[arg-type]
