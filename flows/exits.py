"""Exit codes of the commands.

0 done; 1 the answer is "no"; 2 the user's mistake, in one line; 3 some inputs or shards failed, the
rest is complete; 70 a bug of ours, with its traceback, which must not look like an answer.
"""

OK, NO, MISTAKE, PARTIAL, BUG = 0, 1, 2, 3, 70  # EX_SOFTWARE of sysexits.h


def exit_code_of(error: Exception) -> int | None:
    """The exit code of an error whose message is all the user needs; None for a bug of ours.

    Told by name, so that nothing is imported for it.
    """
    names = {cls.__name__ for cls in type(error).__mro__}
    if names & {"ConfigError", "PlanError", "InputError", "UnitError"}:
        return MISTAKE
    return PARTIAL if names & {"ShardError", "LedgerError"} else None
