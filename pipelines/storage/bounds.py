"""How much memory a packed thing may take, told before it is made.

What compresses well is real, what compresses a thousandfold is a bomb: a thing may take
`MOST_TIMES` its size in the file, and `FREE_BYTES` however small it is.
"""

FREE_BYTES = 32 * 1024**2
MOST_TIMES = 32
CAUSE = "expands_too_far"


class ExpandsError(ValueError):
    """Something would take more memory than its size in the file allows."""


def most_bytes(packed: int) -> int:
    """What so many packed bytes may take."""
    return max(FREE_BYTES, MOST_TIMES * packed)


def check_expansion(unpacked: int, packed: int, what: str) -> int:
    """Raise ExpandsError where something takes more than it may; else say how much that is."""
    if unpacked > most_bytes(packed):
        raise ExpandsError(
            f"{what} of {packed:,} bytes unpacks to {unpacked:,}; write it again in smaller ones,"
            " or without compression"
        )
    return unpacked
