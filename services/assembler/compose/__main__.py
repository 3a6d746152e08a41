"""`python -m services.assembler.compose`: one member of the consumer group `assembler-compose`."""

import sys

from services.assembler.compose.service import Compose
from shared.streams.run import run

if __name__ == "__main__":
    sys.exit(run(Compose))
