"""Where documents and bytes went: counts that must add up.

    docs_in + docs_created = docs_out + sum(removed) + sum(failed)
    bytes_in               = bytes_out + bytes_removed + bytes_edited

Bytes are UTF-8 bytes of document text. `bytes_edited` is what a stage took from
documents it passed on; it is negative where a stage made text longer.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pipelines.errors import LedgerError


@dataclass(frozen=True, kw_only=True)
class StageStats:
    """What one stage did to some documents. Stats of different batches add up.

    removed: documents by reason.  failed: documents by cause.
    docs_created: documents made by splitting or repeating others.
    """

    docs_in: int = 0
    docs_created: int = 0
    docs_out: int = 0
    removed: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, int] = field(default_factory=dict)
    bytes_in: int = 0
    bytes_out: int = 0
    bytes_removed: int = 0
    bytes_edited: int = 0

    def __add__(self, other: "StageStats") -> "StageStats":
        return StageStats(
            docs_in=self.docs_in + other.docs_in,
            docs_created=self.docs_created + other.docs_created,
            docs_out=self.docs_out + other.docs_out,
            removed=_add_counts(self.removed, other.removed),
            failed=_add_counts(self.failed, other.failed),
            bytes_in=self.bytes_in + other.bytes_in,
            bytes_out=self.bytes_out + other.bytes_out,
            bytes_removed=self.bytes_removed + other.bytes_removed,
            bytes_edited=self.bytes_edited + other.bytes_edited,
        )

    def check(self, where: str) -> "StageStats":
        """Return self if it balances.

        Raises:
            LedgerError: it does not; the message shows both sides and names `where`.
        """
        out = self.docs_out + sum(self.removed.values()) + sum(self.failed.values())
        if self.docs_in + self.docs_created != out:
            raise LedgerError(
                f"{where}: {self.docs_in} documents in and {self.docs_created} created, but"
                f" {self.docs_out} out, {dict(self.removed)} removed, {dict(self.failed)} failed"
            )
        if self.bytes_in != self.bytes_out + self.bytes_removed + self.bytes_edited:
            raise LedgerError(
                f"{where}: {self.bytes_in} bytes in, but {self.bytes_out} out,"
                f" {self.bytes_removed} removed and {self.bytes_edited} edited away"
            )
        return self

    def to_json(self) -> dict[str, Any]:
        """The counts as a JSON object; `from_json` undoes it."""
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "StageStats":
        return StageStats(**data)


def check_chain(stages: Iterable[tuple[str, StageStats]], where: str) -> None:
    """Check each stage, and that each takes in exactly what the one before let out.

    Raises:
        LedgerError: a stage does not balance, or documents or bytes vanish between two stages.
    """
    previous: tuple[str, StageStats] | None = None
    for name, stats in stages:
        stats.check(f"{where}, {name}")
        if previous is not None:
            before, old = previous
            if (old.docs_out, old.bytes_out) != (stats.docs_in, stats.bytes_in):
                raise LedgerError(
                    f"{where}: {before} let out {old.docs_out} documents of {old.bytes_out} bytes,"
                    f" {name} took in {stats.docs_in} of {stats.bytes_in}"
                )
        previous = (name, stats)


def _add_counts(a: Mapping[str, int], b: Mapping[str, int]) -> dict[str, int]:
    return {k: a.get(k, 0) + b.get(k, 0) for k in sorted(a.keys() | b.keys())}
