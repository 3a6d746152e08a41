"""Passwords of encrypted documents, by reference: a submission names a secret, never a password."""

from __future__ import annotations

import re

from shared.contracts.errors import DocfleetError, ErrorCode
from shared.settings import Settings

_REFERENCE = re.compile(r"[A-Za-z0-9._-]{1,100}")


def password_of(settings: Settings, reference: str | None) -> str | None:
    """The password a reference stands for: the content of that file in `limits.passwords`, without a trailing line end.

    Raises `DocfleetError(encrypted)` when it names no secret, or one that is not text in UTF-8; the message holds the reference, never the secret.
    """
    if reference is None:
        return None
    folder = settings.limits.passwords
    if folder is None or not _REFERENCE.fullmatch(reference) or reference.startswith("."):
        raise DocfleetError(
            ErrorCode.encrypted, "options.password_ref names no secret; set limits.passwords to their folder"
        )
    try:
        return (folder / reference).read_text("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise DocfleetError(ErrorCode.encrypted, f"the secret {reference!r} is not text in UTF-8") from None
    except OSError:
        raise DocfleetError(ErrorCode.encrypted, f"there is no secret {reference!r} in limits.passwords") from None
