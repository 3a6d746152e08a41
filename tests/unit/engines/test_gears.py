"""The gears of the manifests are the shapes that the code asks for, no more and no fewer; and the atc lines that make them."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from docfleet import atc
from shared.contracts.errors import DocfleetError
from shared.engines.profiles import ASCEND
from shared.models import lines, reader, seal
from shared.models.manifest import Ascend, manifest, names
from tests.support.ascend import manifest_of

pytestmark = pytest.mark.unit
INPUTS = {"layout-cdla": "image"}
"""Names of inputs in the ONNX files; the others are `x`."""


def test_every_model_has_gears_and_none_more_than_an_om_may_have() -> None:
    for name in names():
        varying, gears = atc.gears_of(manifest(name))
        assert len(set(gears)) == len(gears) <= atc.MAX_GEARS
        fixed = manifest(name).input.shape
        for gear in gears:
            assert all(size is None or size == got for size, got in zip(fixed, gear, strict=True)), name
        assert (varying.mode == "static") == (len(gears) == 1)


@pytest.mark.parametrize("name", [reader.NAME, reader.DRAFT])
def test_gears_of_the_reader_are_what_its_batch_profile_gives(name: str) -> None:
    asked = {
        (size, 3, reader.HEIGHT, min(reader.MAX_WIDTH, ASCEND.bucket(width)))
        for width in range(1, reader.MAX_WIDTH + 500)
        for count in range(1, 2 * ASCEND.max_items)
        for size in ASCEND.split(count, min(reader.MAX_WIDTH, ASCEND.bucket(width)))
    }
    asked |= {(1, 3, reader.HEIGHT, width) for width in (ASCEND.width_step, 640)}  # what `Reader.warm` runs
    entry = manifest(name).ascend
    assert entry is not None
    assert set(entry.gears()) == asked


def test_what_bounds_a_batch_on_an_npu_agrees() -> None:
    """Lines and summed widths of the fullest calls are what the queue takes out at once: 8 and 3,200 px, of the published case."""
    assert max(count for _, count in ASCEND.batches) == ASCEND.max_items == 8
    assert max(count * widest for widest, count in ASCEND.batches) == ASCEND.max_cost == 3_200


def test_gears_of_the_detector_are_what_pages_are_padded_to() -> None:
    """Of a picture of any size, at the first look and, where it is larger than that, at the second."""
    asked = set()
    for height in range(3, 3_300, 37):
        for width in range(3, 3_300, 37):
            for side in (lines.SIDE, lines.LARGE_SIDE) if max(height, width) > lines.SIDE else (lines.SIDE,):
                scale = min(1.0, side / max(height, width))
                small = max(1, round(height * scale)), max(1, round(width * scale))
                asked.add((1, 3, *lines.padded_size(*small, side)))
    entry = manifest(lines.NAME).ascend
    assert entry is not None
    assert set(entry.gears()) == asked


def test_the_gear_of_seals_is_what_they_are_enlarged_to() -> None:
    entry = manifest(seal.NAME).ascend
    assert entry is not None
    assert entry.gears() == [(1, 3, seal.SIDE, seal.SIDE)]


def test_other_gears_are_the_same_model() -> None:
    entry = manifest(reader.NAME)
    other = msgspec.structs.replace(entry, ascend=None)
    assert other.sha256() == entry.sha256()
    assert other.folder() == entry.folder()


def test_the_atc_lines_of_all_models() -> None:
    """Written out, so that a change of a gear, a flag or a precision is seen."""
    made = [
        atc.shell(
            atc.command(
                Path("network.onnx"),
                Path("network"),
                INPUTS.get(name, "x"),
                manifest(name),
                atc.target_named("ascend310p3"),
            )
        )
        for name in names()
    ]
    assert "\n\n".join(made) + "\n" == Path(__file__).with_name("atc_lines.txt").read_text().rstrip("\n") + "\n"


@pytest.mark.parametrize(
    ("name", "soc", "precision"),
    [
        ("ascend310p3", "Ascend310P3", "force_fp16"),
        ("Ascend310P3", "Ascend310P3", "force_fp16"),
        ("ascend910b4", "Ascend910B4", "must_keep_origin_dtype"),
        ("ascend910b2", "Ascend910B2", "must_keep_origin_dtype"),
        ("ascend910_9391", "Ascend910_9391", "must_keep_origin_dtype"),
        ("ascend910b2c", "Ascend910B2C", "must_keep_origin_dtype"),
        ("ascend910b4-1", "Ascend910B4-1", "must_keep_origin_dtype"),
        ("ascend910premiuma", "Ascend910PremiumA", "must_keep_origin_dtype"),
        ("ascend910proa", "Ascend910ProA", "must_keep_origin_dtype"),
    ],
)
def test_targets(name: str, soc: str, precision: str) -> None:
    target = atc.target_named(name)
    assert (target.name, target.soc, target.precision) == (name.lower(), soc, precision)


def test_a_precision_that_is_asked_for_goes_before_the_chip_s() -> None:
    entry, target = manifest(reader.NAME), atc.target_named("ascend310p3")
    for asked, used in ((None, "force_fp16"), ("must_keep_origin_dtype", "must_keep_origin_dtype")):
        assert f"--precision_mode={used}" in atc.command(Path("a.onnx"), Path("a"), "x", entry, target, asked)


@pytest.mark.parametrize("name", ["", "310p3", "ascend", "ascend310p3; rm -rf", "nvidia", "../ascend310p3"])
def test_what_is_no_target(name: str) -> None:
    with pytest.raises(DocfleetError, match="is no Ascend chip"):
        atc.target_named(name)


def test_flags_that_exclude_each_other_never_meet() -> None:
    flags = {"--dynamic_batch_size", "--dynamic_image_size", "--dynamic_dims", "--input_shape_range"}
    ways = [
        Ascend(mode="static", sizes=((8, 16),)),
        Ascend(mode="dymbatch", batches=(1, 2), sizes=((8, 16),)),
        Ascend(mode="dymhw", sizes=((8, 16), (16, 8))),
        Ascend(mode="dymdims", batches=(1, 2), sizes=((8, 16), (8, 32))),
    ]
    for way in ways:
        entry = manifest_of("small", way)
        line = atc.command(Path("a.onnx"), Path("a"), "x", entry, atc.target_named("ascend310p3"))
        used = [word for word in line if word.split("=")[0] in flags]
        assert len(used) == (way.mode != "static")
        assert ("--input_format=ND" in line) == (way.mode == "dymdims")
        without = atc.without_gears(line, "x", way.gears())
        assert not any(word.split("=")[0] in flags - {"--input_shape_range"} for word in without)
        assert sum(word.startswith("--input_shape") for word in without) == 1


def test_a_model_without_gears_and_one_with_too_many() -> None:
    with pytest.raises(DocfleetError, match="has no gears"):
        atc.gears_of(msgspec.structs.replace(manifest_of("small", Ascend(mode="static", sizes=((8, 8),))), ascend=None))
    two = Ascend(mode="static", sizes=((8, 8), (8, 16)))
    with pytest.raises(DocfleetError, match="has 2 gears"):
        atc.gears_of(manifest_of("small", two))
    many = Ascend(mode="dymhw", sizes=tuple((8, width) for width in range(1, 102)))
    with pytest.raises(DocfleetError, match="has 101 gears; an om has 1 to 100"):
        atc.gears_of(manifest_of("small", many))


def test_a_line_can_be_put_into_a_shell() -> None:
    text = atc.shell(["atc", "--dynamic_dims=1,32;2,32", "--model=a b.onnx"])
    assert re.fullmatch(r"atc \\\n  '--dynamic_dims=1,32;2,32' \\\n  '--model=a b\.onnx'", text)
