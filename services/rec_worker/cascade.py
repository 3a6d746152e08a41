"""Two networks that read as one: the draft reads every crop, the reader the places of which the draft is not sure.

The draft knows a third of the characters and costs a fifth. What counts is its least sure character, not the mean: a character it does not
know comes out as another, with little confidence, among many of which it is sure. On 1,116 lines of generated scans (14,610 characters, cut at
their true boxes) the reader alone made 297 errors, the draft alone 315, both together with a floor of 0.6 made 289, in half of the time; with 0.5
it was 292 in a quarter, but real photos and receipts were read worse than by the reader alone.
Where a line's doubts are few and stand apart, only their places are read again (`doubts`); where many characters are less than sure, all of it.
A short line is read by the reader alone: of some characters, as a table's cells have them, the draft is sure and wrong (4.939 for 4,939 with 0.95
and more, Chinese characters for Japanese ones). Of 774 cells of four scanned tables the draft read 66 wrong and the reader 9. Running text has few
lines that short.
A crop's text still depends on nothing but the crop.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from services.rec_worker.call import Looks
from services.rec_worker.crops import Pixels
from services.rec_worker.doubts import SHORT, Place, is_sparse, is_strange, places, spliced
from shared.contracts.codec import sha256
from shared.contracts.document import ModelRef
from shared.models.ctc import Letter, Line
from shared.models.pictures import Planes
from shared.models.reader import Reader


class Cascade:
    """Reads batches of crops at the model's height (`inference.BatchReader`). May be called by many threads."""

    def __init__(self, reader: Reader, draft: Reader | None, floor: float) -> None:
        """Without a `draft` the reader reads alone. `floor` 0..1: see `rec.draft_confidence`."""
        self._reader = reader
        self._draft = draft
        self._floor = floor
        self._counting = threading.Lock()
        self._looks = Looks()

    @property
    def ref(self) -> ModelRef:
        """The reader; or both, as one model with a name, version and hash of its own."""
        ref = self._reader.ref
        if self._draft is None:
            return ref
        draft = self._draft.ref
        return ModelRef(
            stage=ref.stage,
            name=f"{draft.name}+{ref.name}",
            version=f"{draft.version}+{ref.version}@{self._floor:g}/{SHORT}",
            sha256=sha256(f"{draft.sha256}{ref.sha256}".encode()),
        )

    def read(self, crops: Sequence[Pixels], bucket: int) -> list[tuple[str, float]]:
        """Text and confidence (0..1) of each crop, padded to `bucket` px."""
        # The crops were scaled, and squeezed, when they were cut: here they are only normalised and padded.
        planes = [self._reader.prepare(crop, bucket, squeeze=1.0) for crop in crops]
        if self._draft is None:
            return [line[:2] for line in self._reader.read(planes, bucket)]
        short = [number for number, crop in enumerate(crops) if crop.shape[1] < SHORT]
        long = [number for number, crop in enumerate(crops) if crop.shape[1] >= SHORT]
        read: dict[int, Line] = {}
        if short:
            lines = self._reader.read([planes[number] for number in short], bucket)
            read.update(zip(short, lines, strict=True))
        if long:
            lines = self._read_twice(
                self._draft, [crops[number] for number in long], [planes[number] for number in long], bucket
            )
            read.update(zip(long, lines, strict=True))
        return [read[number][:2] for number in range(len(crops))]

    def _read_twice(self, draft: Reader, crops: Sequence[Pixels], planes: Sequence[Planes], bucket: int) -> list[Line]:
        """Lines by the draft, with what it is not sure of by the reader."""
        lines = draft.read(planes, bucket)
        unknown = {
            number
            for number, line in enumerate(lines)
            if is_strange(line.letters) or is_sparse(line.letters, crops[number])
        }
        doubtful = [number for number, line in enumerate(lines) if line.weakest < self._floor or number in unknown]
        cut = {
            number: places(lines[number].letters, crops[number], self._floor)
            for number in doubtful
            if number not in unknown
        }
        parts = self._in_places(lines, crops, {number: found for number, found in cut.items() if found})
        lines = [parts.get(number, line) for number, line in enumerate(lines)]
        whole = [number for number in doubtful if number not in parts]
        if whole:
            again = self._reader.read([planes[number] for number in whole], bucket)
            for number, line in zip(whole, again, strict=True):
                lines[number] = line
        with self._counting:
            self._looks += Looks(len(crops) - len(doubtful), len(parts), len(whole))
        return lines

    def _in_places(
        self, lines: Sequence[Line], crops: Sequence[Pixels], cut: Mapping[int, Sequence[Place]]
    ) -> dict[int, Line]:
        """Lines whose doubtful places were read again, by their number; those whose cuts turned out wrong are left out."""
        asked: dict[int, list[tuple[int, int]]] = {}
        readings: dict[int, list[Sequence[Letter]]] = {number: [()] * len(found) for number, found in cut.items()}
        for number, found in cut.items():
            for at, place in enumerate(found):
                asked.setdefault(self._reader.width_of_drawn(place.right - place.left), []).append((number, at))
        for bucket, those in asked.items():
            planes = []
            for number, at in those:
                place = cut[number][at]
                planes.append(self._reader.prepare(crops[number][:, place.left : place.right], bucket, squeeze=1.0))
            for (number, at), line in zip(those, self._reader.read(planes, bucket), strict=True):
                readings[number][at] = line.letters
        joined = {number: spliced(lines[number].letters, cut[number], read) for number, read in readings.items()}
        return {number: Line.of(letters) for number, letters in joined.items() if letters is not None}

    def looks(self) -> Looks:
        """What was counted since the last time somebody asked."""
        with self._counting:
            looks, self._looks = self._looks, Looks()
        return looks

    def warm(self) -> None:
        """Run both once."""
        for reader in (self._reader, self._draft):
            if reader is not None:
                reader.warm()
