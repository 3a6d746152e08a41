"""The kinds of documents there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple

from samples.generator.flow import Flow
from samples.generator.furniture import Furniture, drawn_furniture
from samples.generator.style import Style
from samples.generator.templates import forms, gallery, journal, letters, lists, news, prose, tabular, upright

EVERY = ("en", "de", "zh", "ja")


class Template(NamedTuple):
    """How one kind is made: `draw(flow, rng)` fills the pages."""

    name: str
    draw: Callable[[Flow, Random], None]
    languages: tuple[str, ...] = EVERY
    looks: Mapping[str, Any] = MappingProxyType({})
    """Arguments of `drawn_style`."""
    furnished: bool = True
    furniture: Callable[[Random, Style], Furniture] = drawn_furniture


TEMPLATES = (
    Template("report", prose.report),
    Template("paper", prose.paper, looks={"columns": 2, "size": (8.5, 10.0)}),
    Template("newspaper", news.newspaper, looks={"columns": 3, "size": (7.5, 9.5), "page": "tabloid"}),
    Template("form", forms.form, looks={"size": (9.0, 11.0)}),
    Template("letter", letters.letter, furnished=False),
    Template("invoice", letters.invoice, looks={"size": (9.0, 10.5)}, furnished=False),
    Template("tables", tabular.tables_page),
    Template("lists", lists.lists),
    Template("vertical", upright.vertical, languages=("zh", "ja"), looks={"size": (10.5, 13.0)}),
    Template("mixed", prose.mixed, languages=("zh", "ja")),
    Template("notes", prose.notes),
    Template("sidenotes", prose.side_notes, languages=("en", "de", "zh")),
    Template("ledger", tabular.ledger, looks={"size": (8.0, 10.5)}),
    Template("official", letters.official, languages=("zh",), looks={"size": (12.0, 15.0), "page": "a4"}),
    Template("manual", prose.manual, languages=("en", "de", "zh")),
    Template("gallery", gallery.gallery),
    Template("smallprint", prose.small_print, looks={"columns": 2, "size": (6.5, 7.5)}),
    Template("large", prose.large, looks={"size": (16.0, 20.0)}),
    Template("contents", lists.contents),
    Template("journal", journal.journal, looks={"columns": 2, "size": (8.0, 9.5)}, furniture=journal.counting),
)
