"""Pictures of the pages: there, and of things that exist."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from shared.streams.catalog import load
from tests.docs.fences import ROOT, pages

pytestmark = pytest.mark.unit
PICTURES = ROOT / "docs" / "pictures"


def test_the_picture_of_the_architecture_names_all_topics_and_no_others():
    root = ElementTree.parse(PICTURES / "architecture.svg").getroot()  # our own file
    named = {text for element in root.iter() if (text := (element.text or "").strip()).startswith("docs.")}
    used = {topic.name for topic in load().topics if not topic.internal and not topic.name.endswith(".bulk")}
    assert named == used - {"docs.control", "docs.dlq"}  # commands, and what fails: neither is on a document's way


def test_every_picture_is_shown_somewhere():
    text = "".join(page.read_text(encoding="utf-8") for page in pages())
    shown = {name.rpartition("/")[2] for name in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)}
    assert {picture.name for picture in PICTURES.iterdir()} <= shown
