"""Records and objects of released versions, held for ever: an upgrade meets what its predecessor wrote, and a rollback what its successor did.

`released/VERSION/KIND.json` are full examples as that version wrote them. A kind that is new is added by
`./dev run python -m tests.support.example_records tests/unit/contracts/released/1.0.0`; what lies there is never changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shared.contracts.codec import SCHEMA_VERSION, decode, encode
from shared.contracts.errors import DocfleetError, ErrorCode
from shared.contracts.schemas import KINDS
from tests.support.example_records import example

pytestmark = pytest.mark.unit

FOLDER = Path(__file__).with_name("released")
RELEASED = sorted(FOLDER.rglob("*.json"))
MAJOR = SCHEMA_VERSION.partition(".")[0]


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.fixture(params=RELEASED, ids=_name)
def released(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


def _changed(old: Any, new: Any, where: str = "") -> Iterator[str]:
    """Where a value is not what it was; what is new is no change."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            if key not in new:
                yield f"{where}.{key} is gone"
            else:
                yield from _changed(value, new[key], f"{where}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (one, two) in enumerate(zip(old, new, strict=True)):
            yield from _changed(one, two, f"{where}[{number}]")
    elif old != new:
        yield f"{where}: {old!r} became {new!r}"


def test_there_is_an_example_of_every_kind():
    newest = {path.stem for path in RELEASED if path.parent.name.startswith(f"{MAJOR}.")}
    assert newest == set(KINDS), "see the head of this file; a kind that was released stays readable"


def test_what_was_written_is_read_whole(released):
    """No field lost, none with another meaning: what comes back holds all that was written."""
    written = json.loads(released.read_bytes())
    read = json.loads(encode(decode(released.read_bytes(), KINDS[released.stem])))
    assert list(_changed(written, read)) == []


def _next_minor(value: Any) -> Any:
    """The same as a later minor version may write it: unknown fields everywhere, and its version."""
    if isinstance(value, dict):
        later = {key: _next_minor(one) for key, one in value.items()} | {"a_later_field": {"of": ["a later version"]}}
        return later | ({"schema_version": f"{MAJOR}.99.0"} if "schema_version" in value else {})
    return [_next_minor(one) for one in value] if isinstance(value, list) else value


def test_what_the_next_minor_writes_is_read(released):
    """The other direction: while a rollout runs, and after a rollback, an old reader meets a newer writer."""
    kind = KINDS[released.stem]
    written = json.loads(released.read_bytes())
    later = _next_minor(written)
    for path in _free(kind):
        _drop(later, path)
    read = json.loads(encode(decode(json.dumps(later).encode(), kind)))
    changed = [one for one in _changed(written, read) if "schema_version" not in one]
    assert changed == []


def _free(kind: type) -> list[str]:
    """Fields at any depth whose keys are data."""
    from msgspec import inspect

    found: list[str] = []

    def walk(one: inspect.Type, seen: tuple[type, ...]) -> None:
        if isinstance(one, inspect.StructType):
            if one.cls in seen:
                return
            for field in one.fields:
                if any(isinstance(part, inspect.DictType) for part in _parts(field.type)):
                    found.append(field.encode_name)
                for part in _parts(field.type):
                    walk(part, (*seen, one.cls))

    walk(inspect.type_info(kind), ())
    return found


def _parts(one: Any) -> list[Any]:
    parts = [one]
    for name in ("types", "item_types"):
        for part in getattr(one, name, ()):
            parts += _parts(part)
    for name in ("item_type", "value_type"):
        if (part := getattr(one, name, None)) is not None:
            parts += _parts(part)
    return parts


def _drop(value: Any, name: str) -> None:
    """Take the later field out of mappings of that name."""
    if isinstance(value, dict):
        if isinstance(value.get(name), dict):
            value[name].pop("a_later_field", None)
        for one in value.values():
            _drop(one, name)
    elif isinstance(value, list):
        for one in value:
            _drop(one, name)


def test_another_major_is_refused(released):
    written = json.loads(released.read_bytes())
    if "schema_version" not in written:
        pytest.skip("travels within something that has a version")
    written["schema_version"] = f"{int(MAJOR) + 1}.0.0"
    with pytest.raises(DocfleetError) as refused:
        decode(json.dumps(written).encode(), KINDS[released.stem])
    assert refused.value.code is ErrorCode.invalid_message


def test_the_comparison_finds_what_breaks_a_reader():
    old = {"a": 1, "b": {"c": [1, 2]}, "d": None}
    assert list(_changed(old, {**old, "new": 3})) == []
    assert list(_changed(old, {"a": 1, "b": {"c": [1, 2]}})) == [".d is gone"]
    assert list(_changed(old, {**old, "a": 2})) == [".a: 1 became 2"]
    assert list(_changed(old, {**old, "b": {"c": [1, 3]}})) == [".b.c[1]: 2 became 3"]
    assert list(_changed(old, {**old, "b": {"c": [1]}})) == [".b.c: [1, 2] became [1]"]


@pytest.mark.parametrize("name", KINDS)
def test_examples_are_full(name):
    """Every field has a value, so that a field that is dropped later is missed."""
    written = json.loads(encode(example(KINDS[name])))
    assert set(written) >= set(KINDS[name].__struct_encode_fields__)
