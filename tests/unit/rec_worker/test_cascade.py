"""The draft reads all crops; the reader those of which the draft is not sure, each in its own bucket."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from services.rec_worker.call import Looks
from services.rec_worker.cascade import Cascade
from shared.contracts.document import ModelRef
from shared.models.ctc import Letter, Line

pytestmark = pytest.mark.unit


class Scripted:
    """A reader that says of a crop what is scripted for its first pixel."""

    def __init__(self, name: str, says: dict[int, Line]) -> None:
        self.ref = ModelRef(stage="reader", name=name, version="1", sha256=name * 8)
        self._says = says
        self.read_crops: list[list[int]] = []
        self.buckets: list[int] = []
        self.warmed = False

    def prepare(self, crop: Any, bucket_width: int, squeeze: float) -> Any:
        assert squeeze == 1.0
        return crop

    def width_of_drawn(self, width: int) -> int:
        return -(-width // 64) * 64

    def read(self, crops: Sequence[Any], bucket_width: int) -> list[Line]:
        self.buckets.append(bucket_width)
        self.read_crops.append([int(crop[0, 0, 0]) for crop in crops])
        return [self._says[int(crop[0, 0, 0])] for crop in crops]

    def warm(self) -> None:
        self.warmed = True


def crops(count: int, width: int = 192) -> list[np.ndarray]:
    return [np.full((48, width, 3), number, dtype=np.uint8) for number in range(count)]


def cascade(drafted: list[Line], floor: float = 0.6) -> tuple[Cascade, Scripted, Scripted]:
    reader = Scripted("large", {number: Line(f"large {number}", 0.99, 0.9) for number in range(len(drafted))})
    draft = Scripted("small", dict(enumerate(drafted)))
    return Cascade(reader, draft, floor), reader, draft  # type: ignore[arg-type]


def test_only_what_the_draft_is_not_sure_of_is_read_again() -> None:
    sure, weak = Line("sure", 0.95, 0.6), Line("one weak letter in many", 0.97, 0.59)
    both, reader, draft = cascade([sure, weak, sure, Line("", 0.0, 0.0)])
    assert both.read(crops(4), 192) == [("sure", 0.95), ("large 1", 0.99), ("sure", 0.95), ("large 3", 0.99)]
    assert draft.read_crops == [[0, 1, 2, 3]]
    assert reader.read_crops == [[1, 3]]
    assert reader.buckets == [192]
    assert both.looks() == Looks(none=2, whole=2)
    assert both.looks() == Looks()


def test_a_short_line_is_read_by_the_large_network_however_sure_the_small_one_would_be() -> None:
    """A cell of a table has some digits and a comma; nothing in it tells that from a point but its shape."""
    both, reader, draft = cascade([Line("4.939", 0.99, 0.95), Line("a line of running text", 0.97, 0.9)] * 2)
    mixed = [crops(4, 60)[0], crops(4)[1], crops(4, 191)[2], crops(4)[3]]
    long = ("a line of running text", 0.97)
    assert both.read(mixed, 192) == [("large 0", 0.99), long, ("large 2", 0.99), long]
    assert reader.read_crops == [[0, 2]]
    assert draft.read_crops == [[1, 3]]
    assert both.looks() == Looks(none=2), "what the draft never saw is no draft"
    assert both.read(mixed[:1], 64) == [("large 0", 0.99)]
    assert draft.read_crops == [[1, 3]]


def test_the_reader_is_not_asked_for_nothing() -> None:
    both, reader, _ = cascade([Line("sure", 0.95, 0.9)])
    assert both.read(crops(1), 64) == [("sure", 0.95)]
    assert reader.read_crops == []


def test_without_a_draft_the_reader_reads_alone_under_its_own_name() -> None:
    reader = Scripted("large", {0: Line("large", 0.9, 0.1)})
    alone = Cascade(reader, None, 0.0)  # type: ignore[arg-type]
    assert alone.read(crops(1), 64) == [("large", 0.9)]
    assert alone.ref == reader.ref


def test_the_pair_is_a_model_of_its_own() -> None:
    """Caches and results must tell it from either, and from the pair with another floor."""
    both, reader, draft = cascade([])
    other, _, _ = cascade([], 0.7)
    assert both.ref.name == "small+large"
    assert len({(ref.name, ref.version, ref.sha256) for ref in (both.ref, other.ref, reader.ref, draft.ref)}) == 4


def test_both_are_warmed() -> None:
    both, reader, draft = cascade([])
    both.warm()
    assert reader.warmed
    assert draft.warmed


def words(text: str, doubtful: int, confidence: float = 0.5) -> Line:
    """A line with a letter every two frames, one of them doubtful."""
    letters = [Letter(2 * n, c, confidence if n == doubtful else 0.99) for n, c in enumerate(text)]
    return Line.of(letters)


def drawn(text: str) -> np.ndarray:
    """A crop of such a line: a bar of 10 px around each letter's frame, nothing where there is a space."""
    crop = np.full((48, 16 * len(text), 3), 255, dtype=np.uint8)
    for number, letter in enumerate(text):
        if letter != " ":
            crop[10:38, max(0, 16 * number - 1) : 16 * number + 9] = 0
    crop[0, 0] = 0  # which of the scripted lines it is
    return crop


def test_only_the_word_in_doubt_is_read_again() -> None:
    text = "the quick brovn fox jumps"
    both, reader, _ = cascade([words(text, text.index("v"))])
    reader.read = lambda planes, width: [Line.of([Letter(2 * n, c, 0.9) for n, c in enumerate("brown")])]  # type: ignore[method-assign]
    ((found, confidence),) = both.read([drawn(text)], 448)
    assert found == "the quick brown fox jumps"
    assert confidence == pytest.approx((20 * 0.99 + 5 * 0.9) / 25)
    assert both.looks() == Looks(part=1)


def test_strange_writing_is_read_again_as_a_whole_though_each_character_is_sure_enough() -> None:
    text = "關於劳動契約之终止，極具價值。"
    weak = {2: 0.75, 7: 0.7}
    line = Line.of([Letter(2 * n, c, weak.get(n, 0.99)) for n, c in enumerate(text)])
    both, reader, _ = cascade([line])
    assert both.read([drawn(text)], 256) == [("large 0", 0.99)]
    assert reader.buckets == [256]
    assert both.looks() == Looks(whole=1)


def test_a_sure_letter_with_ink_for_many_is_read_again_as_a_whole() -> None:
    both, _, _ = cascade([words("如", 1)])
    crop = np.tile(np.array([0, 255], dtype=np.uint8).repeat(24)[:, None, None], (1, 192, 3))
    assert both.read([crop], 192) == [("large 0", 0.99)]
    assert both.looks() == Looks(whole=1)


def test_a_cut_that_went_wrong_is_found_out_and_the_line_read_as_a_whole() -> None:
    text = "消费者组把主题的分区分配给组内的成员，并且记录其位置"
    both, reader, _ = cascade([words(text, 6)])
    answers = iter(["组把主是的分", text])  # the last anchor is not there; then the whole line
    widths: list[int] = []

    def read(planes: Sequence[Any], width: int) -> list[Line]:
        widths.append(width)
        return [Line.of([Letter(n, c, 0.9) for n, c in enumerate(next(answers))])]

    reader.read = read  # type: ignore[method-assign]
    assert both.read([drawn(text)], 448)[0][0] == text
    assert widths == [128, 448]
    assert both.looks() == Looks(whole=1)


def test_places_of_many_lines_share_calls_by_their_width() -> None:
    text = "the quick brovn fox jumps"
    both, reader, _ = cascade([words(text, text.index("v"))])
    calls: list[tuple[int, int]] = []

    def read(planes: Sequence[Any], width: int) -> list[Line]:
        calls.append((len(planes), width))
        return [Line.of([Letter(n, c, 0.9) for n, c in enumerate("brown")])] * len(planes)

    reader.read = read  # type: ignore[method-assign]
    both._draft.read = lambda planes, width: [words(text, text.index("v"))] * 3  # type: ignore[method-assign,union-attr]
    assert [found for found, _ in both.read([drawn(text)] * 3, 448)] == ["the quick brown fox jumps"] * 3
    assert calls == [(3, 128)]
