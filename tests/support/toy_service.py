"""The toy stage as a service process: `python -m tests.support.toy_service`, with the settings of any service.

Every try of a task is appended to the file TOY_LOG as `<pid> start|done <task id>`. `exit-…` ends the process without a word
each time it is worked on, as an out-of-memory kill would.
"""

from __future__ import annotations

import os
import sys

from shared.contracts.records import RecTask
from shared.settings import Settings
from shared.streams.run import run
from shared.streams.stage import Delivery, Emit
from tests.support.toy import ToyStage


class LoggedStage(ToyStage):
    def __init__(self) -> None:
        super().__init__()
        self._log = os.open(os.environ["TOY_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def _say(self, what: str, task: str) -> None:
        os.write(self._log, f"{os.getpid()} {what} {task}\n".encode())

    async def process(self, delivery: Delivery[RecTask]) -> list[Emit]:
        task = delivery.record.task_id
        self._say("start", task)
        if task.startswith("exit-"):
            os._exit(9)
        emits = await super().process(delivery)
        self._say("done", task)
        return emits


def make(_: Settings) -> LoggedStage:
    return LoggedStage()


if __name__ == "__main__":
    sys.exit(run(make))
