"""Office Math (ECMA-376 part 1, 22.1) as LaTeX. What has no form here gives its text, so that nothing is lost."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from shared.documents.docx.xml import Element, attribute, child, name, switched

_SPECIAL = {
    "\\": r"\backslash ", "{": r"\{", "}": r"\}", "#": r"\#", "%": r"\%", "&": r"\&", "$": r"\$", "_": r"\_",
    "^": r"\hat{}", "~": r"\sim ", "×": r"\times ", "÷": r"\div ", "±": r"\pm ", "∓": r"\mp ", "·": r"\cdot ",
    "≤": r"\leq ", "≥": r"\geq ", "≠": r"\neq ", "≈": r"\approx ", "≡": r"\equiv ", "∞": r"\infty ", "∂": r"\partial ",
    "∇": r"\nabla ", "→": r"\to ", "←": r"\leftarrow ", "⇒": r"\Rightarrow ", "⇔": r"\Leftrightarrow ", "↔": r"\leftrightarrow ",
    "∈": r"\in ", "∉": r"\notin ", "⊂": r"\subset ", "⊆": r"\subseteq ", "∪": r"\cup ", "∩": r"\cap ", "∅": r"\emptyset ",
    "∀": r"\forall ", "∃": r"\exists ", "∑": r"\sum ", "∏": r"\prod ", "∫": r"\int ", "√": r"\surd ", "…": r"\ldots ", "⋯": r"\cdots ",
    "−": "-", "\u2061": "", "\u200b": "", "α": r"\alpha ", "β": r"\beta ", "γ": r"\gamma ", "δ": r"\delta ", "ε": r"\varepsilon ",
    "ϵ": r"\epsilon ", "ζ": r"\zeta ", "η": r"\eta ", "θ": r"\theta ", "ι": r"\iota ", "κ": r"\kappa ", "λ": r"\lambda ", "μ": r"\mu ",
    "ν": r"\nu ", "ξ": r"\xi ", "π": r"\pi ", "ρ": r"\rho ", "σ": r"\sigma ", "τ": r"\tau ", "υ": r"\upsilon ", "φ": r"\varphi ",
    "ϕ": r"\phi ", "χ": r"\chi ", "ψ": r"\psi ", "ω": r"\omega ", "Γ": r"\Gamma ", "Δ": r"\Delta ", "Θ": r"\Theta ", "Λ": r"\Lambda ",
    "Ξ": r"\Xi ", "Π": r"\Pi ", "Σ": r"\Sigma ", "Φ": r"\Phi ", "Ψ": r"\Psi ", "Ω": r"\Omega ",
}  # fmt: skip
_NARY = {
    "∑": r"\sum", "∏": r"\prod", "∐": r"\coprod", "∫": r"\int", "∬": r"\iint", "∭": r"\iiint", "∮": r"\oint", "⋃": r"\bigcup",
    "⋂": r"\bigcap", "⋁": r"\bigvee", "⋀": r"\bigwedge", "⨁": r"\bigoplus", "⨂": r"\bigotimes",
}  # fmt: skip
_ACCENTS = {
    "\u0300": "grave", "\u0301": "acute", "\u0302": "hat", "\u0303": "tilde", "\u0304": "bar", "\u0305": "overline", "\u0306": "breve",
    "\u0307": "dot", "\u0308": "ddot", "\u030c": "check", "\u20d7": "vec", "\u20d6": "overleftarrow", "\u0332": "underline",
}  # fmt: skip
_FENCES = {
    "{": r"\{", "}": r"\}", "⟨": r"\langle ", "⟩": r"\rangle ", "〈": r"\langle ", "〉": r"\rangle ", "‖": r"\| ", "⌊": r"\lfloor ",
    "⌋": r"\rfloor ", "⌈": r"\lceil ", "⌉": r"\rceil ", "": ".",
}  # fmt: skip
_FUNCTIONS = frozenset(
    {
        "arccos", "arcsin", "arctan", "arg", "cos", "cosh", "cot", "coth", "csc", "deg", "det", "dim", "exp", "gcd", "hom", "inf", "ker",
        "lg", "lim", "liminf", "limsup", "ln", "log", "max", "min", "Pr", "sec", "sin", "sinh", "sup", "tan", "tanh",
    }
)  # fmt: skip
_SCRIPTS = {
    "double-struck": "mathbb", "fraktur": "mathfrak", "script": "mathcal", "sans-serif": "mathsf", "monospace": "mathtt"
}  # fmt: skip
_ALPHABETS = (
    ("DOUBLE-STRUCK", "mathbb"), ("FRAKTUR", "mathfrak"), ("SCRIPT", "mathcal"), ("SANS-SERIF", "mathsf"),
    ("MONOSPACE", "mathtt"), ("BOLD", "mathbf"),
)  # fmt: skip
_MATH_LETTERS = range(0x1D400, 0x1D800)
_PROPERTIES = "Pr"
_BREAK = r" \\ "
_NUMBER = re.compile(r"\s*\\#\s*[(（]?([^()（）{}\s]{1,12})[)）]?$")


def latex(element: Element) -> str:
    """LaTeX of an `m:oMath` (or anything in it), without delimiters; empty where it holds nothing."""
    return re.sub(r" +(?=[\s}^_])", "", re.sub(r"\s{2,}", " ", _inside(element))).strip()


def _inside(element: Element | None) -> str:
    return "" if element is None else "".join(_one(one) for one in element)


def _one(element: Element) -> str:
    kind = name(element)
    if kind in _FORMS:
        return _FORMS[kind](element)
    if kind == "m:t":
        return _written(element.text or "")
    if kind == "w:t":
        return rf"\text{{{element.text or ''}}}"
    if kind.endswith(_PROPERTIES) or kind in ("w:del", "w:moveFrom"):
        return ""
    return _inside(element)


def _written(text: str) -> str:
    return "".join(_letter(one) for one in text)


def _letter(one: str) -> str:
    if one in _SPECIAL:
        return _SPECIAL[one]
    if ord(one) in _MATH_LETTERS or unicodedata.name(one, "").startswith(("DOUBLE-STRUCK", "BLACK-LETTER")):
        plain = unicodedata.normalize("NFKC", one)
        plain = _SPECIAL.get(plain, plain)
        title = unicodedata.name(one, "").replace("BLACK-LETTER", "FRAKTUR")
        return next((f"\\{command}{{{plain.strip()}}}" for word, command in _ALPHABETS if word in title), plain)
    return one


def _run(element: Element) -> str:
    properties = child(element, "m:rPr")
    text = "".join(one.text or "" for one in element if name(one) in ("m:t", "w:t"))
    if child(properties, "m:nor") is not None:
        return rf"\text{{{text}}}" if text else ""
    written = _written(text)
    if not written.strip():
        return written
    script = attribute(child(properties, "m:scr"), "m:val") or ""
    style = attribute(child(properties, "m:sty"), "m:val") or ""
    if script in _SCRIPTS:
        return rf"\{_SCRIPTS[script]}{{{written}}}"
    if style in ("b", "bi"):
        return rf"\{'mathbf' if style == 'b' else 'boldsymbol'}{{{written}}}"
    if text.strip() in _FUNCTIONS:
        return rf"\{text.strip()} "
    return rf"\mathrm{{{written}}}" if style == "p" and len(text.strip()) > 1 and text.strip().isalpha() else written


def _part(element: Element, part: str) -> str:
    return _inside(child(element, part)).strip()


def _property(element: Element, part: str, default: str) -> str:
    """Value of a property in the element's own `…Pr`; one that is there without a value is empty."""
    properties = next((one for one in element if name(one).endswith(_PROPERTIES)), None)
    found = child(properties, part)
    return default if found is None else (attribute(found, "m:val") or "")


def _fraction(element: Element) -> str:
    above, below = _part(element, "m:num"), _part(element, "m:den")
    kind = _property(element, "m:type", "bar")
    if kind == "lin":
        return f"{above}/{below}"
    return rf"\genfrac{{}}{{}}{{0pt}}{{}}{{{above}}}{{{below}}}" if kind == "noBar" else rf"\frac{{{above}}}{{{below}}}"


def _scripts(element: Element) -> str:
    below, above = _part(element, "m:sub"), _part(element, "m:sup")
    base = _part(element, "m:e")
    if len(base) > 1 and not re.fullmatch(r"\\[A-Za-z]+", base):
        base = f"{{{base}}}"
    marks = (f"_{{{below}}}" if below else "") + (f"^{{{above}}}" if above else "")
    return f"{{}}{marks}{base}" if name(element) == "m:sPre" else f"{base}{marks}"


def _radical(element: Element) -> str:
    degree = _part(element, "m:deg")
    return rf"\sqrt[{degree}]{{{_part(element, 'm:e')}}}" if degree else rf"\sqrt{{{_part(element, 'm:e')}}}"


def _nary(element: Element) -> str:
    sign = _property(element, "m:chr", "∫")
    below, above = _part(element, "m:sub"), _part(element, "m:sup")
    head = (
        _NARY.get(sign, _written(sign).strip())
        + (f"_{{{below}}}" if below else "")
        + (f"^{{{above}}}" if above else "")
    )
    return f"{head} {_part(element, 'm:e')}"


def _delimited(element: Element) -> str:
    first, last = _property(element, "m:begChr", "("), _property(element, "m:endChr", ")")
    between = _property(element, "m:sepChr", "|")
    parts = [_inside(one).strip() for one in element if name(one) == "m:e"]
    inner = (rf" \middle{_FENCES.get(between, between)} " if between else " ").join(parts)
    return rf"\left{_FENCES.get(first, first)}{inner}\right{_FENCES.get(last, last)}"


def _matrix(element: Element) -> str:
    rows = [" & ".join(_inside(e).strip() for e in row if name(e) == "m:e") for row in element if name(row) == "m:mr"]
    return rf"\begin{{matrix}}{_BREAK.join(rows)}\end{{matrix}}"


def _array(element: Element) -> str:
    """Lines of an equation; of a single one the number that Word keeps after a `#` at its end."""
    rows = [_inside(one).strip() for one in element if name(one) == "m:e"]
    if len(rows) == 1:
        return _NUMBER.sub(r" \\tag{\1}", rows[0])
    return rf"\begin{{array}}{{l}}{_BREAK.join(rows)}\end{{array}}"


def _function(element: Element) -> str:
    return f"{_part(element, 'm:fName')} {{{_part(element, 'm:e')}}}"


def _limit(element: Element) -> str:
    base, limit = _part(element, "m:e"), _part(element, "m:lim")
    if base in (r"\lim", r"\max", r"\min", r"\sup", r"\inf"):
        return f"{base}{'_' if name(element) == 'm:limLow' else '^'}{{{limit}}}"
    return rf"\{'underset' if name(element) == 'm:limLow' else 'overset'}{{{limit}}}{{{base}}}"


def _accent(element: Element) -> str:
    sign = _property(element, "m:chr", "\u0302")
    base = _part(element, "m:e")
    command = _ACCENTS.get(sign)
    return rf"\{command}{{{base}}}" if command else rf"\overset{{{_written(sign).strip()}}}{{{base}}}"


def _bar(element: Element) -> str:
    return rf"\{'overline' if _property(element, 'm:pos', 'bot') == 'top' else 'underline'}{{{_part(element, 'm:e')}}}"


def _grouped(element: Element) -> str:
    sign, base = _property(element, "m:chr", "⏟"), _part(element, "m:e")
    if sign in "⏟⏞":
        return rf"\{'underbrace' if sign == '⏟' else 'overbrace'}{{{base}}}"
    above = _property(element, "m:pos", "bot") == "top"
    return rf"\{'overset' if above else 'underset'}{{{_written(sign).strip()}}}{{{base}}}"


def _phantom(element: Element) -> str:
    properties = child(element, "m:phantPr")
    shown = switched(properties, "m:show")
    return _part(element, "m:e") if shown is None or shown else rf"\phantom{{{_part(element, 'm:e')}}}"


_FORMS: dict[str, Callable[[Element], str]] = {
    "m:r": _run,
    "m:f": _fraction,
    "m:sSup": _scripts,
    "m:sSub": _scripts,
    "m:sSubSup": _scripts,
    "m:sPre": _scripts,
    "m:rad": _radical,
    "m:nary": _nary,
    "m:d": _delimited,
    "m:m": _matrix,
    "m:eqArr": _array,
    "m:func": _function,
    "m:limLow": _limit,
    "m:limUpp": _limit,
    "m:acc": _accent,
    "m:bar": _bar,
    "m:groupChr": _grouped,
    "m:borderBox": lambda element: rf"\boxed{{{_part(element, 'm:e')}}}",
    "m:phant": _phantom,
}
