"""The judgement of the soak: a leak is found, noise is none."""

from __future__ import annotations

import pytest

from tests.faults.soak.flat import verdicts
from tests.faults.soak.sample import Held, Sample

pytestmark = pytest.mark.unit


def samples(memory=lambda n: 100.0, handles=lambda n: 40, files=lambda n: 10, objects=lambda n: 9 * n) -> list[Sample]:
    return [
        Sample(
            at_s=float(10 * n),
            held={"join": Held(memory_mb=memory(n), handles=handles(n), threads=12)},
            temporary_files=files(n),
            submitted=n,
            ended=n,
            behind=0,
            objects=objects(n) if n else None,
        )
        for n in range(60)
    ]


def risen(found: list[Sample], share: float = 0.1) -> set[str]:
    return {verdict.what for verdict in verdicts(found, 100, share) if not verdict.flat}


def test_what_stays_is_flat_and_so_is_what_falls_or_trembles() -> None:
    assert risen(samples()) == set()
    assert risen(samples(memory=lambda n: 200.0 - n)) == set()
    assert risen(samples(memory=lambda n: 100.0 + 5 * (n % 2), handles=lambda n: 40 + n % 5)) == set()


@pytest.mark.parametrize(
    ("grown", "what"),
    [
        ({"memory": lambda n: 100.0 + n}, "join memory_mb"),
        ({"handles": lambda n: 40 + n // 2}, "join handles"),
        ({"files": lambda n: 10 + n}, "temporary files"),
        ({"objects": lambda n: 9 * n + n * n}, "objects a document"),
    ],
)
def test_what_grows_is_found(grown, what) -> None:
    assert risen(samples(**grown)) == {what}


def test_a_warm_up_is_no_leak_and_too_little_says_nothing() -> None:
    assert risen(samples(memory=lambda n: min(100.0, 20.0 + 10 * n))) == set()
    with pytest.raises(ValueError, match="samples"):
        verdicts(samples()[:12], 100)
