"""The accelerators a plan may name, from `data/accelerators.yaml`, which says its columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from sizing.errors import PlanError
from sizing.units import parse_bytes

TABLE = Path(__file__).parent / "data" / "accelerators.yaml"
TABLES_SOURCE = "stas00/ml-engineering 744d01e, compute/accelerator"

# column of the table -> field of an Accelerator
COLUMNS = {"bf16_tflops": "dense_flops_per_s", "hbm": "hbm_bytes", "per_node": "per_node"}


@dataclass(frozen=True, kw_only=True)
class Accelerator:
    """A row of the table.

    dense_flops_per_s: BF16 peak without sparsity, FLOP/s.  hbm_bytes: as its maker prints it.
    per_node: how many share a node.
    unverified: fields that come from memory and were not found in `source`.
    """

    name: str
    dense_flops_per_s: float
    hbm_bytes: int
    per_node: int
    source: str
    aliases: tuple[str, ...] = ()
    unverified: frozenset[str] = frozenset()
    note: str | None = None

    def source_of(self, field: str) -> str:
        """Where one field's value was read, flagged if it was not."""
        where = f"{self.name}: {self.source}"
        return f"{where} (unverified)" if field in self.unverified else where


@cache
def accelerators() -> tuple[Accelerator, ...]:
    """Every row, in the order of the file."""
    rows = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return tuple(_accelerator(row) for row in rows)


def find_accelerator(name: str) -> Accelerator:
    """The row of this name or alias; case, spaces and dashes do not matter.

    Raises:
        PlanError: there is none; the nearest names are offered.

    >>> find_accelerator("h100-sxm").name, find_accelerator("A100").hbm_bytes
    ('H100 SXM', 80000000000)
    """
    rows = {_key(n): row for row in accelerators() for n in (row.name, *row.aliases)}
    if _key(name) in rows:
        return rows[_key(name)]
    near = get_close_matches(_key(name), rows, n=6, cutoff=0.5)
    offered = list(dict.fromkeys(rows[n].name for n in near))[:3]
    hint = f"did you mean {' or '.join(map(repr, offered))}?" if offered else _every_name()
    raise PlanError(
        f"unknown accelerator {name!r}; {hint}"
        " (or give cluster.dense_flops_per_s and cluster.per_node)"
    )


def _accelerator(row: Mapping[str, Any]) -> Accelerator:
    return Accelerator(
        name=row["name"],
        dense_flops_per_s=row["bf16_tflops"] * 1e12,
        hbm_bytes=parse_bytes(row["hbm"]),
        per_node=row["per_node"],
        source=TABLES_SOURCE if row["source"] == "tables" else row["source"],
        aliases=tuple(row.get("aliases", ())),
        unverified=frozenset(COLUMNS[c] for c in row.get("unverified", ())),
        note=row.get("note"),
    )


def _key(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


def _every_name() -> str:
    return f"known: {', '.join(row.name for row in accelerators())}"
