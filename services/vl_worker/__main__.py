"""`python -m services.vl_worker`: one member of the consumer group `vl-worker`."""

import sys

from services.vl_worker.service import VlWorker
from shared.streams.run import run

if __name__ == "__main__":
    sys.exit(run(VlWorker))
