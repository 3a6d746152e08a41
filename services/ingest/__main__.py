"""`python -m services.ingest`: one member of the consumer group `ingest`."""

import sys

from services.ingest.service import Ingest
from shared.streams.run import run

if __name__ == "__main__":
    sys.exit(run(Ingest))
