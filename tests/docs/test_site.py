"""The site builds without a warning: every link and every anchor leads somewhere, every page is in the navigation."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.conftest import without
from tests.docs.fences import ROOT
from tests.support import docs_site
from tests.support.processes import Missing

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    try:
        done = docs_site.mkdocs("build", "--strict", "--site-dir", str(folder))
    except Missing as missing:
        without(missing)
    assert done.returncode == 0, done.stderr
    return folder


class _Sources(HTMLParser):
    """What a page loads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        if tag in ("script", "img", "iframe") and names.get("src"):
            self.found.append(str(names["src"]))
        if tag == "link" and names.get("rel") in ("stylesheet", "preconnect", "preload") and names.get("href"):
            self.found.append(str(names["href"]))


def test_every_page_is_on_the_site_and_loads_nothing_from_elsewhere(site):
    written = {page.relative_to(ROOT / "docs").with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")}
    assert {Path("reference/cli.html"), Path("tutorial.html"), Path("index.html")} <= written
    for name in written:
        reader = _Sources()
        reader.feed((site / name).read_text(encoding="utf-8"))
        assert reader.found
        assert not [source for source in reader.found if re.match(r"(?:https?:)?//", source)], name


def test_machine_readable_references_are_on_the_site(site):
    assert (site / "reference" / "asyncapi.json").stat().st_size > 10_000
    assert (site / "reference" / "schemas" / "parsed_document.json").exists()


def test_links_that_lead_nowhere_stop_the_build(tmp_path):
    (tmp_path / "docs" / ".hooks").mkdir(parents=True)
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    shutil.copy(ROOT / "docs" / ".hooks" / "links.py", tmp_path / "docs" / ".hooks")
    page = "# Index\n\n[a](no-such-page.md) [b](index.md#no-such-anchor) [c](../no-such-file.py) [d](../mkdocs.yml)\n"
    (tmp_path / "docs" / "index.md").write_text(page)
    try:
        done = docs_site.mkdocs(
            "build", "--strict", "--site-dir", str(tmp_path / "site"), config=tmp_path / "mkdocs.yml"
        )
    except Missing as missing:
        without(missing)
    assert done.returncode != 0
    warnings = [line for line in done.stderr.splitlines() if line.startswith("WARNING")]
    for name in ("no-such-page.md", "no-such-anchor", "no-such-file.py"):
        assert any(name in line for line in warnings), done.stderr
    assert not any("mkdocs.yml" in line for line in warnings)
