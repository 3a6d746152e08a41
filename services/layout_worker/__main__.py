"""`python -m services.layout_worker`: one member of the consumer group `layout-worker`."""

import sys

from services.layout_worker.service import LayoutWorker
from shared.streams.run import run

if __name__ == "__main__":
    sys.exit(run(LayoutWorker))
