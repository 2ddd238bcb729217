"""How long works take, and how many make a task that is worth its overhead."""

import threading
from collections import defaultdict

from tokenmill.pipelines.runs.work import Outcome


class Pace:
    """Seconds that works of each step took so far; used by several threads.

    task_seconds: that a bundle of works is to take, about.
    """

    def __init__(self, task_seconds: float) -> None:
        self._aim = task_seconds
        self._lock = threading.Lock()
        self._seconds: dict[str, float] = defaultdict(float)
        self._works: dict[str, int] = defaultdict(int)

    def note(self, outcome: Outcome) -> None:
        """Count a work that was done now."""
        if outcome.fresh and outcome.receipt is not None:
            with self._lock:
                self._seconds[outcome.work.step] += outcome.receipt.seconds[0]
                self._works[outcome.work.step] += 1

    def works(self, step: str) -> int:
        """That make a bundle; 1 while nothing is known of the step."""
        with self._lock:
            n, seconds = self._works[step], self._seconds[step]
        return max(int(self._aim * n / seconds), 1) if n and seconds else 1
