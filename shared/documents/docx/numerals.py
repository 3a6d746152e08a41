"""Numbers as Word writes them in lists: the values of `w:numFmt` (ECMA-376 part 1, 17.18.59) that documents use."""

from __future__ import annotations

from collections.abc import Callable

_ROMAN = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
    (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip
_DIGITS = "〇一二三四五六七八九"
_LEGAL = "零壹贰叁肆伍陆柒捌玖"
_STEMS = "甲乙丙丁戊己庚辛壬癸"
_BRANCHES = "子丑寅卯辰巳午未申酉戌亥"
_MOST = 9_999


def _roman(value: int) -> str:
    out = ""
    for size, letters in _ROMAN:
        out += letters * (value // size)
        value %= size
    return out


def _letters(value: int) -> str:
    """a … z, aa, bb, …: Word repeats the letter."""
    return chr(ord("A") + (value - 1) % 26) * ((value - 1) // 26 + 1)


def _counted(value: int, digits: str, units: tuple[str, str, str, str]) -> str:
    """Chinese numbers below ten thousand: 十二, 一百零五."""
    out = ""
    for power in (3, 2, 1, 0):
        digit = value // 10**power % 10
        if digit:
            out += digits[digit] + units[power]
        elif out and not out.endswith("零") and value % 10**power:
            out += "零"
    return out


def _chinese(value: int) -> str:
    text = _counted(value, _DIGITS, ("", "十", "百", "千"))
    return text[1:] if 10 <= value < 20 else text


def _circled(value: int) -> str:
    if value <= 20:
        return chr(0x245F + value)
    return chr(0x3250 + value - 20) if value <= 35 else (chr(0x32B0 + value - 35) if value <= 50 else str(value))


def _ordinal(value: int) -> str:
    ending = "th" if value % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value}{ending}"


_FORMS: dict[str, Callable[[int], str]] = {
    "decimalZero": lambda value: f"{value:02d}",
    "upperRoman": _roman,
    "lowerRoman": lambda value: _roman(value).lower(),
    "upperLetter": _letters,
    "lowerLetter": lambda value: _letters(value).lower(),
    "ordinal": _ordinal,
    "chineseCounting": _chinese,
    "chineseCountingThousand": _chinese,
    "japaneseCounting": _chinese,
    "taiwaneseCounting": _chinese,
    "taiwaneseCountingThousand": _chinese,
    "chineseLegalSimplified": lambda value: _counted(value, _LEGAL, ("", "拾", "佰", "仟")),
    "ideographDigital": lambda value: "".join(_DIGITS[int(digit)] for digit in str(value)),
    "japaneseDigitalTenThousand": lambda value: "".join(_DIGITS[int(digit)] for digit in str(value)),
    "ideographTraditional": lambda value: _STEMS[(value - 1) % 10],
    "ideographZodiac": lambda value: _BRANCHES[(value - 1) % 12],
    "decimalEnclosedCircle": _circled,
    "decimalEnclosedCircleChinese": _circled,
    "ideographEnclosedCircle": lambda value: chr(0x3280 + value - 1) if value <= 10 else str(value),
    "decimalEnclosedParen": lambda value: chr(0x2474 + value - 1) if value <= 20 else f"({value})",
    "decimalEnclosedFullstop": lambda value: chr(0x2488 + value - 1) if value <= 20 else f"{value}.",
    "decimalFullWidth": lambda value: "".join(chr(0xFF10 + int(digit)) for digit in str(value)),
    "numberInDash": lambda value: f"- {value} -",
    "none": lambda value: "",
    "bullet": lambda value: "",
}


def numeral(value: int, form: str) -> str:
    """`value` in the number format `form`; decimal for formats not known here, and for numbers the format has no form of."""
    if value < 1 or value > _MOST:
        return "" if form in ("none", "bullet") else str(value)
    write = _FORMS.get(form)
    return str(value) if write is None else write(value)
