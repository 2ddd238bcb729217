"""`tokenmill demo`: the whole job on real text found on this machine."""

import argparse
import sys

from tokenmill.flows.asked import ask_run
from tokenmill.flows.commands.prepare import prepared
from tokenmill.flows.commands.prepare_tables import show_report
from tokenmill.flows.commands.shared import server_ahead
from tokenmill.flows.sheets import size_run
from tokenmill.flows.show import as_json
from tokenmill.flows.troubles import exit_code
from tokenmill.pipelines.core.places import folder_here
from tokenmill.pipelines.prepare.demo import VOCAB_SIZE, demo_recipe
from tokenmill.sizing.report.data import sheet_json

PLAN = "gpt2-124m-8-h100"  # the example that ships, for a corpus as small as the demo's


def run(args: argparse.Namespace) -> int:
    """Prepare the demo's corpus and show what came of it."""
    folder = folder_here(args.out)
    if not args.json and not (folder / "tokenizer.json").is_file():
        sys.stderr.write(
            f"no tokenizer named: training a {VOCAB_SIZE:,}-token byte-level BPE on the demo's own"
            f" text, kept in {folder / 'tokenizer.json'}\n"
        )
    out = folder / "run"
    with server_ahead() as server:
        recipe = demo_recipe(folder)
        shown = {"recipe": str(folder.absolute() / "recipe.yaml"), "plan": PLAN}
        asked = ask_run(recipe, str(out))
        report = prepared(asked, shown, quiet=args.json, server=server)
    sheet = size_run(PLAN, str(out))
    if args.json:
        as_json({**report.to_json(), "requirements": sheet_json(sheet)})
        return exit_code(report)
    show_report(report, out, sheet=sheet)
    sys.stdout.write(
        f"recipe   {folder.absolute() / 'recipe.yaml'}\n"
        f"look in  tokenmill inspect {out} --reason near_duplicate\n"
    )
    return exit_code(report)
