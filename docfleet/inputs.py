"""Which files a command line means, and what their results are called.

A folder gives the files below it that have the suffix of a document, by path; a file that is named is always taken, its type is
found out from its content later. The result of `folder/a/report.pdf` is called `a/report` when the folder was named, `report` when the file was.
Results never overwrite each other: where two inputs would have the same name (letter case aside), all of them keep their suffix
(`report.pdf`, `report.png`), and what is still equal is numbered (`report.pdf-2`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

SUFFIXES = frozenset({".pdf", ".docx", ".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".jp2"})
"""Suffixes of the files taken out of a folder, lower case."""


@dataclass(frozen=True)
class Input:
    """A file to parse; `name` is the path of its results below the output folder, without suffix, parts separated by `/`."""

    path: Path
    name: str


@dataclass(frozen=True)
class Found:
    """The inputs in order, each once, and how many files of folders were left out for their suffix."""

    inputs: list[Input]
    left_out: int


def find(paths: Sequence[Path], suffixes: Iterable[str] = SUFFIXES) -> Found:
    """Files of a command line. Hidden files and folders are passed over. Raises `FileNotFoundError` for a path that is not there."""
    wanted = frozenset(suffixes)
    files: dict[Path, Path] = {}
    left_out = 0
    for path in paths:
        if path.is_dir():
            for file in sorted(path.rglob("*")):
                relative = file.relative_to(path)
                if any(part.startswith(".") for part in relative.parts) or not file.is_file():
                    continue
                if file.suffix.lower() in wanted:
                    files.setdefault(file.resolve(), relative)
                else:
                    left_out += 1
        elif path.exists():
            files.setdefault(path.resolve(), Path(path.name))
        else:
            raise FileNotFoundError(str(path))
    names = unique_names(list(files.values()))
    return Found([Input(file, name) for file, name in zip(files, names, strict=True)], left_out)


def unique_names(relative: Sequence[Path]) -> list[str]:
    """A name for each relative path, all different also where letter case does not count."""
    bare = [path.with_suffix("").as_posix() for path in relative]
    count = Counter(name.casefold() for name in bare)
    names: list[str] = []
    taken: set[str] = set()
    # Names nobody disputes first, so that a numbered one never takes them.
    undisputed = {name.casefold() for name in bare if count[name.casefold()] == 1}
    for path, name in zip(relative, bare, strict=True):
        if count[name.casefold()] > 1:
            full, number = path.as_posix(), 1
            name = full
            while name.casefold() in taken | undisputed:
                number += 1
                name = f"{full}-{number}"
        taken.add(name.casefold())
        names.append(name)
    return names
