"""The compose file as its tests look at it: variables put in, an override laid over it, the way Docker Compose does it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docker-compose.yml"


def loaded(*overrides: str, variables: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The file, with the `overrides` (paths from the root) laid over it in turn."""
    found = _one(FILE, variables or {})
    for name in overrides:
        over = _one(ROOT / name, variables or {})
        for service, says in over["services"].items():
            found["services"].setdefault(service, {}).update(says)
    return found


def _one(path: Path, variables: Mapping[str, str]) -> dict[str, Any]:
    return dict(_filled(yaml.safe_load(path.read_text()), variables))


def _filled(value: Any, variables: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(one, variables) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, variables) for one in value]
    if isinstance(value, str):
        return re.sub(r"\$\{(\w+):-([^}]*)\}", lambda found: variables.get(found[1]) or found[2], value)
    return value


def used_variables() -> dict[str, str]:
    """Every variable of the file and its overrides, with its default."""
    text = "".join(path.read_text() for path in [FILE, *sorted((ROOT / "docker").glob("compose.*.yml"))])
    return dict(re.findall(r"\$\{(\w+):-([^}]*)\}", text))


def seconds(text: str) -> float:
    """`45s`, `1m30s` in seconds."""
    return sum(
        float(number) * {"h": 3600, "m": 60, "s": 1}[unit] for number, unit in re.findall(r"([\d.]+)([hms])", text)
    )


def bytes_of(text: str) -> int:
    """`512m`, `2g` in bytes."""
    return int(text[:-1]) * {"k": 2**10, "m": 2**20, "g": 2**30}[text[-1]]
