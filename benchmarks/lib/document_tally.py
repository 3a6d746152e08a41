"""What the document benchmark counts, of a document or of many, and the figures made of it; `document_score` has the rules."""

from __future__ import annotations

from collections import Counter

import msgspec


class Pair(msgspec.Struct):
    """Things of the truth, things found, and those of either that have their counterpart."""

    true: int = 0
    found: int = 0
    hit: int = 0
    """Of `true`."""
    right: int = 0
    """Of `found`."""

    @property
    def recall(self) -> float | None:
        return self.hit / self.true if self.true else None

    @property
    def precision(self) -> float | None:
        return self.right / self.found if self.found else None

    @property
    def f1(self) -> float | None:
        """1 would be a claim where there is nothing: none there."""
        if not self.true and not self.found:
            return None
        recall, precision = self.recall or 0.0, self.precision or 0.0
        return 2 * recall * precision / (recall + precision) if recall + precision else 0.0

    def add(self, other: Pair) -> None:
        """Add another's counts."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Tally(msgspec.Struct):
    """Counts that add up."""

    pages: int = 0
    headings: Pair = msgspec.field(default_factory=Pair)
    levels: Pair = msgspec.field(default_factory=Pair)
    """Only `true` (headings found) and `hit` (with the right level)."""
    furniture: Pair = msgspec.field(default_factory=Pair)
    paragraphs: Pair = msgspec.field(default_factory=Pair)
    items: Pair = msgspec.field(default_factory=Pair)
    """List items: a unit that is one block with that label."""
    depths: Pair = msgspec.field(default_factory=Pair)
    """Only `true` (list items found) and `hit` (nested as deep)."""
    captions: Pair = msgspec.field(default_factory=Pair)
    """Only `true` and `hit`: tied to their own table or picture."""
    notes: Pair = msgspec.field(default_factory=Pair)
    """Only `true` and `hit`: tied to what carries their mark."""
    cut: Pair = msgspec.field(default_factory=Pair)
    """Only `true` and `hit`: paragraphs over columns or pages that are one block."""
    cells: Pair = msgspec.field(default_factory=Pair)
    tables: Pair = msgspec.field(default_factory=Pair)
    characters: int = 0
    errors: int = 0
    """Edits between the true text of the body and the one found."""
    elements: int = 0
    moved: int = 0
    """Edits between the true and the found sequence of a page's elements."""
    faults: Counter[str] = msgspec.field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Add another's counts."""
        for name in self.__struct_fields__:
            mine, theirs = getattr(self, name), getattr(other, name)
            if isinstance(mine, Pair):
                mine.add(theirs)
            elif isinstance(mine, Counter):
                mine.update(theirs)
            else:
                setattr(self, name, mine + theirs)

    @property
    def cer(self) -> float | None:
        """Character error rate of the body in its order, a share."""
        return self.errors / self.characters if self.characters else None

    @property
    def order(self) -> float | None:
        """Reading order: 1 is right, 0 has nothing in its place."""
        return 1 - self.moved / self.elements if self.elements else None
