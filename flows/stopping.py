"""Signals that ask a command to end: a line, and the exit code of the signal.

SIGTERM, of a scheduler, and SIGHUP, of a terminal that closes, do as Ctrl-C does. While works are
done, no other begins after the first of them, and what is at work has GRACE_S.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import NoReturn

GRACE_S = 20.0  # of what is at work, once told to end; SLURM's KillWait is 30
# then, to close what was opened and to tell Prefect's server; nothing is lost by less
LEAVE_S = 5.0
CONTINUES = "the same command continues where this stopped"
LATE = f"what was at work had {GRACE_S:g} s; {CONTINUES}"
BEYOND = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]

_came: list[int] = []
_telling = threading.Lock()  # kept by who tells of the end


def has_come() -> bool:
    """Whether a signal has asked this command to end."""
    return bool(_came)


def told(why: str = "") -> int:
    """Say in a line that the command was stopped, once; its exit code."""
    signum = _came[0] if _came else signal.SIGINT
    by = "interrupted" if signum == signal.SIGINT else f"stopped by {signal.Signals(signum).name}"
    if _telling.acquire(blocking=False):
        with contextlib.suppress(OSError, ValueError):  # the terminal has gone
            os.write(sys.stderr.fileno(), f"{by}; {why or CONTINUES}\n".encode())
    return 128 + signum


@contextlib.contextmanager
def as_by_the_keyboard() -> Iterator[None]:
    """Have signals do as Ctrl-C does; one that is ignored, as by nohup, or handled stays so."""

    def stop(signum: int, _frame: object) -> NoReturn:
        _came.append(signum)
        raise KeyboardInterrupt

    _came.clear()
    with contextlib.suppress(RuntimeError):
        _telling.release()
    with _handled(BEYOND, stop, (signal.SIG_DFL,)):
        yield


@contextlib.contextmanager
def with_grace() -> Iterator[None]:
    """For the length of the block, have the first signal be KeyboardInterrupt and start the clock.

    The process ends when what is at work has had its time; at a second Ctrl-C at once. Other
    signals that follow are one with the first: a terminal that closes sends two.
    """

    def stop(signum: int, _frame: object) -> None:
        if _came and signum == signal.SIGINT:
            _end()
        if not _came:
            _came.append(signum)
            clock = threading.Timer(GRACE_S + LEAVE_S, _end)
            clock.daemon = True
            clock.start()
            raise KeyboardInterrupt

    with _handled([signal.SIGINT, *BEYOND], stop, None):
        yield


def _end() -> NoReturn:
    """Threads cannot be ended otherwise; receipts prove what they have done."""
    os._exit(told(LATE))


@contextlib.contextmanager
def _handled(
    signals: list[int], handler: object, only: tuple[object, ...] | None
) -> Iterator[None]:
    """Handle signals in the main thread, until the block ends and none has come.

    only: those that are handled so now; None: all that are not ignored.
    """
    before = {s: signal.getsignal(s) for s in signals}
    if threading.current_thread() is not threading.main_thread():
        before = {}
    ours = {s: b for s, b in before.items() if b is not signal.SIG_IGN and (not only or b in only)}
    for signum in ours:
        signal.signal(signum, handler)  # type: ignore[arg-type]
    try:
        yield
    finally:
        for signum, handled in ours.items() if not _came else ():
            signal.signal(signum, handled)
