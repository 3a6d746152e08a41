"""A Dockerfile as its tests look at it: stages, and what each of them says."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "docker" / "Dockerfile"


@dataclass
class Stage:
    """One `FROM … AS name`, with its instructions in order: keyword in capitals, and the rest of it on one line."""

    name: str
    base: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def all(self, keyword: str) -> list[str]:
        return [rest for found, rest in self.instructions if found == keyword]


def stages(path: Path = DOCKERFILE) -> dict[str, Stage]:
    """The stages by name. What stands before the first of them is left out."""
    text = "\n".join(line for line in path.read_text().splitlines() if not line.lstrip().startswith("#"))
    found: dict[str, Stage] = {}
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        keyword, _, rest = line.strip().partition(" ")
        if keyword == "FROM":
            base, _, name = rest.partition(" AS ")
            found[name.strip()] = Stage(name.strip(), base.strip())
        elif keyword and found:
            list(found.values())[-1].instructions.append((keyword, rest.strip()))
    return found


def inherited(name: str, keyword: str) -> list[str]:
    """What a stage and those it builds upon say under a keyword, from the first stage to this one."""
    known = stages()
    said: list[str] = []
    stage: Stage | None = known[name]
    while stage is not None:
        said = stage.all(keyword) + said
        stage = known.get(stage.base)
    return said


def arguments(path: Path = DOCKERFILE) -> dict[str, str]:
    """`ARG name=default` before the first stage."""
    head = path.read_text().split("\nFROM ", 1)[0]
    return dict(re.findall(r"^ARG (\w+)=(\S+)$", head, flags=re.MULTILINE))
