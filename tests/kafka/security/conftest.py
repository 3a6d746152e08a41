"""Servers that ask who is there, once for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import without
from tests.support.processes import Missing
from tests.support.security.servers import SecureServers


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureServers]:
    try:
        started = SecureServers(tmp_path_factory.mktemp("secure"))
        started.start()
    except Missing as missing:
        without(missing)
    yield started
    started.stop()
