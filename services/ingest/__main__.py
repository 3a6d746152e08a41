"""`python -m services.ingest`: one member of the consumer group `ingest`."""

import sys

from shared.streams.run import run

from services.ingest.service import Ingest

if __name__ == "__main__":
    sys.exit(run(Ingest))
