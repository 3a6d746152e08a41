"""`python -m services.rec_worker`: one member of the consumer group `rec-worker`."""

import sys

from services.rec_worker.service import RecWorker
from shared.streams.run import run

if __name__ == "__main__":
    sys.exit(run(RecWorker))
