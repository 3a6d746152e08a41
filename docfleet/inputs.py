"""Which files a command line means, and what their results are called.

A folder gives the files below it that have the suffix of a document, by path, without what an earlier run wrote there;
a file that is named is always taken, its type is found out from its content later. The result of
`folder/a/report.pdf` is called `a/report` when the folder was named, `report` when the file was.
Results never overwrite each other: where two inputs would have the same name (letter case aside), all of them keep their suffix
(`report.pdf`, `report.png`), and what is still equal is numbered (`report.pdf-2`).
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SUFFIXES = frozenset({".pdf", ".docx", ".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".jp2"})
"""Suffixes of the files taken out of a folder, lower case."""
OVERLAYS, SEARCHABLE = ".overlays", ".searchable.pdf"
"""What a result is called beside `NAME.json` that could be taken for a document: a folder of pictures, a PDF."""
NAME_BYTES = 200
"""Of the last part of a result's name: a file system has 255, and a result adds up to `.content_list.json.part` and a number."""


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
    """Files of a command line. Hidden files and folders are passed over.

    Raises `FileNotFoundError` for a path that is not there, `OSError` for one that is neither file nor folder or cannot be looked at.
    """
    wanted = frozenset(suffixes)
    files: dict[Path, Path] = {}
    left_out = 0
    for path in paths:
        if path.is_dir():
            for file in sorted(_below(path)):
                relative = file.relative_to(path)
                if file.suffix.lower() in wanted:
                    files.setdefault(file.resolve(), relative)
                else:
                    left_out += 1
        elif path.exists():
            if not path.is_file():
                raise OSError(errno.EINVAL, "neither a file nor a folder", str(path))
            files.setdefault(path.resolve(), Path(path.name))
        else:
            raise FileNotFoundError(str(path))
    names = unique_names(list(files.values()))
    return Found([Input(file, name) for file, name in zip(files, names, strict=True)], left_out)


def _below(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        names = {name for name in (*folders, *files) if not name.startswith(".")}
        wanted = {name for name in names if not is_result(name, names)}
        folders[:] = [name for name in folders if name in wanted]
        yield from (path for name in files if name in wanted and (path := Path(place, name)).is_file())


def is_result(name: str, names: Collection[str]) -> bool:
    """Whether a file or folder is the result of an earlier run that could be taken for a document; `names` are those in its folder."""
    return any(
        name.endswith(suffix) and name.removesuffix(suffix) + ".json" in names for suffix in (OVERLAYS, SEARCHABLE)
    )


def unique_names(relative: Sequence[Path]) -> list[str]:
    """A name for each relative path, all different also where letter case does not count."""
    bare = [_cut(path.with_suffix("")).as_posix() for path in relative]
    count = Counter(name.casefold() for name in bare)
    names: list[str] = []
    taken: set[str] = set()
    # Names nobody disputes first, so that a numbered one never takes them.
    undisputed = {name.casefold() for name in bare if count[name.casefold()] == 1}
    for path, name in zip(relative, bare, strict=True):
        if count[name.casefold()] > 1:
            full, number = _cut(path.with_suffix(""), path.suffix).as_posix(), 1
            name = full
            while name.casefold() in taken | undisputed:
                number += 1
                name = f"{full}-{number}"
        taken.add(name.casefold())
        names.append(name)
    return names


def _cut(path: Path, suffix: str = "") -> Path:
    """A path whose last part leaves room for the suffixes of results; `suffix` is put behind it."""
    room = NAME_BYTES - len(os.fsencode(suffix))
    if room <= 0:
        return _cut(path.with_name(path.name + suffix))
    name = path.name
    while len(os.fsencode(name)) > room:
        name = name[:-1]
    return path.with_name(name + suffix)
