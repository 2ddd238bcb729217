"""The command line: one console script, each command one call into the library.

Each command's module is imported when it is called, so that `--help` and the commands
that need neither Prefect nor Arrow start at once.
"""

import argparse
import gc
import importlib
import os
import sys
import traceback
from collections.abc import Sequence

from tokenmill.flows import stopping
from tokenmill.flows.arguments import FileOrName, Named, parser
from tokenmill.flows.exits import BUG, MISTAKE, OK, exit_code_of


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the console script exits with what this returns."""
    # works are spread over processes: threads of NumPy's in each would only start, 0.03 s, and wait
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # what is imported stays: by the defaults 0.45 s of 3 were spent on looking for what does not
    gc.set_threshold(50_000, 20, 20)
    argv = sys.argv[1:] if argv is None else argv
    args, unknown = parser(argv).parse_known_args(argv)
    if unknown:  # argparse tells so too, but with the usage of no command
        sys.stderr.write(
            f"tokenmill {args.command}: {' '.join(unknown)}: is none of its options, nor asked for;"
            f" tokenmill {args.command} --help lists them\n"
        )
        return MISTAKE
    with stopping.as_by_the_keyboard():
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    try:
        command = importlib.import_module(
            f"tokenmill.flows.commands.{args.command.replace('-', '_')}"
        )
        _hold(args)
        code = int(command.run(args))
        sys.stdout.flush()  # here, where a reader that has gone is known
        return code
    except KeyboardInterrupt as e:
        return stopping.told(str(e))
    except BrokenPipeError:  # the reader of our output has gone, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still held
        return OK
    except Exception as e:  # noqa: BLE001 - told, and by an exit code of its own
        if stopping.has_come():  # what it was at, or its terminal, ended under it
            return stopping.told()
        known = exit_code_of(e)
        if known is None:
            traceback.print_exc()
            return BUG
        sys.stderr.write(f"tokenmill {args.command}: {e}\n")
        return known


def _hold(args: argparse.Namespace) -> None:
    """Hold what is named to the roots."""
    values = [v for of in vars(args).values() for v in (of if isinstance(of, list) else [of])]
    given = [v for v in values if isinstance(v, Named) and v != "-"]  # which is a stream
    if given:
        from tokenmill.pipelines.core.places import file_or_name, within_roots

        for name in given:
            (file_or_name if isinstance(name, FileOrName) else within_roots)(name)


if __name__ == "__main__":
    sys.exit(main())
