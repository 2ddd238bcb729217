"""Loaders with faults of their own; workers import them, so that they import little."""

import time

from tokenmill.pipelines.probe.loader import Loader

TOKENS_PER_S = 989e12 * 0.4 / (6 * 8e9)  # of an accelerator of `corpora.sheet`
LATE_S = 0.4


class Leaky(Loader):
    """Reads a record batch, and uses one row of seven."""

    def fetch(self, read):
        ids = super().fetch(read)
        return ids[: len(ids) // 7]


class Slow(Loader):
    """As fast as two and a half accelerators need, whatever the storage does."""

    bytes_per_s = 2.5 * 2 * TOKENS_PER_S
    due = None

    def fetch(self, read):
        ids = super().fetch(read)
        self.due = (self.due or time.perf_counter()) + ids.nbytes / self.bytes_per_s
        time.sleep(max(0.0, self.due - time.perf_counter()))
        return ids


class Late(Loader):
    """Needs long for its first read, as one that opens thousands of files."""

    def fetch(self, read):
        if not self.counters.reads:
            time.sleep(LATE_S)
        return super().fetch(read)
