"""Kill what a test run started, once the test run is gone, however it ended.

    python reaper.py MARK

reads its standard input until that ends, which it does when the process that holds the other
end of the pipe ends, even by SIGKILL; then kills every process with MARK in its environment.
"""

import contextlib
import os
import signal
import sys
import time

MARK_NAME = "TOKENMILL_TEST_PROCESSES"
ROUNDS, PAUSE_S = 20, 0.2  # a process may start another between the look and the kill


def marked(mark: str) -> list[int]:
    """Ids of the processes that were started with this mark, and of what they started."""
    wanted, found = f"{MARK_NAME}={mark}".encode(), []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as f:
            if wanted in f.read().split(b"\0"):
                found.append(int(name))
    return [pid for pid in found if pid not in (os.getpid(), os.getppid())]


def kill_marked(mark: str) -> None:
    for _ in range(ROUNDS):
        living = marked(mark)
        if not living:
            return
        for pid in living:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    sys.stdin.read()
    kill_marked(sys.argv[1])
