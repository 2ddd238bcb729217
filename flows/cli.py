"""The command line: one console script, each command one call into the library.

Each command's module is imported when it is called, so that `--help` and the commands
that need neither Prefect nor Arrow start at once.
"""

import importlib
import os
import sys
import traceback
from collections.abc import Sequence

from tokenmill.flows.arguments import parser
from tokenmill.flows.exits import BUG, OK, exit_code_of


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the console script exits with what this returns."""
    args = parser().parse_args(argv)
    try:
        command = importlib.import_module(
            f"tokenmill.flows.commands.{args.command.replace('-', '_')}"
        )
        code = int(command.run(args))
        sys.stdout.flush()  # here, where a reader that has gone is known
        return code
    except KeyboardInterrupt as e:
        told = str(e) or "the same command continues where this stopped"
        sys.stderr.write(f"interrupted; {told}\n")
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still held
        return OK
    except Exception as e:  # noqa: BLE001 - told, and by an exit code of its own
        code = exit_code_of(e)
        if code is None:
            traceback.print_exc()
            return BUG
        sys.stderr.write(f"tokenmill {args.command}: {e}\n")
        return code


if __name__ == "__main__":
    sys.exit(main())
