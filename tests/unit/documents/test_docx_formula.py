"""Office Math as LaTeX."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

from shared.documents.docx.formula import latex
from tests.support.docx import SPACES, docx, p, read

pytestmark = pytest.mark.unit


def t(text: str, properties: str = "") -> str:
    return f"<m:r><m:rPr>{properties}</m:rPr><m:t>{text}</m:t></m:r>"


def e(inner: str, part: str = "e") -> str:
    return f"<m:{part}>{inner}</m:{part}>"


def sup(base: str, above: str) -> str:
    return f"<m:sSup>{e(base)}{e(above, 'sup')}</m:sSup>"


ROOT = f"<m:rad><m:deg/>{e(sup(t('b'), t('2')) + t('−4ac'))}</m:rad>"
LIMIT = f"<m:limLow>{e(t('lim'))}{e(t('n→∞'), 'lim')}</m:limLow>"


@pytest.mark.parametrize(
    ("inner", "written"),
    [
        (sup(t("a"), t("2")) + t("+") + f"<m:sSub>{e(t('b'))}{e(t('1'), 'sub')}</m:sSub>", "a^{2}+b_{1}"),
        (f"<m:f>{e(t('−b±') + ROOT, 'num')}{e(t('2a'), 'den')}</m:f>", r"\frac{-b\pm\sqrt{b^{2}-4ac}}{2a}"),
        (
            f'<m:f><m:fPr><m:type m:val="noBar"/></m:fPr>{e(t("n"), "num")}{e(t("k"), "den")}</m:f>',
            r"\genfrac{}{}{0pt}{}{n}{k}",
        ),
        (f"<m:rad>{e(t('3'), 'deg')}{e(t('x'))}</m:rad>", r"\sqrt[3]{x}"),
        (
            f'<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr>{e(t("k=0"), "sub")}{e(t("∞"), "sup")}{e(t("k"))}</m:nary>',
            r"\sum_{k=0}^{\infty} k",
        ),
        (f"<m:nary>{e('', 'sub')}{e('', 'sup')}{e(t('xdx'))}</m:nary>", r"\int xdx"),
        (f'<m:d><m:dPr><m:begChr m:val="{{"/><m:endChr m:val=""/></m:dPr>{e(t("x"))}</m:d>', r"\left\{x\right."),
        (
            f"<m:m><m:mr>{e(t('a'))}{e(t('b'))}</m:mr><m:mr>{e(t('c'))}{e(t('d'))}</m:mr></m:m>",
            r"\begin{matrix}a & b \\ c & d\end{matrix}",
        ),
        (f"<m:func>{e(t('sin'), 'fName')}{e(t('α'))}</m:func>", r"\sin{\alpha}"),
        (f"<m:func>{e(LIMIT, 'fName')}{e(t('a'))}</m:func>", r"\lim_{n\to\infty} {a}"),
        (f'<m:acc><m:accPr><m:chr m:val="\u20d7"/></m:accPr>{e(t("v"))}</m:acc>', r"\vec{v}"),
        (t("R", '<m:scr m:val="double-struck"/>'), r"\mathbb{R}"),
        (t("\U0001d539\U0001d504"), r"\mathbb{B}\mathfrak{A}"),
        (t("50% &amp; #1_x{}"), r"50\% \& \#1\_x\{\}"),
        (t("if x", "<m:nor/>"), r"\text{if x}"),
        (f"<m:eqArr>{e(t('E=m#(4)'))}</m:eqArr>", r"E=m \tag{4}"),
        (f"<m:unheard>{e(t('kept'))}</m:unheard>", "kept"),
        ("", ""),
    ],
)
def test_latex(inner: str, written: str) -> None:
    element = etree.fromstring(f"<m:oMath {SPACES}>{inner}</m:oMath>")
    shown = latex(element)
    assert shown.replace(" ", "") == written.replace(" ", "")
    bare = shown.replace(r"\{", "").replace(r"\}", "")
    assert bare.count("{") == bare.count("}")


def test_a_formula_alone_is_a_block_and_one_in_a_sentence_is_part_of_it(tmp_path: Path) -> None:
    formula = f"<m:oMath>{sup(t('x'), t('2'))}</m:oMath>"
    body = p(f"<m:oMathPara>{formula}</m:oMathPara>") + p("Let ", formula, " be")
    blocks = read(docx(body), tmp_path).blocks
    assert [(one.label, one.text, one.latex) for one in blocks] == [
        ("formula", "", "x^{2}"),
        ("text", "Let $x^{2}$ be", None),
    ]
