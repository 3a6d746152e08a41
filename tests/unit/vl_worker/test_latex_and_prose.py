"""Formulas and plain text out of answers: delimiters off, what acts is refused or dropped, what a page says stays."""

from __future__ import annotations

import pytest

from services.vl_worker.grammars.latex import is_formula, parse_latex
from services.vl_worker.grammars.pages import split_pages
from services.vl_worker.grammars.prose import heading, parse_prose
from shared.contracts.errors import DocfleetError

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    "text",
    ["x^2", "$x^2$", "$$x^2$$", "$$ x^2 $$\n", "\\[ x^2 \\]", "\\(x^2\\)", "```latex\nx^2\n```", "```\n$$x^2$$\n```"],
)
def test_delimiters_come_off(text: str) -> None:
    assert parse_latex(text) == "x^2"


@pytest.mark.parametrize(
    "text", [r"\frac{a}{b}", r"\left\{ a \right.", r"\text{if } x \in \{1, 2\}", r"a & b \\ c & d"]
)
def test_formulas_stay_as_they_are(text: str) -> None:
    assert parse_latex(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "$$  $$",
        r"\frac{a}{b",
        r"a}{b",
        r"\input{/etc/passwd}",
        r"\write18{rm -rf /}",
        r"\href{javascript:alert(1)}{x}",
        r"\def\x{\x\x}\x",
        "a $$ <script>alert(1)</script> $$ b",
        "<table><tr><td>x</td></tr></table>",
        "<fcel>x<nl>",
        "{" * 100 + "}" * 100,
    ],
)
def test_what_is_no_formula_is_an_error(text: str) -> None:
    with pytest.raises(DocfleetError):
        parse_latex(text)


def test_less_than_is_no_tag() -> None:
    assert parse_latex("a<b") == r"a\lt b"
    assert parse_latex("a < b") == "a < b"


def test_a_formula_is_known_by_its_delimiters() -> None:
    assert is_formula("$$a$$")
    assert is_formula("\\[ a \\]")
    assert not is_formula("text $$a$$ and $$b$$")
    assert not is_formula("$$a$$ and $$b$$")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plain", "plain"),
        ("a<br>b", "a\nb"),
        ("<b>bold</b> x<sup>2</sup>", "bold x2"),
        ("see [here](http://evil.example/x) now", "see here now"),
        ("![figure](http://evil.example/x.png)", "figure"),
        ("<script>alert(1)</script>text", "text"),
        ("<img src=x onerror=alert(1)>text", "text"),
        ("```markdown\ntext\n```", "text"),
        ("text<｜end▁of▁sentence｜><|ref|>", "text"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a\tb\nc"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("[1] a note", "[1] a note"),
        ("<user@example.org>", "<user@example.org>"),
    ],
)
def test_text_is_what_a_reader_sees(text: str, said: str) -> None:
    assert parse_prose(text) == said


def test_code_keeps_its_markup() -> None:
    assert parse_prose("<div>\n  <b>x</b>", code=True) == "<div>\n  <b>x</b>"


def test_headings_lose_their_marks() -> None:
    assert heading("## 1. A\nheading **") == "1. A heading"


@pytest.mark.parametrize(
    ("text", "wanted", "pages"),
    [
        ("<PAGE>a<PAGE>b", 2, ["a", "b"]),
        ("\n<PAGE>\na\n<PAGE>\n", 2, ["a", ""]),
        ("<PAGE>a", 2, None),
        ("<PAGE>a<PAGE>b<PAGE>c", 2, None),
        ("a<PAGE>b", 1, None),
        ("a", 1, None),
        ("", 1, None),
    ],
)
def test_pages_are_as_many_as_were_shown_or_nobody_knows_which_is_which(
    text: str, wanted: int, pages: list[str] | None
) -> None:
    assert split_pages(text, wanted) == pages
