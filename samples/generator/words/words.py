"""A language's sources of text. Every choice is the given random generator's, so that a seed gives the same text."""

from __future__ import annotations

from random import Random
from typing import NamedTuple


class Words(NamedTuple):
    """Lists to draw from and the forms that name parts of a document."""

    code: str
    han: bool
    """Set without blanks between words."""
    sentences: tuple[str, ...]
    """Patterns with `{thing}`, `{other}`, `{place}`, `{person}`, `{number}`, `{quality}`."""
    things: tuple[str, ...]
    places: tuple[str, ...]
    persons: tuple[str, ...]
    qualities: tuple[str, ...]
    headings: tuple[str, ...]
    """Patterns too."""
    cells: tuple[str, ...]
    columns: tuple[str, ...]
    """Heads of table columns."""
    fields: tuple[str, ...]
    """Names of form fields."""
    page: str
    """Pattern of a page number, with `{n}` and `{total}`."""
    table: str
    figure: str
    references: str
    appendix: str
    contents: str

    def sentence(self, rng: Random) -> str:
        """One sentence."""
        return self._filled(rng.choice(self.sentences), rng)

    def paragraph(self, rng: Random, sentences: int) -> str:
        """So many sentences."""
        return ("" if self.han else " ").join(self.sentence(rng) for _ in range(sentences))

    def heading(self, rng: Random) -> str:
        """A heading without number or full stop."""
        return self._filled(rng.choice(self.headings), rng)

    def caption(self, rng: Random, kind: str, number: int) -> str:
        """`Table 3: …`; `kind` is `table` or `figure`."""
        name = self.table if kind == "table" else self.figure
        return name.format(n=number) + self.heading(rng)

    def _filled(self, pattern: str, rng: Random) -> str:
        text = pattern.format(
            thing=rng.choice(self.things),
            other=rng.choice(self.things),
            place=rng.choice(self.places),
            person=rng.choice(self.persons),
            quality=rng.choice(self.qualities),
            number=rng.randint(2, 980),
        )
        return text[0].upper() + text[1:]
