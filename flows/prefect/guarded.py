"""Run a Python module as a child that does not outlive its parent, however that one ends.

    python -m tokenmill.flows.prefect.guarded PARENT_PID MODULE ARGUMENT…

A parent killed with SIGKILL can stop nothing; so the child watches for it.
"""

import gc
import os
import runpy
import signal
import sys
import threading
import time

POLL_S = 1.0
STOP_S = 15.0
STARTED_S = 10.0  # until then it imports, and what it makes stays: to collect took 0.45 s of 2.6


def main() -> None:
    """Watch the parent from a thread, and run the module as `python -m` would."""
    gc.disable()
    collecting = threading.Timer(STARTED_S, gc.enable)
    collecting.daemon = True
    collecting.start()
    parent, module = int(sys.argv[1]), sys.argv[2]
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    sys.argv = sys.argv[2:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_S)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(STOP_S)  # a server waits for whoever is still connected
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
