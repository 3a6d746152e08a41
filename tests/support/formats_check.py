"""Exports against the libraries that define their formats: docling-core and hocr-spec.

docling-core wants an older typer than docfleet does, so both live in an environment of their own, locked in `formats/` and made on first use
(some 10 s and 170 MB); see `tests.support.tools_env`.

As a command, for every parsed document below some folders: `./dev run python -m tests.support.formats_check FOLDER...`; exit code 1
where one is refused.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from docfleet import exports
from docfleet.exporters import FORMATS, Name
from shared.contracts.errors import DocfleetError
from shared.settings import Limits
from tests.support.tools_env import environment

FOLDER = Path(__file__).with_name("formats")
HOCR_PAGES = 20
"""Pages of a document up to which its hOCR is checked: on 142 pages hocr-spec did not end within five minutes."""
CHECKED: tuple[Name, ...] = ("docling", "hocr")


def validated(files: Sequence[Path]) -> list[dict[str, Any]]:
    """What the validators say, a file each in order: `ok`, `said` (why not), `facts`. Raises `Missing`."""
    done = subprocess.run(
        [str(environment(FOLDER)), str(FOLDER / "validate.py")],
        input="".join(f"{file}\n" for file in files),
        capture_output=True,
        text=True,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(files), done.stderr[-2000:]
    return answers


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="parsed documents, or folders that hold some")
    parsed = sorted({path for one in parser.parse_args().folders for path in (_below(one) if one.is_dir() else [one])})
    refused = 0
    with tempfile.TemporaryDirectory() as temporary:
        targets = []
        for index, path in enumerate(parsed):
            document = exports.read(path)
            for name in CHECKED:
                if name == "hocr" and len(document.pages) > HOCR_PAGES:
                    print(f"{path} {name}: not checked, {len(document.pages)} pages are too many for hocr-spec")
                    continue
                target = Path(temporary) / f"{index}-{path.stem}{FORMATS[name].suffix}"
                try:
                    target.write_bytes(exports.export(exports.Given(document), name, Limits()))
                except DocfleetError as error:
                    print(f"{path} {name}: not made, {error.message}")
                    continue
                targets.append((path, name, target))
        for (path, name, _), answer in zip(targets, validated([t for _, _, t in targets]), strict=True):
            refused += not answer["ok"]
            print(f"{path} {name}: {'ok' if answer['ok'] else answer['said']}")
    print(f"{len(parsed)} documents, {len(targets)} exports, {refused} refused")
    return 1 if refused or not parsed else 0


def _below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*.json") if '"docfleet.parsed_document"' in path.read_text("utf-8")]


if __name__ == "__main__":
    sys.exit(main())
