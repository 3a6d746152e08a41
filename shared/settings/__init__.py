"""Every setting of docfleet, with its default and its meaning: the reference page is generated from these classes.

Read from the environment (`DOCFLEET_KAFKA__BOOTSTRAP_SERVERS=…`, two underscores between group and name), from the files of the
folder that `DOCFLEET_SECRETS_DIR` names (one secret a file, called like the variable, as Kubernetes mounts them), from the TOML file that
`DOCFLEET_CONFIG` names, then from the defaults, in that order. What is given is never repeated in an error: it may be a secret.
"""

from shared.settings.engines import Engines
from shared.settings.ingest import Ingest, IngestRule
from shared.settings.join import Join
from shared.settings.kafka import Kafka
from shared.settings.layout import ROUTE, Layout, RouteRule
from shared.settings.limits import Limits
from shared.settings.objects import Objects
from shared.settings.rec import Rec
from shared.settings.root import Settings, for_engine_child
from shared.settings.stages import GROUPS, Stage
from shared.settings.telemetry import Telemetry
from shared.settings.vl import Vl

__all__ = [
    "GROUPS",
    "ROUTE",
    "Engines",
    "Ingest",
    "IngestRule",
    "Join",
    "Kafka",
    "Layout",
    "Limits",
    "Objects",
    "Rec",
    "RouteRule",
    "Settings",
    "Stage",
    "Telemetry",
    "Vl",
    "for_engine_child",
]
