"""The options of `tokenmill serve`."""

import argparse


def add_serve_arguments(serve: argparse.ArgumentParser) -> None:
    """Say what the command does, and what it takes."""
    serve.description = (
        "Serve the flows to your Prefect server, until interrupted: each is run by a form of its"
        " UI, and prepare by a schedule too. Needs a server: PREFECT_API_URL names it."
    )
    serve.epilog = (
        "Whoever reaches the server can have files read and written here. Set TOKENMILL_ROOTS to"
        " the folders and s3:// prefixes, with colons between them, that runs may use; keep the"
        " server on 127.0.0.1, or behind PREFECT_SERVER_API_AUTH_STRING."
    )
    serve.add_argument(
        "recipe", nargs="?", help="what prepare-corpus runs, unless its form says otherwise"
    )
    serve.add_argument("--out", help="run directory of the recipe")
    when = serve.add_mutually_exclusive_group()
    when.add_argument("--cron", metavar="CRON", help="run the recipe then, as '0 3 * * *'")
    when.add_argument(
        "--interval", type=float, metavar="SECONDS", help="run the recipe once in so many seconds"
    )
    serve.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a setting of the recipe; may be given again",
    )
    serve.add_argument(
        "--limit", type=int, default=1, metavar="N", help="runs at a time (%(default)s)"
    )
