"""`python -m services.layout_worker`: one member of the consumer group `layout-worker`."""

import sys

from shared.streams.run import run

from services.layout_worker.service import LayoutWorker

if __name__ == "__main__":
    sys.exit(run(LayoutWorker))
