"""Plain text out of an answer that may hold a little markup: what a reader of the page would see, and nothing that acts."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"<\|[^<>|]{1,40}\|>|<｜[^<>｜]{1,40}｜>|<image>|<PAGE>")
_FENCE = re.compile(r"^```[A-Za-z]*\n|\n?```$")
_PICTURE = re.compile(r"!\[([^\[\]]{0,500})\]\([^()\s]{0,2000}\)")
_LINK = re.compile(r"(?<!!)\[([^\[\]]{0,500})\]\([^()\s]{0,2000}\)")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_CELL_END = re.compile(r"</t[dh]\s*>(?!\s*</tr)", re.IGNORECASE)
_ROW_END = re.compile(r"</tr\s*>", re.IGNORECASE)
_SILENT = re.compile(r"<(script|style)\b[^<>]*>.*?(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(
    r"</?(?:a|b|i|u|p|em|strong|sup|sub|span|div|center|font|img|table|thead|tbody|tr|td|th|ul|ol|li|h[1-6]|script|style|iframe|object|svg"
    r"|pre|code|small|big)\b[^<>]{0,2000}>",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^#{1,6}\s+")


def parse_prose(text: str, *, code: bool = False) -> str:
    """The text without special tokens, links, pictures and HTML tags; the words of a link stay. `code` keeps what looks like markup."""
    content = _FENCE.sub("", _SPECIAL.sub("", text.strip())).strip()
    if code:
        return content
    content = _PICTURE.sub(r"\1", content)
    content = _LINK.sub(r"\1", content)
    content = _CELL_END.sub("\t", _ROW_END.sub("\n", _BREAK.sub("\n", content)))
    content = _TAG.sub("", _SILENT.sub("", content))
    return "\n".join(line.rstrip() for line in content.splitlines()).strip()


def heading(text: str) -> str:
    """A heading without the marks of Markdown, in one line."""
    return " ".join(_HEADING.sub("", text.strip()).split()).strip("*").strip()
