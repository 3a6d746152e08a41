"""A folder of documents with exact truth (`NAME.pdf`, `NAME.json`, `metrics.py`), such as ../shared/bench."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.lib.machine import ROOT

FOLDER = ROOT.parent / "shared" / "bench"


class Document(NamedTuple):
    """A document and what it says."""

    pdf: Path
    truth: Path
    pages: int

    @property
    def name(self) -> str:
        return self.pdf.stem


class Score(NamedTuple):
    """Error rates in per cent of `characters` true characters; `line` and `bag` as metrics.py defines them."""

    characters: int
    line: float
    bag: float


def documents(folder: Path, pattern: str = "*_scan.pdf") -> list[Document]:
    """The documents of a folder that match and have a truth, by name."""
    found = []
    for pdf in sorted(folder.glob(pattern)):
        truth = pdf.with_suffix(".json")
        if truth.exists():
            found.append(Document(pdf, truth, len(json.loads(truth.read_text(encoding="utf-8")))))
    return found


def metrics(folder: Path) -> Any:
    """The folder's own `metrics` module."""
    spec = importlib.util.spec_from_file_location("bench_metrics", folder / "metrics.py")
    if spec is None or spec.loader is None:
        raise FileNotFoundError(folder / "metrics.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def score(module: Any, document: Document, texts: Sequence[str]) -> Score:
    """Error rates of one text per page; pages that are missing at the end count as empty."""
    padded = [*texts, *[""] * (document.pages - len(texts))][: document.pages]
    found = module.score(str(document.truth), padded)
    return Score(found["chars"], found["cer_line"], found["cer_bag"])


def together(scores: Sequence[Score]) -> Score:
    """Error rates over several documents, weighted by their characters."""
    total = sum(one.characters for one in scores)
    if total == 0:
        return Score(0, 0.0, 0.0)
    line = sum(one.line * one.characters for one in scores) / total
    bag = sum(one.bag * one.characters for one in scores) / total
    return Score(total, line, bag)
