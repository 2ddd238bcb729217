"""Exit codes of the commands.

0 done; 1 the answer is "no"; 2 the user's mistake, in one line; 3 some inputs or shards failed, the
rest is complete; 70 a bug of ours, with its traceback, which must not look like an answer.
"""

OK, NO, MISTAKE, PARTIAL, BUG = 0, 1, 2, 3, 70  # EX_SOFTWARE of sysexits.h


def exit_code_of(error: Exception) -> int | None:
    """An error's exit code if its message is enough, else None; by name, so nothing is imported."""
    names = {cls.__name__ for cls in type(error).__mro__}
    if names & {"ConfigError", "PlanError", "InputError", "UnitError"}:
        return MISTAKE
    return PARTIAL if names & {"ShardError", "LedgerError"} else None
