"""How the work of a flow ended, what there is to show of it, and what is noted: plain data."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

MOST_ROWS = 1000  # of a table: a page of the UI

Note: TypeAlias = tuple[Any, ...]  # of `flows.notes`: its kind, and what it says
# the last one: how the work ended. ("ended", told, whether something failed, artifacts);
# ("failed", message, a traceback if it is a bug); ("stopped", why)
END = frozenset({"ended", "failed", "stopped"})


class Shown(NamedTuple):
    """An artifact: rows of a table, or Markdown; key: of a-z, 0-9 and dashes."""

    key: str
    content: Sequence[dict[str, Any]] | str
    description: str | None = None


class Ended(NamedTuple):
    """How the work of a flow ended.

    told: in one sentence, for the state of the flow run.  failed: whether something of it did.
    artifacts: to be published, if the server is there.
    """

    result: Any
    told: str
    failed: bool = False
    artifacts: Iterable[Shown] = ()


def key_of(*names: str) -> str:
    """A key for an artifact of that name.

    >>> key_of("ledger", "My corpus, v2")
    'ledger-my-corpus-v2'
    """
    return "-".join(part for name in names for part in re.findall("[a-z0-9]+", name.lower()))
