"""What can go wrong, named by what the run does about it.

    TokenmillError
    ├── ConfigError   the user's mistake: found before work starts; exit code 2
    ├── InputError    a file is wrong in itself: it is listed as failed, the rest goes on; exit 3
    ├── ShardError    a file of the run directory is not what its receipt says, or all shards fail
    └── LedgerError   documents or bytes do not add up: a bug of ours or of a step; the run fails

`OSError` stays what it is: a flaky disk or network, and the only thing worth retrying.
"""

from functools import partial


class TokenmillError(Exception):
    """Anything this package reports on purpose; its message is one line."""


class ConfigError(TokenmillError, ValueError):
    """The recipe, plan or command is wrong; nothing has been written yet."""


class InputError(TokenmillError):
    """An input file is not what it claims to be, for good; cause: its name in the ledger."""

    def __init__(self, message: str, *, cause: str) -> None:
        super().__init__(message)
        self.cause = cause

    def __reduce__(self) -> tuple[object, ...]:  # keyword-only `cause` does not survive pickling
        return partial(InputError, cause=self.cause), (str(self),)


class ShardError(TokenmillError):
    """A shard cannot be used as it is."""


class LedgerError(TokenmillError):
    """Documents or bytes went missing or were counted twice."""
