"""What a submission's reference to a password stands for, and what is said when it stands for nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.documents.passwords import password_of
from shared.settings import Settings

pytestmark = pytest.mark.unit


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "invoices").write_bytes("pässwörd\r\n".encode())
    (tmp_path / "latin").write_bytes("pässwörd".encode("latin-1"))
    (tmp_path / ".hidden").write_text("no")
    (tmp_path / "folder").mkdir()
    return Settings(limits={"passwords": tmp_path})  # type: ignore[arg-type]


def test_it_is_the_text_of_a_file(settings: Settings) -> None:
    assert password_of(settings, "invoices") == "pässwörd"
    assert password_of(settings, None) is None


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("nobody", "no secret 'nobody'"),
        ("folder", "no secret 'folder'"),
        ("latin", "not text in UTF-8"),
        (".hidden", "limits.passwords"),
        ("../invoices", "limits.passwords"),
    ],
)
def test_what_cannot_be_read_is_encrypted_and_says_why(settings: Settings, reference: str, said: str) -> None:
    with pytest.raises(DocfleetError, match=said) as caught:
        password_of(settings, reference)
    assert caught.value.code is ErrorCode.encrypted
    assert "wörd" not in str(caught.value)
