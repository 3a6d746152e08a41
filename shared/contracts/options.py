"""What a submitter may ask for, and the hash two equal requests share."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from shared.contracts.codec import encode, sha256
from shared.contracts.errors import DocfleetError, ErrorCode

Priority = Literal["interactive", "normal", "bulk"]
Lane = Literal["first", "bulk"]
MAX_PAGES_EXPRESSION = 4_000
"""Characters of `options.pages`: it travels in records of 20 kB, and each of its parts may name every page."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How a document is to be parsed. Equal options share one cache entry."""

    ocr: Literal["auto", "force", "off"] = "auto"
    """`auto`: read only what the page's own text does not give (the text layer of a scan is compared with it first); `force`: read
    everything; `off`: own text only."""
    vl: Literal["auto", "off", "page", "document"] = "auto"
    """`auto`: tables, seals and formulas go to the vision-language model if one is configured."""
    vl_profile: Annotated[str, Meta(max_length=100)] | None = None
    languages: Annotated[list[Annotated[str, Meta(max_length=35)]], Meta(max_length=50)] = []
    """BCP 47 tags, 35 characters at most (RFC 5646, 4.4.1)."""
    layout: Literal["auto", "fast"] = "auto"
    """`fast`: no layout network, structure from the PDF alone. Pictures that cover less than 2 % of a page are not looked into."""
    pictures: bool = False
    """Store page pictures and picture crops, also for purely native pages."""
    pages: Annotated[str, Meta(max_length=MAX_PAGES_EXPRESSION)] | None = None
    """1-based pages such as `1-3,7`; none means all."""
    password_ref: Annotated[str, Meta(max_length=100)] | None = None
    """Name of a secret that holds the password; never the password itself."""
    formats: Annotated[list[Literal["json", "markdown"]], Meta(max_length=10)] = msgspec.field(
        default_factory=lambda: ["json", "markdown"]
    )


def options_hash(options: Options) -> str:
    """sha256 of the canonical JSON of the options; a password reference is part of it."""
    return sha256(encode(options))


def selected_pages(pages: str | None, pages_total: int) -> list[int]:
    """The 1-based pages an expression such as `1-3,7,9-` selects, sorted, each once, those that do not exist left out.

    Raises `DocfleetError(invalid_message)` when the expression cannot be read.
    """
    if pages is None or not pages.strip():
        return list(range(1, pages_total + 1))
    chosen: set[int] = set()
    for part in pages.split(","):
        first, dash, last = part.strip().partition("-")
        try:
            start = int(first)
            end = (int(last) if last.strip() else max(start, pages_total)) if dash else start
        except ValueError:
            raise DocfleetError(
                ErrorCode.invalid_message, f"options.pages {pages!r:.60} cannot be read; write it like 1-3,7"
            ) from None
        if start < 1 or end < start:
            raise DocfleetError(
                ErrorCode.invalid_message, f"options.pages {pages!r:.60}: {part.strip()!r:.20} is not a page range"
            )
        chosen.update(range(start, min(end, pages_total) + 1))
    return sorted(chosen)


def page_ranges(pages: list[int]) -> str:
    """The shortest expression of sorted page numbers: `[1, 2, 3, 7]` is `1-3,7`."""
    parts: list[str] = []
    for page in pages:
        first, _, last = parts[-1].partition("-") if parts else ("", "", "")
        if parts and int(last or first) + 1 == page:
            parts[-1] = f"{first}-{page}"
        else:
            parts.append(str(page))
    return ",".join(parts)
