"""What differs between vision-language models, as data: one YAML file per profile.

A profile says how a model is asked and how its answers are to be understood; there is no code for one model anywhere. The built-in ones
are in `profiles/`; a user adds one by a file in the folder that `vl.profiles` names, and names it in `vl.profile` or in
`options.vl_profile`. A file there goes before a built-in one of the same name.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

from shared.contracts.codec import encode, sha256
from shared.contracts.document import Label
from shared.contracts.errors import DocfleetError, ErrorCode

FOLDER = Path(__file__).with_name("profiles")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

Kind = Literal["text", "table", "formula", "seal", "picture", "page", "range"]
"""What is shown: a region by its label (`text` stands in for labels that have no prompt), a whole page, or several pages."""
Grammar = Literal["text", "html_table", "otsl", "latex", "grounding"]
"""The form of an answer; each has a parser in `services.vl_worker.grammars`."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The size of a picture that is sent, pixels."""

    min_pixels: int
    max_pixels: int
    """A picture outside the bounds is scaled, its sides in proportion."""
    multiple: int = 1
    """Width and height of a picture that is scaled are multiples of this: what the model rounds to."""


class Prompt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one kind of picture is asked for."""

    text: str
    grammar: Grammar
    body: dict[str, Any] = {}
    """Fields of the request for this prompt only; they go over those of the profile."""
    picture: Bounds | None = None
    """Bounds for this prompt only."""


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one model is asked, and what its answers mean."""

    name: str
    model: str
    """Served model name, where `vl.model` says no other."""
    also_served_as: list[str] = []
    """Other names under which servers offer the same model."""
    source: str
    """Where the facts below come from."""
    api: Literal["chat", "ocr"] = "chat"
    """`chat`: OpenAI-compatible chat completions. `ocr`: the plain service `POST /ocr {image_base64, prompt, …}`."""
    order: Literal["picture_first", "text_first"] = "picture_first"
    """Order of the parts of a message."""
    body: dict[str, Any] = {}
    """Fields of every request: sampling, token limit, arguments of logits processors."""
    retry_body: dict[str, Any] = {}
    """Fields changed for the one corrected retry after an answer that a guard refused."""
    tokens: str = "max_tokens"
    """The field that bounds the answer; set to 1 by the probe."""
    picture: Bounds
    prompts: dict[Kind, Prompt]
    range_pages: int = 0
    """Pages of one request in `vl: document`; 0 where the model reads pages one by one."""
    end_token: str | None = None
    """Taken off the end of an answer."""
    needs_end_token: bool = False
    """Whether the server always passes the end token on: an answer without it is then cut."""
    labels: dict[str, Label] = {}
    """The model's names of blocks (grounding), beyond those that `grammars.grounding` knows."""

    def prompt(self, kind: str) -> Prompt:
        """The prompt for a region label, `page` or `range`. Raises `DocfleetError(model_unavailable)` where there is none."""
        found = self.prompts.get(kind)  # type: ignore[call-overload]
        if found is None and kind not in ("page", "range"):
            found = self.prompts.get("text")
        if found is None:
            raise DocfleetError(ErrorCode.model_unavailable, f"profile {self.name} has no prompt for {kind}")
        return found  # type: ignore[no-any-return]

    def bounds(self, kind: str) -> Bounds:
        """The bounds of a picture of this kind."""
        return self.prompt(kind).picture or self.picture

    def is_served_as(self, name: str) -> bool:
        """Whether a server that offers `name` offers this model: the full name or its last part, in any case."""
        known = {_plain(own) for own in (self.name, self.model, *self.also_served_as)}
        return _plain(name) in known

    def sha256(self) -> str:
        """Hash of everything that may change a result."""
        return sha256(encode(self))


def _plain(name: str) -> str:
    return name.rsplit("/", 1)[-1].casefold()


def profile_named(name: str, folder: Path | None = None) -> Profile:
    """The profile `NAME.yaml` in `folder` (`vl.profiles`), or the built-in one.

    Raises `DocfleetError(model_unavailable)` when there is none, or the file is not a profile; the message names the field.
    """
    path = None
    if _NAME.fullmatch(name):  # the name may come from a submission: it never is a path
        path = next((p for p in (*([folder] if folder else []), FOLDER) if (p / f"{name}.yaml").is_file()), None)
    if path is None:
        known = ", ".join(names(folder))
        raise DocfleetError(ErrorCode.model_unavailable, f"no VL profile {name!r:.60}; there are: {known}")
    file = path / f"{name}.yaml"
    return _load(file, file.stat().st_mtime_ns)


def names(folder: Path | None = None) -> list[str]:
    """Names of all profiles, sorted."""
    folders = [FOLDER, *([folder] if folder is not None and folder.is_dir() else [])]
    return sorted({path.stem for place in folders for path in place.glob("*.yaml")})


@lru_cache(maxsize=64)
def _load(path: Path, changed: int) -> Profile:
    try:
        profile = msgspec.convert(yaml.safe_load(path.read_bytes()), Profile)
        _check(profile, path.stem)
    except (OSError, ValueError, yaml.YAMLError) as error:
        message = f"VL profile {path.name}: {error!s:.300}"
        raise DocfleetError(ErrorCode.model_unavailable, message) from error
    return profile


def _check(profile: Profile, stem: str) -> None:
    if profile.name != stem:
        raise ValueError(f"its name is {profile.name!r}, its file's is {stem!r}")
    if not {"text", "page"} & set(profile.prompts):
        raise ValueError("it has a prompt neither for `text` nor for `page`")
    if profile.range_pages and (profile.range_pages < 2 or "range" not in profile.prompts or profile.api != "chat"):
        raise ValueError("`range_pages` is 2 or more, with a prompt for `range`, and only with `api: chat`")
    for bounds in (profile.picture, *(p.picture for p in profile.prompts.values() if p.picture)):
        if not 0 < bounds.min_pixels <= bounds.max_pixels or bounds.multiple < 1:
            raise ValueError("`picture`: 0 < min_pixels <= max_pixels, multiple >= 1")
        if bounds.multiple**2 > bounds.max_pixels:
            raise ValueError("`picture`: no picture of that multiple is within max_pixels")
