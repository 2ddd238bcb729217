"""The account of each stage over all parts, and whether it leaves anything to predict."""
# stands alone: says what a scan left, not what is predicted from it

from collections.abc import Mapping, Sequence
from typing import Any

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.measure.scan import READ
from tokenmill.pipelines.runs.receipt import Receipt


def totals_of(receipts: Sequence[Receipt[Any]]) -> dict[str, StageStats]:
    """The account of each stage over all parts, in order."""
    totals: dict[str, StageStats] = {}
    for receipt in receipts:
        for name, stats in receipt.stats:
            totals[name] = totals.get(name, StageStats()) + stats
    return totals


def check_survivors(totals: Mapping[str, StageStats]) -> None:
    """Refuse a corpus of which nothing is left.

    Raises:
        ConfigError: it is empty, or names the stage that took the last document.
    """
    if not totals or totals[READ].docs_in == 0:
        raise ConfigError("the inputs hold no document; nothing to predict")
    for name, stats in totals.items():
        if stats.docs_out == 0:
            reasons = {**stats.removed, **stats.failed}
            worst = max(reasons, key=lambda r: reasons[r]) if reasons else "nothing went in"
            raise ConfigError(
                f"{name} leaves none of {stats.docs_in:,} documents (most often: {worst});"
                " nothing to predict"
            )
        if stats.bytes_out == 0:
            raise ConfigError(
                f"the {stats.docs_out:,} documents that {name} leaves have no text; nothing to"
                " predict"
            )
