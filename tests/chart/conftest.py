"""One Helm for the session, and each scenario rendered once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import without
from tests.support.helm import SCENARIOS, Helm, Rendered, minimal, values_of
from tests.support.processes import Missing


@pytest.fixture(scope="session")
def helm() -> Iterator[Helm]:
    """Helm's SDK; skips where it cannot be installed."""
    try:
        with Helm() as running:
            yield running
    except Missing as missing:
        without(missing)


@pytest.fixture(scope="session")
def scenarios(helm: Helm) -> Callable[[Path], Rendered]:
    """What a scenario file renders to."""

    @cache
    def rendered(path: Path) -> Rendered:
        return helm.render(values_of(path))

    return rendered


@pytest.fixture(params=SCENARIOS, ids=lambda path: path.name.removesuffix("-values.yaml"))
def scenario(request: pytest.FixtureRequest, scenarios: Callable[[Path], Rendered]) -> Rendered:
    """Each scenario in turn."""
    return scenarios(request.param)


@pytest.fixture
def named(scenarios: Callable[[Path], Rendered]) -> Callable[[str], Rendered]:
    """A scenario by its name."""
    by_name = {path.name.removesuffix("-values.yaml"): path for path in SCENARIOS}
    return lambda name: scenarios(by_name[name])


@pytest.fixture
def render(helm: Helm) -> Callable[..., Rendered]:
    """The chart with the values that must be given, and some more."""
    return lambda more=None, **options: helm.render(minimal(more), **options)
