"""`tokenmill serve`: the flows as deployments of the user's Prefect server."""

import argparse
import os
import sys
from collections.abc import Iterator
from typing import Any

from tokenmill.flows.asked import read_recipe, whole
from tokenmill.flows.commands.shared import settings_of
from tokenmill.flows.prefect.noted import START, URL, check_server
from tokenmill.flows.prefect.pages import served
from tokenmill.flows.prefect.server import user_has_server
from tokenmill.flows.show import as_json
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import place
from tokenmill.pipelines.prepare.recipe import find_recipe
from tokenmill.sizing.roots import VARIABLE, roots_of

OK_STATUS = 200


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    parameters = parse_parameters(args)
    roots_of(os.environ.get(VARIABLE))  # a mistake there is told now, not by every run
    if not user_has_server():
        raise ConfigError(
            f"no Prefect server is named; start one: {START}; then set PREFECT_API_URL={URL}/api"
        )
    check_server()
    from tokenmill.flows.serve import FLOWS, NAME, serve_flows  # Prefect reads its settings then

    if args.json:
        as_json({"deployments": [f"{flow.name}/{NAME}" for flow in FLOWS]})
        sys.stdout.flush()
    sys.stderr.writelines(f"warning: {line}\n" for line in open_doors())
    with served(args.pages_port) as address:
        if not args.json:
            sys.stderr.write(f"report pages on {address}, linked from artifacts\n")
        serve_flows(
            parameters, cron=args.cron, interval_s=args.interval, limit=args.limit, quiet=args.json
        )


def parse_parameters(args: argparse.Namespace) -> dict[str, Any] | None:
    """Where the form of a flow begins; None where no recipe is named. ConfigError: the way out."""
    if args.limit < 1:
        raise ConfigError(f"--limit {args.limit}: must be 1 at least")
    check_schedule(args.cron, args.interval)
    if args.recipe is None or args.out is args.into is None:
        for name in ("recipe", "out", "into", "cron", "interval", "set"):
            if getattr(args, name):
                given, wanted = ("RECIPE", "--out") if name == "recipe" else (f"--{name}", "RECIPE")
                wanted = (
                    "RECIPE and --out" if args.recipe is args.out is args.into is None else wanted
                )
                raise ConfigError(f"{given} is of a run that is served; give {wanted} too")
        return None
    settings = settings_of(args)
    read_recipe(args.recipe, settings)  # the user's mistakes, before anything is served
    to = "out" if args.into is None else "into"
    return {
        "recipe": str(find_recipe(args.recipe).absolute()),
        to: whole(place(getattr(args, to))),
        "settings": settings or None,
    }


def check_schedule(cron: str | None, interval_s: float | None) -> None:
    """Have Prefect take the schedule, before anything is served; ConfigError where it does not."""
    if cron is None and interval_s is None:
        return
    from prefect.client.schemas.schedules import construct_schedule

    try:
        construct_schedule(cron=cron, interval=interval_s)
    except (ValueError, OverflowError) as e:
        raise ConfigError(
            f"--interval {interval_s}: must be over 0, and 1e13 at most"
            if cron is None
            else f"--cron {cron!r}: Prefect takes no such schedule; write it as '0 3 * * *'"
        ) from e


def open_doors() -> Iterator[str]:
    """What the server and this process leave open, and how it is shut."""
    from prefect.client.orchestration import get_client

    if VARIABLE not in os.environ:
        yield f"{VARIABLE} is not set: whoever reaches the server can have any file here read"
    with get_client(sync_client=True) as client:
        answer = client.request("GET", "/admin/settings")
    if answer.status_code != OK_STATUS:
        return  # of another make
    api = answer.json().get("server", {}).get("api", {})
    if api.get("cors_allowed_origins") == "*":
        yield "any page in a browser can call the server; start it as: " + START
    elif api.get("csrf_protection_enabled") is False:
        yield "the server does not check CSRF tokens; start it as: " + START
    if api.get("host") not in (None, "127.0.0.1", "localhost") and not api.get("auth_string"):
        yield (
            f"the server listens on {api['host']} without a password; start it with"
            " PREFECT_SERVER_API_AUTH_STRING=USER:PASSWORD"
        )
