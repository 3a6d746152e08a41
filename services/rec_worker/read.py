"""How a line is read: squeezed first, at full width where that is not sure, and the other way up where it runs along the page's side.

All lines of a call go to the engine together, and so do all second looks, so that they find company in the batches.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import NamedTuple

from services.rec_worker import crops
from services.rec_worker.cache import CropCache, crop_key
from services.rec_worker.crops import Pixels, Quad
from services.rec_worker.inference import Inference, Text
from shared.contracts.options import Lane

NOTHING = Text("", 0.0)
_SILENCE: Future[Text] = Future()
"""The answer of what has no ink."""
_SILENCE.set_result(NOTHING)


class Ticket(NamedTuple):
    """Whose crops these are and how urgent, as the batcher wants to know it."""

    document: str
    lane: Lane = "first"
    due: float | None = None
    """Clock time of the inference from which crops must not linger."""
    coming: int = 0
    """Other pages on their way to this process."""
    trace: str | None = None
    """`traceparent`, where the page is traced."""


class LineCrop(NamedTuple):
    """A line cut from a picture, at its natural size."""

    pixels: Pixels
    turns: tuple[int, ...] = (0,)
    """Quarters counter-clockwise that may set it upright: the first is read, the others where that is not sure."""
    flips: tuple[int, ...] = ()
    """Quarters that are unlikely: tried where the first reading is not sure, and believed only where they are read surely."""
    squeezed: bool = True
    """Whether it may be drawn narrower than it is; not what was bent before (a seal's ring), whose letters are worn already."""

    @classmethod
    def of(cls, picture: Pixels, quad: Quad) -> LineCrop:
        """The line inside a quad of a picture. One that runs down the page is turned; it may also run up. A level one may stand on its head."""
        pixels = crops.cut(picture, quad)
        return cls(pixels, (1, 3)) if crops.is_tall(quad) else cls(pixels, (0,), (2,))

    def upright(self, quarters: int) -> Pixels:
        return crops.turn(self.pixels, quarters) if quarters else self.pixels


class LineFailed(NamedTuple):
    """The engine failed on this line, alone."""

    error: Exception


class LineReader:
    """Reads lines of pages; one for all calls, thread safe."""

    def __init__(
        self, inference: Inference, cache: CropCache, *, model: str, height: int, squeeze: float, low_confidence: float
    ) -> None:
        """`model` is part of the cache's keys; lines are drawn `height` px high and `squeeze` times as wide as that asks for, and again
        at full width below `low_confidence`."""
        self._inference = inference
        self._cache = cache
        self._model = model
        self._height = height
        self._squeeze = squeeze
        self._low = low_confidence

    def cutting(self, ticket: Ticket) -> AbstractContextManager[None]:
        """To be held while lines are still being found, so that batches linger for them."""
        return self._inference.cutting(ticket.coming)

    def read(self, lines: Sequence[LineCrop], ticket: Ticket, tally: Tally) -> list[Text | LineFailed]:
        """The text of each line, in order. Blocks until all are read."""
        with self.cutting(ticket):
            first = [
                self._ask(line.upright(line.turns[0]), self._squeeze if line.squeezed else 1.0, ticket, tally)
                for line in lines
            ]
        texts = [_answer(asked) for asked in first]
        again: list[tuple[int, list[_Asked], list[_Asked]]] = []
        with self.cutting(ticket):
            for number, (line, text) in enumerate(zip(lines, texts, strict=True)):
                if isinstance(text, LineFailed) or text.confidence >= self._low or first[number].blank:
                    continue
                asked = [self._ask(line.upright(turn), 1.0, ticket, tally) for turn in line.turns]
                flipped = [self._ask(line.upright(turn), 1.0, ticket, tally) for turn in line.flips]
                again.append((number, asked, flipped))
        for number, asked, flipped in again:
            for candidate in map(_answer, asked):
                texts[number] = _better(texts[number], candidate)
            for candidate in map(_answer, flipped):
                if isinstance(candidate, Text) and candidate.confidence >= self._low:
                    texts[number] = _better(texts[number], candidate)
        return texts

    def _ask(self, crop: Pixels, squeeze: float, ticket: Ticket, tally: Tally) -> _Asked:
        asked: list[tuple[Future[Text], bool]] = []
        for pixels, gap in crops.pieces(crops.scaled(crop, self._height, squeeze)):
            if crops.is_blank(pixels):
                tally.blank += 1
                asked.append((_SILENCE, gap))
                continue
            key = crop_key(pixels, self._inference.bucket(pixels.shape[1]), self._model)
            future, mine = self._cache.ask(key)
            tally.crops += 1
            if mine:
                read = self._inference.submit(
                    pixels, document=ticket.document, lane=ticket.lane, due=ticket.due, trace=ticket.trace
                )
                read.add_done_callback(lambda done, target=future: _hand_on(done, target))  # type: ignore[misc]
            else:
                tally.cache_hits += 1
            asked.append((future, gap))
        return _Asked(asked)


class Tally:
    """What a call asked for; of one call, not shared."""

    def __init__(self) -> None:
        self.crops = 0
        self.cache_hits = 0
        self.blank = 0


class _Asked(NamedTuple):
    pieces: list[tuple[Future[Text], bool]]
    """Text to come of each piece of the line, left to right, and whether a gap between words follows it."""

    @property
    def blank(self) -> bool:
        return all(future is _SILENCE for future, _ in self.pieces)


def _hand_on(done: Future[Text], target: Future[Text]) -> None:
    if (error := done.exception()) is not None:
        target.set_exception(error)
    else:
        target.set_result(done.result())


def _answer(asked: _Asked) -> Text | LineFailed:
    try:
        return joined([(future.result(), gap) for future, gap in asked.pieces])
    except Exception as error:
        return LineFailed(error)


def joined(pieces: Sequence[tuple[Text, bool]]) -> Text:
    """The pieces of a line as one; its confidence is the mean over its characters.

    A blank goes between pieces where the cut was a gap between words, unless CJK stands on both sides.
    """
    whole = ""
    gap = False
    for piece, follows in pieces:
        if whole and piece.text and gap and not (_is_wide(whole[-1]) and _is_wide(piece.text[0])):
            whole = f"{whole.rstrip()} {piece.text.lstrip()}"
        else:
            whole += piece.text
        gap = follows
    characters = sum(len(piece.text) for piece, _ in pieces)
    if not whole.strip() or not characters:
        return NOTHING
    return Text(whole.strip(), sum(piece.confidence * len(piece.text) for piece, _ in pieces) / characters)


def _better(known: Text | LineFailed, candidate: Text | LineFailed) -> Text | LineFailed:
    """The surer text; one that lost half of the other's characters isn't surer, it is shorter."""
    if isinstance(candidate, LineFailed):
        return known
    if isinstance(known, LineFailed):
        return candidate
    if len(candidate.text) * 2 < len(known.text):
        return known
    return candidate if candidate.confidence > known.confidence else known


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"
