"""A preload of a Dask worker, whose clock is then three hours fast, as are its files' times."""

import os
import time

SKEW_S = 3 * 3600


def dask_setup(_worker):
    """Called by Dask in the worker's process."""
    true_time, true_time_ns, replace = time.time, time.time_ns, os.replace

    def replace_stamped(source, target, **directories):
        os.utime(source, (time.time(), time.time()))
        replace(source, target, **directories)

    time.time = lambda: true_time() + SKEW_S
    time.time_ns = lambda: true_time_ns() + SKEW_S * 10**9
    os.replace = replace_stamped
