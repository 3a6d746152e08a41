"""LaTeX of one formula, as models write it.

It is data for whoever renders it, so what could reach beyond a formula is not accepted: files, other programs, links, definitions.
"""

from __future__ import annotations

import re

from shared.contracts.errors import DocfleetError, ErrorCode

MAX_DEPTH = 60
"""Nested braces; deeper is a loop, and more than KaTeX and TeX like."""
_FENCE = re.compile(r"^```[a-z]*\n|\n?```$")
_DELIMITERS = (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$"))
_FOREIGN = re.compile(
    r"\\(?:input|include|includegraphics|write\d*|immediate|openin|openout|read|catcode|csname|def|edef|gdef|let|newcommand|renewcommand"
    r"|href|url|html[A-Za-z]*|special|usepackage|documentclass|loop|repeat|expandafter)(?![A-Za-z])"
)
_MARKUP = re.compile(
    r"<\|?/?(?:table|thead|tbody|t[rdh]|[flxeu]cel|script|style|div|span|p|br|img|ref|det)\b", re.IGNORECASE
)
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
"""What a Markdown renderer without mathematics would take for the beginning of a tag; TeX reads `\\lt` the same."""


def parse_latex(text: str) -> str:
    """The formula without its delimiters.

    Raises `DocfleetError(corrupt)` when it is empty, has commands or markup that have no place in a formula, or braces that do not match.
    """
    content = _FENCE.sub("", text.strip()).strip()
    for opening, closing in _DELIMITERS:
        if len(content) >= len(opening) + len(closing) and content.startswith(opening) and content.endswith(closing):
            content = content[len(opening) : -len(closing)].strip()
            break
    if not content:
        raise DocfleetError(ErrorCode.corrupt, "the model's formula is empty")
    if "$$" in content or _MARKUP.search(content) or _FOREIGN.search(content):
        raise DocfleetError(ErrorCode.corrupt, "the model's formula has a command that has no place in one")
    depth, escaped = 0, False
    for character in content:
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
        if depth < 0 or depth > MAX_DEPTH:
            break
    if depth != 0:
        raise DocfleetError(ErrorCode.corrupt, "the braces of the model's formula do not match")
    return _TAG.sub(r"\\lt ", content)


def is_formula(text: str) -> bool:
    """Whether a whole text is one formula in display delimiters."""
    content = text.strip()
    return any(
        len(content) > len(opening) + len(closing)
        and content.startswith(opening)
        and content.endswith(closing)
        and content.find(closing, len(opening)) == len(content) - len(closing)
        for opening, closing in _DELIMITERS[:2]
    )
