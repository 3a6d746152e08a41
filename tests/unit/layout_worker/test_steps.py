"""What the steps of a page cost: whole processes, cheaply."""

from __future__ import annotations

import os
import sys
import time
from threading import Thread

import pytest

from services.layout_worker.steps import Steps, cpu_seconds

pytestmark = pytest.mark.unit


def burn(seconds: float) -> None:
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="the clock of another process is Linux's")
def test_a_step_costs_what_all_threads_of_its_processes_spend():
    steps = Steps(cpu_seconds(lambda: [os.getpid()]))
    with steps.step("here"):
        burn(0.05)
    with steps.step("in a thread that ends"):
        thread = Thread(target=burn, args=(0.05,))
        thread.start()
        thread.join()
    with steps.step("nothing"):
        time.sleep(0.05)
    here, thread_step, nothing = steps.done
    assert here.cpu_s >= 0.05
    assert thread_step.cpu_s >= 0.05
    assert nothing.cpu_s < 0.05 <= nothing.wall_s


def test_a_process_that_is_gone_counts_nothing():
    assert cpu_seconds(lambda: [2**22 + 7])() == 0.0
    assert Steps().done == []
