"""Whether this package reproduces what documents say, or can say why not."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal, TypeAlias

from tokenmill.sizing.claims.claim import TOLERANCES, Claim, Figure, Tolerance, claims
from tokenmill.sizing.claims.compute import amount, unverified_cells
from tokenmill.sizing.claims.quantity import parse_quantity, show_in
from tokenmill.sizing.units import UnitError

Verdict: TypeAlias = Literal["agrees", "worked out", "explained", "differs"]


@dataclass(frozen=True, kw_only=True)
class FigureVerdict:
    """of: what it is of, "" where a claim has one figure.  ratio: computed over published."""

    of: str
    published: str
    computed: str
    ratio: float
    within: bool


@dataclass(frozen=True, kw_only=True)
class ClaimVerdict:
    """verdict: agrees, each figure that the document prints within its tolerance;
    worked out, likewise, but some are not printed and follow from those that are;
    explained, the document contradicts itself and the cause, or its size, is reproduced;
    differs, a bug of ours.

    why: of a contradiction, or of a difference; a note where all agree.
    reconciled: figures with the inputs that explain a contradiction.
    unverified: cells of tables that went in and were not found in their source.
    """

    id: str
    document: str
    claim: str
    verdict: Verdict
    figures: tuple[FigureVerdict, ...]
    reconciled: tuple[FigureVerdict, ...] = ()
    why: str = ""
    unverified: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@cache
def check_all() -> tuple[ClaimVerdict, ...]:
    """The verdict on every claim that ships."""
    return tuple(check(claim) for claim in claims())


def check(claim: Claim) -> ClaimVerdict:
    """Compute a claim's figures, and those that reconcile it where it contradicts itself."""
    figures = _compare(claim.figures, claim.tolerance)
    against = claim.contradiction
    reconciled = () if against is None else _compare(against.figures, claim.tolerance)
    verdict, why = _judged(claim, figures, reconciled)
    return ClaimVerdict(
        id=claim.id,
        document=claim.document,
        claim=claim.claim,
        verdict=verdict,
        figures=figures,
        reconciled=reconciled,
        why=why,
        unverified=_unverified(claim),
    )


def _judged(
    claim: Claim, figures: tuple[FigureVerdict, ...], reconciled: tuple[FigureVerdict, ...]
) -> tuple[Verdict, str]:
    """The verdict, and why."""
    against, off = claim.contradiction, [f for f in figures if not f.within]
    if against is None:
        if off:
            return "differs", f"off by {off[0].ratio - 1:+.1%}"
        return "worked out" if claim.worked_out else "agrees", claim.note or ""
    if not off:
        return "differs", f"agrees, but was told apart: {against.why}"
    if failed := [f for f in reconciled if not f.within]:
        ratio = failed[0].ratio - 1
        return "differs", f"no longer explained, off by {ratio:+.1%}: {against.why}"
    if against.ratio is not None and not _near(off[0].ratio, against.ratio, TOLERANCES["exact"]):
        return "differs", f"off by {off[0].ratio:.4g}, not {against.ratio:.4g}: {against.why}"
    return "explained", against.why


def _unverified(claim: Claim) -> tuple[str, ...]:
    explaining = () if claim.contradiction is None else claim.contradiction.figures
    figures = (*claim.figures, *explaining)
    cells = (cell for figure in figures for cell in unverified_cells(figure.expression))
    return tuple(dict.fromkeys(cells))


def _compare(figures: Iterable[Figure], tolerance: Tolerance) -> tuple[FigureVerdict, ...]:
    return tuple(_figure(figure, figure.tolerance or tolerance) for figure in figures)


def _figure(figure: Figure, tolerance: Tolerance) -> FigureVerdict:
    """How what is computed compares with what was published."""
    published = parse_quantity(figure.published)
    computed = amount(figure.expression)
    if published.unit.base != computed.unit.base:
        raise UnitError(
            f"{figure.published!r} is in {published.unit.base}, computed in {computed.unit.base}"
        )
    if tolerance == "printed":
        within = abs(computed.value - published.value) <= published.step * (1 + 1e-9)
    else:
        within = _near(computed.value, published.value, TOLERANCES[tolerance])
    return FigureVerdict(
        of=figure.of or "",
        published=figure.published,
        computed=show_in(computed.value, published.unit),
        ratio=computed.value / published.value,
        within=within,
    )


def _near(value: float, wanted: float, tolerance: float) -> bool:
    return abs(value - wanted) <= tolerance * abs(wanted)
