"""What is said of a storage tier: whether it meets a requirement, and what of it would."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from sizing.requirement import Requirement
from sizing.units import format_quantity

Outcome: TypeAlias = Literal["enough", "short", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One tier against one requirement.

    requirement: name of the sheet's row.
    limit: of the tier, the one that is furthest from enough: "one client", "each TiB".
    shortfall: how many times what is offered is needed; None where nothing limits it, or where
    nobody has published what does.
    enough: how much of the tier is enough, where more of it helps: bytes, drives, prefixes.
    each_node: that much in each node.
    steps: what the two were computed from besides the sheet's rows, in order.
    unverified: cells of the tier that went in and were not found in a document.
    """

    tier: str
    requirement: str
    outcome: Outcome
    limit: str = ""
    shortfall: Requirement | None = None
    enough: Requirement | None = None
    each_node: bool = False
    steps: tuple[Requirement, ...] = ()
    unverified: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """In words: "short 3.2 x (each TiB); enough with 73.4 TB"."""
        if self.outcome == "unknown":
            return "not published"
        words = ""
        if self.outcome == "short" and self.shortfall is not None:
            words = f"short {self.shortfall.value:.3g} x ({self.limit})"
        if self.enough is not None:
            where = " in each node" if self.each_node else ""
            much = format_quantity(self.enough.value, self.enough.unit)
            words += f"{'; ' if words else ''}enough with {much}{where}"
        words = words or "enough"
        return f"{words} (unverified)" if self.unverified else words

    def to_json(self) -> dict[str, Any]:
        return {
            **vars(self),
            "shortfall": None if self.shortfall is None else self.shortfall.to_json(),
            "enough": None if self.enough is None else self.enough.to_json(),
            "steps": [step.to_json() for step in self.steps],
            "told": self.told,
        }


def to_buy(verdicts: Iterable[Verdict]) -> Requirement | None:
    """How much of one tier meets every requirement; None where no amount does.

    verdicts: all of one tier. What nobody has published is passed over.
    """
    amounts = []
    for verdict in verdicts:
        if verdict.outcome == "short" and verdict.enough is None:
            return None
        # prefixes are not bought, and do not compare with what is
        if verdict.enough is not None and verdict.enough.unit in ("bytes", "drives"):
            amounts.append(verdict.enough)
    return max(amounts, key=lambda row: row.value, default=None)
