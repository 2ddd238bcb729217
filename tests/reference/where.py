"""Conditions on one row at a time, by the three-valued logic of SQL: slow and obvious."""

OPERATORS = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def written(node):
    """A condition as it is written.

    ("or", a, b), ("and", a, b), ("not", a), ("in", column, constants), ("null", column), or an
    operator with a column and a constant.
    """
    kind, *parts = node
    if kind in ("or", "and"):
        return f"({written(parts[0])} {kind} {written(parts[1])})"
    if kind == "not":
        return f"not {written(parts[0])}"
    if kind == "in":
        return f"({parts[0]} in {list(parts[1])!r})"
    if kind == "null":
        return f"({parts[0]} is null)"
    return f"({parts[0]} {kind} {parts[1]!r})"


def holds(node, row):
    """True, False, or None where it is not known."""
    kind, *parts = node
    if kind == "not":
        found = holds(parts[0], row)
        return None if found is None else not found
    if kind in ("or", "and"):
        decisive = kind == "or"
        found = [holds(part, row) for part in parts]
        return decisive if decisive in found else None if None in found else not decisive
    value = row[parts[0]]
    if kind == "null":
        return value is None
    if value is None:
        return None
    return value in parts[1] if kind == "in" else OPERATORS[kind](value, parts[1])
