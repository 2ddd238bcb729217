"""The names that somebody may have meant."""

from collections.abc import Iterable
from difflib import get_close_matches

LEAST_PART = 2  # letters; one letter is part of almost every name


def nearest(name: str, names: Iterable[str], *, most: int, cutoff: float = 0.5) -> list[str]:
    """At most `most` of `names`: those that contain what was written, else those spelled alike.

    Those that begin with it come first; otherwise the order of `names` is kept.

    >>> nearest("FSx", ["NFS", "FSx Lustre 125", "old FSx", "FSx Lustre 250"], most=3)
    ['FSx Lustre 125', 'FSx Lustre 250', 'old FSx']
    >>> nearest("NFSS", ["NFS", "FSx Lustre 125"], most=3)
    ['NFS']
    """
    known, written = {_key(n): n for n in reversed(list(names))}, _key(name)
    known = dict(reversed(known.items()))
    within = [key for key in known if len(written) >= LEAST_PART and written in key]
    within.sort(key=lambda key: not key.startswith(written))
    near = within or get_close_matches(written, known, n=most, cutoff=cutoff)
    return [known[key] for key in near[:most]]


def _key(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())
