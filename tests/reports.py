"""What a process of tests sends to the one that counts them: a report of a short test that passed.

By itself pytest sends five messages, of begin, set-up, call, tear-down and end, and what they take
beside one is a third of the CPU seconds of tests that do nothing.
"""

import pytest
from _pytest.runner import runtestprotocol

TOLD_S = 0.05  # of set-up and tear-down; `--durations` leaves out what is shorter


def report_once(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test; report its call, and of its other phases those that failed or took long."""
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed or report.duration > TOLD_S:
            item.ihook.pytest_runtest_logreport(report=report)
    return True
