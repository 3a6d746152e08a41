"""Every alert fires where it should and is silent beside that, says what to do, and every expression is one that Prometheus takes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import without
from tests.observability.material import DASHBOARDS, ROOT, RULES, alerts, panels
from tests.support.processes import Missing
from tests.support.prometheus import program

pytestmark = pytest.mark.integration

EXAMPLES = yaml.safe_load((Path(__file__).parent / "alerts.yaml").read_text())
SECTIONS = ["What it means", "What to look at", "What to do"]


@pytest.fixture(scope="session")
def promtool() -> str:
    try:
        return program("promtool")
    except Missing as missing:
        without(missing)


def run(promtool: str, *arguments: str) -> None:
    done = subprocess.run([promtool, *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"


def test_every_rule_parses(promtool):
    run(promtool, "check", "rules", *map(str, RULES))


def test_every_query_of_a_dashboard_parses(promtool, tmp_path):
    queries = [(f"{path.stem}: {title}", expr) for path in DASHBOARDS for title, expr in panels(path)]
    assert len(queries) > 40
    rules = [
        {"record": f"panel:{number}", "expr": expr.replace("$__rate_interval", "5m"), "labels": {"panel": title}}
        for number, (title, expr) in enumerate(queries)
    ]
    written = tmp_path / "panels.yaml"
    written.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    run(promtool, "check", "rules", str(written))


def test_every_alert_has_a_firing_and_a_silent_example():
    assert sorted(EXAMPLES) == sorted(alerts())
    for name, example in EXAMPLES.items():
        assert set(example) == {"firing", "silent"}, name
        assert example["firing"]["labels"], name


def _case(name: str, rule: dict[str, Any], example: dict[str, Any]) -> dict[str, Any]:
    """An example as promtool wants it."""
    expected = [
        {"exp_labels": {**labels, **rule["labels"]}, "exp_annotations": rule["annotations"]}
        for labels in example.get("labels", [])
    ]
    series = [{"series": series, "values": values} for series, values in example["series"].items()]
    test = {"eval_time": example["at"], "alertname": name, "exp_alerts": expected}
    return {"interval": "1m", "input_series": series, "alert_rule_test": [test]}


@pytest.mark.parametrize("kind", ["firing", "silent"])
def test_the_examples_come_out_as_they_say(promtool, tmp_path, kind):
    rules = alerts()
    cases = [_case(name, rules[name], example[kind]) for name, example in EXAMPLES.items()]
    written = tmp_path / "examples.yaml"
    written.write_text(
        yaml.safe_dump({"rule_files": [str(path) for path in RULES], "evaluation_interval": "1m", "tests": cases})
    )
    run(promtool, "test", "rules", str(written))


def test_an_example_that_does_not_come_out_is_found(promtool, tmp_path):
    """The check itself: every firing example, told to be silent, is a failure that promtool names."""
    rules = alerts()
    for name, example in EXAMPLES.items():
        written = tmp_path / f"{name}.yaml"
        case = _case(name, rules[name], {**example["firing"], "labels": []})
        written.write_text(
            yaml.safe_dump({"rule_files": [str(path) for path in RULES], "evaluation_interval": "1m", "tests": [case]})
        )
        done = subprocess.run([promtool, "test", "rules", str(written)], capture_output=True, text=True, check=False)
        assert done.returncode != 0, name


def test_every_alert_has_a_severity_and_a_page_that_says_what_to_do():
    pages = {path.stem: path for path in (ROOT / "docs/runbooks").glob("Docfleet*.md")}
    rules = alerts()
    assert sorted(pages) == sorted(rules)
    for name, rule in rules.items():
        assert rule["labels"]["severity"] in ("warning", "critical"), name
        assert rule["annotations"]["runbook"] == f"docs/runbooks/{name}.md"
        text = pages[name].read_text()
        assert text.startswith(f"# {name}\n"), name
        assert re.findall(r"(?m)^## (.+)$", text) == SECTIONS, name
        assert rule["annotations"]["summary"] in text, f"{name}: its page begins with the sentence of the alert"
        index = (ROOT / "docs/runbooks/index.md").read_text()
        assert f"({name}.md)" in index, name
