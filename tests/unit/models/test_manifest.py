"""Every manifest is complete and says nothing that cannot be."""

from __future__ import annotations

import re
from typing import get_args

import msgspec
import pytest

from shared.contracts.document import Label
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.engines import prepare
from shared.models import layout, lines, orientation, reader, seal, table
from shared.models.manifest import FOLDER, Manifest, manifest, names
from shared.settings import Settings

pytestmark = pytest.mark.unit

MODULES = {"layout": layout, "lines": lines, "reader": reader, "table": table, "seal": seal, "orientation": orientation}


def test_there_is_one_model_per_stage_and_its_module_names_it_and_a_draft_reader() -> None:
    expected = {(stage, module.NAME) for stage, module in MODULES.items()} | {("reader", reader.DRAFT)}
    assert {(entry.stage, entry.name) for entry in map(manifest, names())} == expected


def test_both_readers_take_the_same_crops() -> None:
    assert manifest(reader.DRAFT).input == manifest(reader.NAME).input


@pytest.mark.parametrize("name", names())
def test_a_manifest_is_complete(name: str) -> None:
    entry = manifest(name)
    assert entry.name == name
    files = [entry.network] + ([entry.dictionary] if entry.dictionary else [])
    assert all(re.fullmatch(r"[0-9a-f]{64}", file.sha256) for file in files)
    assert entry.network.member.endswith(".onnx")
    assert entry.licence == "Apache-2.0"
    assert set(entry.prepare) <= prepare.STEPS.keys() | {"split_loop"}
    assert "flush_denormals" in entry.prepare
    assert len(entry.input.shape) == 4
    assert len(entry.input.mean) == len(entry.input.std) == 3
    assert all(0 < value < 1 for value in entry.input.mean + entry.input.std)
    assert entry.ref() == msgspec.structs.replace(entry.ref(), stage=entry.stage, sha256=entry.network.sha256)


@pytest.mark.parametrize("name", names())
def test_every_number_of_the_post_processing_has_a_source_beside_it(name: str) -> None:
    text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    for key in manifest(name).constants:
        line = next(i for i, row in enumerate(text.splitlines()) if row.strip().startswith(f"{key}:"))
        rows = text.splitlines()
        assert "#" in rows[line] or rows[line - 1].strip().startswith("#"), f"{name}: {key}"


def test_layout_labels_are_ours_and_each_class_is_named_once() -> None:
    labels = manifest(layout.NAME).labels
    assert len({entry.raw for entry in labels}) == len(labels) == 10
    assert {entry.label for entry in labels} <= set(get_args(Label))
    assert manifest(layout.NAME).min_confidence == Settings().layout.min_confidence == 0.3


def test_table_tokens_fit_the_network() -> None:
    entry = manifest(table.NAME)
    assert len(entry.values) == len(set(entry.values)) == entry.classes
    assert (entry.values[0], entry.values[-1]) == ("sos", table.END)


def test_any_change_of_meaning_is_another_folder() -> None:
    entry = manifest(lines.NAME)
    other = msgspec.structs.replace(entry, constants={**entry.constants, "unclip": 1.5})
    assert entry.folder() != other.folder()
    assert entry.folder().startswith("ppocrv6-det-small-6-")


def test_unknown_fields_and_labels_are_refused() -> None:
    raw = msgspec.to_builtins(manifest(layout.NAME))
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**raw, "colour": "red"}, Manifest)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**raw, "labels": [{"raw": "text", "label": "Text"}]}, Manifest)


def test_a_name_that_is_no_model_is_a_typed_error() -> None:
    with pytest.raises(DocfleetError, match="ppocrv6-rec-small") as raised:
        manifest("../secret")
    assert raised.value.code is ErrorCode.model_unavailable
