"""Faults of what the fleet stands on: broker, object store, network, model server, disk.

Each kind says in `servers` which it needs under the fleet: `links` (one broker, a way of its own for each role to every server),
`three` (three brokers) or `folder` (a store in a folder).
"""

from tests.faults.infra import brokers, links, store
from tests.faults.injection import Injection

INJECTIONS: list[Injection] = [*links.INJECTIONS, *store.INJECTIONS, *brokers.INJECTIONS]
