"""The places of a line the draft is not sure of, so that only they are read again and not the whole line.

A place is cut out between words; in writing without words (CJK), between two wide characters, with `ANCHORS` characters on that side of which
the draft is sure. These must come back, or the cut was wrong and the whole line is read. Pure: letters and pixels in, letters out.
On two sets of generated scans (3,017 lines of 52,916 characters) the large network has 18 % of the width to read as places and 41 % as whole
lines, with 90 and 87 characters wrong at the end.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from services.rec_worker.crops import Pixels
from shared.models.ctc import Letter
from shared.models.pictures import darkest_of
from shared.models.reader import FRAME

ANCHORS = 2
"""Wide characters between a cut and the nearest doubt. With one, three in two hundred did not come back; with two, none."""
SURE = 0.9
"""Least confidence of an anchor and of the character on the other side of the cut."""
SHORT = 192
"""Pixels (at the model's height, squeezed) below which a line is read by the large network alone, as a whole: some letters say little of each
other, and a call for a part costs nearly as much. About eight letters of Latin type, five Chinese ones."""
WARY = 0.8
"""Confidence below which a character of a line that is doubted at all is a doubt too: what the draft does not know it writes as something else,
here with little confidence and there with some. Without this the large network has 14 % to read, and 104 characters are wrong."""
STRANGE = 0.05
"""Share of a line's characters below `WARY` above which the line is read as a whole, though each may be above the floor: the draft does not
know this writing (traditional characters, broken type, print of few pixels), or the line is too short to vouch for one. Characters wrong with
and without, and with whole lines for every doubt: of 6,803 on generated scans 19, 24 and 24; of 13,583 in print 12 to 18 px high with noise
131, 150 and 135; of 2,946 traditional ones 18, 56 and 47. The large network has 35, 34 and 43 % of the width to read on the scans."""
MOST = 0.75
"""Share of the line's width that its places may have; above, the line is read as a whole."""
WIDEST_LETTER = 60
"""Columns of ink of a letter. A wide character drawn 48 px high and not squeezed has 48 at most."""
_BLANK = 0.2
"""A column is blank where its contrast is below this share of the line's; as `crops` has it."""


class Place(NamedTuple):
    """Letters `first` to `last` (included) of a line, and the columns `[left, right)` of its crop that show them."""

    first: int
    last: int
    left: int
    right: int
    begins: str
    """How its reading must begin, and end: the anchors, or nothing where the cut is between words or at the line's end."""
    ends: str


class _Edge(NamedTuple):
    letter: int
    column: int
    anchors: str


def is_sparse(letters: Sequence[Letter], crop: Pixels) -> bool:
    """Whether there is much more ink than letters: what stands on its head the draft reads as one sure letter where there are three."""
    most = WIDEST_LETTER * sum(1 for letter in letters if letter.text.strip())
    return crop.shape[1] > most and int(np.count_nonzero(~blank_columns(crop))) > most


def is_strange(letters: Sequence[Letter]) -> bool:
    """Whether so many characters are less than sure that none can be believed."""
    written = [letter.confidence for letter in letters if letter.text.strip()]
    return sum(confidence < WARY for confidence in written) > STRANGE * len(written)


def places(letters: Sequence[Letter], crop: Pixels, floor: float) -> list[Place]:
    """Where to look again, left to right and apart; empty where the whole line should be read."""
    width = crop.shape[1]
    if not letters or width < SHORT:
        return []
    line = _Line(letters, blank_columns(crop), floor)
    found: list[tuple[_Edge, _Edge]] = []
    for number, letter in enumerate(letters):
        if letter.confidence >= (max(floor, WARY) if letter.text.strip() else floor) or (
            found and number <= found[-1][1].letter
        ):
            continue
        left, right = line.edge(number, -1), line.edge(number, 1)
        if left is None or right is None:
            return []
        if found and left.letter <= found[-1][1].letter + 2:
            found[-1] = (found[-1][0], right)
        else:
            found.append((left, right))
    cut = [Place(a.letter, b.letter, a.column, b.column, a.anchors, b.anchors) for a, b in found]
    if any(place.right - place.left < FRAME for place in cut):
        return []
    return cut if sum(place.right - place.left for place in cut) <= MOST * width else []


def spliced(
    letters: Sequence[Letter], cut: Sequence[Place], readings: Sequence[Sequence[Letter]]
) -> list[Letter] | None:
    """The line with its places as they were read the second time; none where one does not begin and end as it must.

    Frames of the letters of a place count from the place's own beginning.
    """
    whole: list[Letter] = []
    done = 0
    for place, reading in zip(cut, readings, strict=True):
        inner = _stripped(reading)
        text = _plain(inner)
        if not text.startswith(place.begins) or not text.endswith(place.ends):
            return None
        if len(text) < max(1, len(place.begins) + len(place.ends)):
            return None
        whole += [*letters[done : place.first], *inner]
        done = place.last + 1
    return [*whole, *letters[done:]]


def blank_columns(crop: Pixels) -> npt.NDArray[np.bool_]:
    """Per column of a crop (uint8 RGB) whether there is no ink."""
    darkest = darkest_of(crop)
    contrast = darkest.max(axis=0).astype(np.int16) - darkest.min(axis=0)
    blank: npt.NDArray[np.bool_] = contrast < _BLANK * max(1, int(contrast.max()))
    return blank


class _Line:
    """Finds the nearest edges of places."""

    def __init__(self, letters: Sequence[Letter], blank: npt.NDArray[np.bool_], floor: float) -> None:
        self._letters = letters
        self._blank = blank
        self._floor = floor

    def edge(self, number: int, step: int) -> _Edge | None:
        """The nearest cut before (`step` -1) or after (1) a doubtful letter; none where there is no blank column to cut at."""
        last = 0 if step < 0 else len(self._letters) - 1
        anchors = 0
        at = number
        while at != last:
            if self._at_word_gap(at, number, step):
                column = self._gap(at, at + 2 * step)
                return None if column is None else _Edge(at, column, "")
            if anchors >= ANCHORS and self._is_anchor(at + step):
                column = self._gap(at, at + step)
                if column is not None:
                    kept = self._letters[at : at + ANCHORS] if step < 0 else self._letters[at + 1 - ANCHORS : at + 1]
                    return _Edge(at, column, _plain(kept))
            at += step
            anchors = anchors + 1 if self._is_anchor(at) else 0
        return _Edge(at, 0 if step < 0 else len(self._blank), "")

    def _at_word_gap(self, at: int, number: int, step: int) -> bool:
        """Whether the place may end at this letter because a surely read space comes next, with a letter beyond it."""
        beyond = at + 2 * step
        if not 0 <= beyond < len(self._letters) or not self._letters[at].text.strip():
            return False
        first, last = sorted((at, number))
        if not any(letter.text.isalnum() for letter in self._letters[first : last + 1]):
            return False  # a dot alone could be any of them
        space = self._letters[at + step]
        return not space.text.strip() and space.confidence >= self._floor

    def _is_anchor(self, at: int) -> bool:
        letter = self._letters[at]
        wide = all(unicodedata.east_asian_width(character) in "WF" for character in letter.text)
        return wide and letter.confidence >= SURE and bool(letter.text.strip())

    def _gap(self, one: int, other: int) -> int | None:
        """The middle of the widest run of blank columns between two letters; of equally wide ones the first."""
        start, end = sorted(self._letters[at].frame * FRAME + FRAME // 2 for at in (one, other))
        edges = np.flatnonzero(np.diff(np.concatenate(([0], self._blank[start:end].astype(np.int8), [0]))))
        runs = edges.reshape(-1, 2).tolist()
        if not runs:
            return None
        first, last = max(runs, key=lambda run: run[1] - run[0])
        return start + (first + last) // 2


def _stripped(letters: Sequence[Letter]) -> Sequence[Letter]:
    written = [number for number, letter in enumerate(letters) if letter.text.strip()]
    return letters[written[0] : written[-1] + 1] if written else []


def _plain(letters: Sequence[Letter]) -> str:
    """Text to compare: one network writes a comma wide that the other writes narrow, and sets spaces beside it."""
    return "".join(unicodedata.normalize("NFKC", "".join(letter.text for letter in letters)).split())
