"""`tokenmill claims`: figures that documents print, recomputed by the formulas of `size`."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tokenmill.flows.exits import NO, OK
from tokenmill.flows.show import as_json, show, table
from tokenmill.sizing.claims import ClaimVerdict, FigureVerdict, check_all
from tokenmill.sizing.claims.systems import SystemVerdict, check_systems
from tokenmill.sizing.errors import PlanError, meant

STYLES = {"agrees": "green", "worked out": "cyan", "explained": "yellow", "differs": "bold red"}
OF_A_SYSTEM = ("within", "apart", "differs")
INDENTED = (0, 0, 0, 4)


def run(args: argparse.Namespace) -> int:
    """Show the verdict on every claim, or on one in full; 1 if one is not reproduced."""
    if args.systems:
        return _systems(args)
    verdicts = check_all() if args.id is None else (_of_id(args.id),)
    if args.json:
        as_json([asdict(v) for v in verdicts])
    elif args.id is not None:
        show(*_in_full(verdicts[0]))
    else:
        show(*_listed(verdicts))
    return exit_code(verdicts)


def _systems(args: argparse.Namespace) -> int:
    """Each system's sheet beside what was published of it."""
    verdicts = check_systems()
    if args.json:
        as_json([asdict(v) for v in verdicts])
    else:
        columns = ("system and figure", ">predicted", ">published", ">ratio", "verdict and reason")
        rows: list[tuple[Any, ...]] = []
        for system, figures in groupby(verdicts, key=lambda v: v.system):
            rows.append((Text(system, style="bold"), "", "", "", ""))
            for v in figures:
                ratio = "" if v.ratio is None else f"{v.ratio:.3g}"
                told = f"{v.verdict}: {v.why}" if v.verdict else "predicted"
                rows.append((v.row, v.predicted, v.published or "nothing", ratio, told))
        count = {verdict: sum(v.verdict == verdict for v in verdicts) for verdict in OF_A_SYSTEM}
        show(
            table("Systems, predicted and published", columns, rows),
            f"{len({v.system for v in verdicts})} systems: {count['within']} figures within our"
            f" bounds of what was published, {count['apart']} apart for what was not,"
            f" {count['differs']} differ",
        )
    return exit_code(verdicts)


def exit_code(verdicts: Sequence[ClaimVerdict | SystemVerdict]) -> int:
    """0 if every claim is reproduced or explained, else 1."""
    return NO if any(v.verdict == "differs" for v in verdicts) else OK


def counted(verdicts: Sequence[ClaimVerdict]) -> str:
    """How many claims there are of each verdict."""
    count = {verdict: sum(v.verdict == verdict for v in verdicts) for verdict in STYLES}
    return (
        f"{len(verdicts)} claims: {count['agrees']} agree as printed,"
        f" {count['worked out']} as worked out,"
        f" {count['explained']} contradict themselves and are explained,"
        f" {count['differs']} differ"
    )


def _of_id(name: str) -> ClaimVerdict:
    known = {v.id: v for v in check_all()}
    if name in known:
        return known[name]
    hint = meant(name, known, "ids: tokenmill claims", most=3, cutoff=0.4)
    raise PlanError(f"no claim {name!r}; {hint}")


def _listed(verdicts: Sequence[ClaimVerdict]) -> Iterator[Any]:
    columns = ("claim", ">published", ">computed", "verdict")
    for document, claims in groupby(verdicts, key=lambda v: v.document):
        yield table(document, columns, map(_row, claims))
    explained = any(v.verdict == "explained" for v in verdicts)
    way = ["--id CLAIM shows the figures that explain one"] if explained else []
    yield [counted(verdicts), *way]


def _row(claim: ClaimVerdict) -> tuple[Any, ...]:
    why = [Padding(Text(line, style="dim"), INDENTED) for line in _notes(claim)]
    return (
        Group(Text(claim.id, style="bold"), Text(claim.claim), *why),
        "\n".join(f.published for f in claim.figures),
        "\n".join(f.computed.partition(" ")[0] for f in claim.figures),  # units beside it
        Text(claim.verdict, style=STYLES[claim.verdict]),
    )


def _in_full(claim: ClaimVerdict) -> Iterator[Any]:
    yield f"{claim.document}: {claim.claim}"
    yield _figures("as the document has it", claim.figures)
    if claim.reconciled:
        yield _figures("what explains it", claim.reconciled)
    yield [Text(claim.verdict, style=STYLES[claim.verdict]), *_notes(claim)]


def _notes(claim: ClaimVerdict) -> list[str]:
    """Why it is so, and what it rests on that nobody has found in a document."""
    flagged = [f"unverified: {', '.join(claim.unverified)}"] if claim.unverified else []
    return [claim.why, *flagged] if claim.why else flagged


def _figures(title: str, figures: Sequence[FigureVerdict]) -> Table:
    columns = ("figure", ">published", ">computed", "within tolerance")
    return table(title, columns, [(f.of, f.published, f.computed, f.within) for f in figures])
