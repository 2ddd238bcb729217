"""A preload of a Dask worker, which then dies of SIGKILL at one work, whenever it comes.

POISON="pass-0/00003-of-00032" dask worker … --preload tests/cluster/poison.py
"""

import os

from tests.e2e.fatal import arm
from tokenmill.pipelines.runs import work as drive


def _is_poison(_job, work):
    return f"{work.step}/{work.key}" == os.environ["POISON"]


arm(drive, "do", 1, when=_is_poison)
