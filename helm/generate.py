"""Writes what the chart takes from elsewhere in the repository; `./dev schemas` runs it, a test checks that it was run.

`values.schema.json`: `values.schema.base.json`, and the settings as shared/settings/ has them, without its secrets.
`README.md`: the table of values, from the comments of `values.yaml` that begin with `# --`.
`files/topics.yaml`, `files/rules/`, `files/dashboards/`: copies; a chart cannot read what lies outside of its folder.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
CHART = ROOT / "helm" / "docfleet"
README = """# docfleet

<!-- Written by `./dev schemas` from values.yaml; edit that. -->

The fleet on Kubernetes: one Deployment a stage, a StatefulSet for the join, topics, autoscaling, maintenance.
How to install, watch and upgrade it: [docs/operations/kubernetes.md](../../docs/operations/kubernetes.md).
How many pods of what: [docs/scaling.md](../../docs/scaling.md).

```sh
helm install docfleet helm/docfleet \\
  --set settings.kafka.bootstrap_servers=kafka:9092 \\
  --set settings.objects.endpoint=minio:9000 \\
  --set objects.existingSecret=docfleet-s3
```

## Values

| Value | Default | Meaning |
|---|---|---|
"""


def files() -> dict[Path, str]:
    """Every generated file below the chart, with its text."""
    found = {
        CHART / "values.schema.json": schema(),
        CHART / "README.md": readme((CHART / "values.yaml").read_text("utf-8")),
        CHART / "files" / "topics.yaml": (ROOT / "topics.yaml").read_text("utf-8"),
    }
    for kind, pattern in (("rules", "*.yaml"), ("dashboards", "*.json")):
        for path in sorted((ROOT / "observability" / kind).glob(pattern)):
            found[CHART / "files" / kind / path.name] = path.read_text("utf-8")
    return found


def stale() -> list[Path]:
    """Copies whose original is gone."""
    kept = set(files())
    return [path for kind in ("rules", "dashboards") for path in (CHART / "files" / kind).glob("*") if path not in kept]


def schema() -> str:
    """values.schema.json."""
    from shared.settings import Settings, Stage

    base = json.loads((CHART.parent / "values.schema.base.json").read_text("utf-8"))
    given = Settings.model_json_schema()
    definitions = given.pop("$defs")
    definitions["Stage"] = Stage.model_json_schema()
    definitions["Settings"] = given | {"additionalProperties": False}
    base["$defs"] |= {name: _plain(one) for name, one in definitions.items()}
    return json.dumps(base, indent=1, ensure_ascii=False) + "\n"


def _plain(node: Any) -> Any:
    """A schema without secrets, and without defaults and titles: values.yaml has its own, and some depend on the machine."""
    if isinstance(node, list):
        return [_plain(one) for one in node]
    if not isinstance(node, dict):
        return node
    kept = {}
    for key, value in node.items():
        if key in ("default", "title", "format") and not isinstance(value, dict):
            continue
        if key in ("default", "required"):
            continue
        if key == "properties":
            value = {name: one for name, one in value.items() if "writeOnly" not in json.dumps(one)}
        kept[key] = _plain(value)
    return kept


def readme(values: str) -> str:
    """The chart's README from the text of values.yaml."""
    rows = [
        f"| `{path}` | {_cell(default)} | {_cell(meaning, code=False)} |" for path, default, meaning in _rows(values)
    ]
    return README + "\n".join(rows) + "\n"


def _rows(values: str) -> list[tuple[str, str, str]]:
    """(path, default, meaning) of every value with a `# --` comment, and of those that follow it without one."""
    tree = yaml.safe_load(values)
    rows: list[tuple[str, str, str]] = []
    above: list[tuple[int, str]] = []
    comment: list[str] = []
    for line in values.splitlines():
        if found := re.match(r"\s*# ?(-- )?(.*)", line):
            comment = [found[2]] if found[1] else [*comment, found[2]] if comment else []
        elif found := re.match(r"( *)([A-Za-z_]\w*):", line):
            depth, key = len(found[1]), found[2]
            above = [(d, k) for d, k in above if d < depth] + [(depth, key)]
            path = [k for _, k in above]
            value = tree
            for step in path:
                value = value[step]
            inline = line.split(":", 1)[1].strip()
            if inline or comment:
                shown = "" if isinstance(value, dict) and not inline else json.dumps(value, ensure_ascii=False)
                rows.append((".".join(path), shown, " ".join(comment)))
            comment = []
        elif not line.strip():
            comment = []
    return rows


def _cell(text: str, code: bool = True) -> str:
    text = text.replace("|", "\\|")
    return f"`{text}`" if code and text else text


def main() -> int:
    for path in stale():
        path.unlink()
    for path, text in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
