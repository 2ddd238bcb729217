"""What is said of a storage tier: whether it meets a requirement, and what of it would."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tokenmill.sizing.requirement import Requirement
from tokenmill.sizing.units import format_quantity

Outcome: TypeAlias = Literal["enough", "short", "not shared", "unknown"]
MOST_NODE_DRIVES = 24  # our choice: servers of two units with more are rare


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One tier against one requirement.

    tier: its name.  requirement: name of the sheet's row.
    outcome: "not shared" of checkpoints in drives that are lost with their node.
    limit: of the tier, the one that is furthest from enough: "one client", "each TiB".
    client_only: no limit but one client's is known, so that the servers were not judged.
    shortfall: how many times what is offered is needed; None where nothing limits it, or where
    nobody has published what does.
    enough: how much of the tier is enough, where more of it helps: bytes, drives, prefixes.
    instances: that it takes, where it is more than one.
    reason: why no amount is enough.
    each_node: that much in each node.
    own: the tier is a row of the plan.
    steps: what these were computed from besides the sheet's rows, in order.
    unverified: cells of the tier that went in and were not found in a document.
    """

    tier: str
    requirement: str
    outcome: Outcome
    limit: str = ""
    client_only: bool = False
    shortfall: Requirement | None = None
    enough: Requirement | None = None
    instances: Requirement | None = None
    reason: str = ""
    each_node: bool = False
    own: bool = False
    steps: tuple[Requirement, ...] = ()
    unverified: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """In words: "short 3.2 x (each TiB); enough with 73.4 TB"."""
        if self.outcome in ("unknown", "not shared"):
            return self.unjudged
        words = []
        if self.outcome == "short" and self.shortfall is not None:
            why = f"; {self.reason}" if self.reason.startswith("sold") else ""
            words.append(f"short {times(self.shortfall.value)} x ({self.limit}{why})")
        if self.enough is not None:
            words.append(f"enough with {self._much(' in each node')}")
            if self.too_many_drives:
                words.append(f"more than the {MOST_NODE_DRIVES} drives that a server may hold")
        told = "; ".join(words) or "enough"
        return f"{told} (unverified)" if self.unverified else told

    @property
    def unjudged(self) -> str:
        """Why there is no verdict."""
        if self.outcome == "not shared":
            return "not shared"
        return "not stated" if self.own else "not published"

    @property
    def amount(self) -> str:
        """How much is enough, in few words: "105 drives a node", "21.5 PB in 2 instances"."""
        return self._much(" a node")

    @property
    def too_many_drives(self) -> bool:
        """Whether it takes more drives in a node than servers hold."""
        return self.each_node and self.enough is not None and self.enough.value > MOST_NODE_DRIVES

    def _much(self, a_node: str) -> str:
        if self.enough is None:
            return ""
        much = format_quantity(self.enough.value, self.enough.unit)
        if self.instances is not None:
            much += f" in {format_quantity(self.instances.value, self.instances.unit)}"
        return f"{much}{a_node}" if self.each_node else much

    def to_json(self) -> dict[str, Any]:
        rows = {name: getattr(self, name) for name in ("shortfall", "enough", "instances")}
        return {
            **vars(self),
            **{name: None if row is None else row.to_json() for name, row in rows.items()},
            "steps": [step.to_json() for step in self.steps],
            "told": self.told,
        }


def times(ratio: float) -> str:
    """A ratio to three digits, without an exponent.

    >>> times(2.4567), times(1823.4), times(1e6)
    ('2.46', '1,820', '1,000,000')
    """
    return f"{float(f'{ratio:.3g}'):,.15g}"


def deciding(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The one that says how much of a tier meets every requirement; None where no amount does.

    verdicts: all of one tier. What nobody has published is passed over.
    """
    of_amount = []
    for verdict in verdicts:
        if verdict.outcome == "short" and verdict.enough is None:
            return None
        # prefixes are not bought, and do not compare with what is
        if verdict.enough is not None and verdict.enough.unit in ("bytes", "drives"):
            of_amount.append((verdict.enough.value, verdict))
    return max(of_amount, key=lambda pair: pair[0], default=(0, None))[1]


def to_buy(verdicts: Iterable[Verdict]) -> Requirement | None:
    """How much of one tier meets every requirement; None where no amount does."""
    found = deciding(verdicts)
    return None if found is None else found.enough


def told_to_buy(verdicts: Sequence[Verdict]) -> str:
    """That in few words, with what it leaves open; why not, where no amount is enough."""
    found = deciding(verdicts)
    if found is None:
        stuck = [v for v in verdicts if v.outcome == "short" and v.enough is None]
        return f"no amount: {stuck[0].reason}" if stuck else ""
    if found.each_node:
        more = ", more than fit" if found.too_many_drives else ""
        return f"{found.amount}{more}, for the dataset only"
    if any(v.client_only for v in verdicts):
        return f"{found.amount}, servers not judged"
    if all(v.outcome == "unknown" for v in verdicts if v is not found):
        return f"{found.amount}, speed not judged"
    return found.amount
