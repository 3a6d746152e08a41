"""Formulas by what stands beside them: the number of an equation belongs to it, and a line of signs with such a number is one."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from services.layout_worker.boxes import hull, overlap
from services.layout_worker.regions import doubts
from services.layout_worker.regions.drafts import HOLDS_TEXT, Draft

BESIDE = 0.5
"""Share of the number's height that is beside the formula."""
_NUMBER = re.compile(r"\s*[(（](?:[A-Z]\.?)?\d{1,3}(?:[.\-–]\d{1,3})?[a-z]?[)）]\s*")
_SIGNS = re.compile(r"[=≈≠≤≥<>±×÷∑∏∫√∞∂∇∈→^]")


def with_numbers(drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts, numbers of equations joined to what they number: a formula, or one line of signs to the left of it, which then is one."""
    out = list(drafts)
    for number in drafts:
        if not _is_number(number):
            continue
        left = [one for one in out if one is not number and _is_beside(one, number)]
        if not left:
            continue
        formula = max(left, key=lambda one: one.bbox[2])
        if formula.label != "formula" and not _is_signs(formula):
            continue
        joined = msgspec.structs.replace(
            formula,
            label="formula",
            bbox=hull([formula.bbox, number.bbox]),
            lines=[*formula.lines, *number.lines],
            reason=formula.reason if formula.label == "formula" else "signs with the number of an equation",
        )
        out = [joined if one is formula else one for one in out if one is not number]
    return out


def _is_number(draft: Draft) -> bool:
    return draft.label in HOLDS_TEXT and len(draft.lines) == 1 and bool(_NUMBER.fullmatch(draft.lines[0].text or ""))


def _is_signs(draft: Draft) -> bool:
    text = draft.lines[0].text or "" if len(draft.lines) == 1 else ""
    return draft.label in HOLDS_TEXT and bool(_SIGNS.search(text)) and not doubts.is_prose(text)


def _is_beside(draft: Draft, number: Draft) -> bool:
    x0, y0, _, y1 = number.bbox
    return draft.bbox[2] <= x0 + 1.0 and overlap(y0, y1, draft.bbox[1], draft.bbox[3]) >= BESIDE * (y1 - y0)
