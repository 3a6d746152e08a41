"""Lock files as pip reads them: which version and which hashes of a package."""

from __future__ import annotations

import re
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LINUX = {
    "sys_platform": "linux",
    "platform_system": "Linux",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "implementation_name": "cpython",
    "python_version": "3.11",
    "python_full_version": "3.11.9",
    "extra": "",
}
"""What a marker is asked about: the images."""


class Pin:
    """One package of a lock."""

    def __init__(self, text: str) -> None:
        head, *rest = re.split(r"\s+--hash=", text)
        self.requirement = Requirement(head)
        self.name = canonicalize_name(self.requirement.name)
        self.version = str(self.requirement.specifier)
        self.hashes = frozenset(rest)

    def on_linux(self) -> bool:
        return self.requirement.marker is None or self.requirement.marker.evaluate(LINUX)


def pins(path: Path) -> dict[str, Pin]:
    """The packages of a lock by name. Names are normalised."""
    text = re.sub(r"\\\n\s*", " ", re.sub(r"^\s*#.*\n", "", path.read_text(), flags=re.MULTILINE))
    found = (Pin(line.strip()) for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    return {pin.name: pin for pin in found}
