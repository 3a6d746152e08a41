"""The arithmetic of `bench breakdown`."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.lib.inside import Spent, part_name, together
from benchmarks.lib.timers import TimedEngine, Timers, model_of
from benchmarks.lib.work import macs
from shared.models.manifest import names

pytestmark = pytest.mark.unit


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_nested_parts_count_once_where_they_happened() -> None:
    clock = Clock()
    timers = Timers(clock)
    with timers.part("outer"):
        clock.now += 1
        with timers.part("inner"):
            clock.now += 10
            with timers.part("innermost"):
                clock.now += 100
        clock.now += 2
        with timers.part("inner"):
            clock.now += 20
    assert timers.parts() == {
        "outer": (3, 1),
        "inner": (30, 2),
        "innermost": (100, 1),
    }


def test_wrapped_functions_are_given_back() -> None:
    timers = Timers()
    thing = SimpleNamespace(double=lambda value: 2 * value)
    plain = thing.double
    timers.wrap(thing, "double", "doubling")
    assert thing.double(4) == 8
    assert timers.parts()["doubling"].calls == 1
    timers.unwrap()
    assert thing.double is plain


def test_calls_of_networks_are_timed_by_model_and_shape() -> None:
    class Engine:
        name, version, precision, streams, profile = "onnxruntime", "1", "f32", 1, None

        def load(self, path: Path) -> object:
            return SimpleNamespace(inputs=[], outputs=[], infer=lambda *arrays: [arrays[0] + 1])

    timers = Timers()
    engine = TimedEngine(Engine(), timers, part_name)  # type: ignore[arg-type]
    network = engine.load(Path("ppocrv6-rec-small-6-0123456789ab/network.onnx"))
    assert network.infer(np.zeros((2, 3, 48, 320), dtype=np.float32))[0].max() == 1
    assert timers.parts()["rec network, up to 320 px"].calls == 1
    assert engine.shapes["rec network, up to 320 px"] == [("ppocrv6-rec-small", (2, 3, 48, 320))]


def test_parts_of_the_networks() -> None:
    assert part_name("ppocrv6-rec-small", (1, 3, 48, 1920)) == "rec network, over 1280 px"
    assert part_name("ppocrv6-rec-tiny", (1, 3, 48, 1920)) == "draft rec network"
    assert part_name("ppocrv6-det-small", (1, 3, 960, 704)) == "det network, 960 px"
    assert part_name("layout-cdla", (1, 3, 800, 608)) == "layout-cdla network"
    assert part_name("ppocrv4-seal-det-mobile", (1, 3, 640, 640)) == "ppocrv4-seal-det-mobile network"


def test_work_is_known_of_every_model() -> None:
    shapes = {"rec": (1, 3, 48, 320), "det": (1, 3, 960, 672)}
    for name in names():
        shape = next((shape for kind, shape in shapes.items() if kind in name.split("-")), (1, 3, 640, 640))
        assert (macs(name, shape) or 0) > 1e8, name
    assert macs("ppocrv6-rec-small", (4, 3, 48, 640)) == pytest.approx(8 * 1.092e9)
    assert macs("ppocrv6-det-small", (1, 3, 960, 672)) == pytest.approx(6.82e9, rel=0.01)
    assert macs("unknown", (1, 3, 1, 1)) is None


def test_model_of_an_installed_file() -> None:
    assert model_of(Path("models/layout-cdla-1-9fc12e658b2f/network.onnx")) == "layout-cdla"


def test_documents_add_up() -> None:
    one = Spent(2, 1.0, 0.5, 0.1, {"a": 0.25, "b": 0.25}, {"a": 1}, {"a": 5.0})
    both = together([one, Spent(1, 2.0, 1.0, 0.2, {"a": 1.0}, {"a": 2}, {})])
    assert both == Spent(3, 3.0, 1.5, pytest.approx(0.3), {"a": 1.25, "b": 0.25}, {"a": 3}, {"a": 5.0})
