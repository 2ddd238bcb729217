"""Documents by what earlier steps, or other programs, found of them: conditions on columns.

    quality > 0.3 and language in ("en", "de")
    text ── ast.parse ──► tree ── an allow-list of nodes ──► functions of Arrow, on whole columns

Nothing of it is run as Python: the tree is walked, and what is not listed here is refused. As in
SQL, what is asked of a value that is not there is unknown, and `x is null` asks for that.

    or, and, not            of conditions
    == != < <= > >=         of two values, or several as 0.3 < quality <= 0.8
    in, not in              of a value and a list of constants
    is null, is not null    of a column
    + - * /                 of numbers
    length(x) lower(x)      of text: characters, small letters
    contains(x, "y") starts_with(x, "y") ends_with(x, "y")
    coalesce(x, 0.5)        the value, or another where there is none
    1 0.5 "text" true false constants; a time is written as text: date >= "2024-01-31"
"""

import ast
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import field_validator

from tokenmill.dedup.arrays import F64, I64
from tokenmill.pipelines.core.step import KEEP, StageResult, Step, keep_where
from tokenmill.sizing.errors import meant

MOST_CHARS = 10_000
MOST_NODES = 2_000
MOST_DEPTH = 40
Value: TypeAlias = pa.Array | pa.Scalar

COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
}
ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
}
FUNCTIONS: dict[str, tuple[int, Callable[..., Value]]] = {  # how many arguments, and what is done
    "length": (1, pc.utf8_length),
    "lower": (1, pc.utf8_lower),
    "contains": (2, lambda x, y: pc.match_substring(x, _text(y))),
    "starts_with": (2, lambda x, y: pc.starts_with(x, _text(y))),
    "ends_with": (2, lambda x, y: pc.ends_with(x, _text(y))),
    "coalesce": (2, lambda x, y: pc.coalesce(x, _like(y, x))),
}
WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}


class WhereError(ValueError):
    """A condition that is none, or does not fit the columns; the message says why."""


class Where:
    """A condition that has been read; names: the columns it asks for, in order."""

    def __init__(self, text: str) -> None:
        """Read a condition; WhereError where it is none, or too long or deep."""
        self._tree = _parsed(text)
        _bounded(self._tree)
        nodes = list(ast.walk(self._tree))
        for node in nodes:
            if isinstance(node, ast.expr) and type(node) not in {*_VALUES, ast.Tuple, ast.List}:
                raise _refused(node)
        named = [n for n in nodes if isinstance(n, ast.Name)]
        called = {id(n.func) for n in nodes if isinstance(n, ast.Call)}
        named.sort(key=lambda n: (n.lineno, n.col_offset))
        asked = (n.id for n in named if id(n) not in called and n.id not in WORDS)
        self.names = tuple(dict.fromkeys(asked))

    def check(self, schema: pa.Schema) -> None:
        """Compare with the columns; WhereError: one is not there, or values cannot be compared."""
        for name in self.names:
            if name not in schema.names:
                there = meant(name, schema.names, f"there are {', '.join(schema.names)}")
                raise WhereError(f"documents have no column {name!r}; {there}")
        nothing = [pa.nulls(0, field.type) for field in schema]
        self.holds(pa.record_batch(nothing, schema=schema))

    def holds(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        """(n_docs,) whether it holds of each; null where that is unknown."""
        try:
            found = _value(self._tree, batch)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as e:
            raise WhereError(f"cannot be computed: {str(e).splitlines()[0]}") from None
        if not pa.types.is_boolean(found.type):
            raise WhereError(f"is no condition but {found.type}; compare it, as … > 0.5")
        # of constants alone it holds of all documents, or of none
        return pa.repeat(found, batch.num_rows) if isinstance(found, pa.Scalar) else found


@cache
def where(text: str) -> Where:
    """A condition, read once a process."""
    return Where(text)


def _parsed(text: str) -> ast.expr:
    if len(text) > MOST_CHARS:
        raise WhereError(f"is of {len(text):,} characters; {MOST_CHARS:,} are read")
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        why = f"{e.msg}, at character {e.offset}" if isinstance(e, SyntaxError) else "is too deep"
        raise WhereError(f"cannot be read: {why}") from None


def _bounded(tree: ast.expr) -> None:
    """Refuse what is too large, before anything walks it by calling itself."""
    level: list[ast.AST] = [tree]
    nodes = depth = 0
    while level:
        nodes, depth = nodes + len(level), depth + 1
        if nodes > MOST_NODES or depth > MOST_DEPTH:
            raise WhereError(f"has over {MOST_NODES:,} parts, or is over {MOST_DEPTH} deep")
        level = [child for node in level for child in ast.iter_child_nodes(node)]


def _value(node: ast.expr, batch: pa.RecordBatch) -> Value:
    """What a part of a condition is for each document: a column, or one value for all."""
    if type(node) not in _VALUES:
        raise _refused(node)
    return _VALUES[type(node)](node, batch)


def _refused(node: ast.AST) -> WhereError:
    what = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__.lower()
    shown = what if len(what) <= 40 else f"{what[:40]}…"
    return WhereError(f"{shown!r} is no part of a condition; pipelines/filters lists what is")


def _name(node: ast.Name, batch: pa.RecordBatch) -> Value:
    return pa.scalar(WORDS[node.id]) if node.id in WORDS else batch[node.id]


def _constant(node: ast.Constant, _: pa.RecordBatch) -> Value:
    if node.value is not None and type(node.value) not in (bool, int, float, str):
        raise _refused(node)
    try:
        return pa.scalar(node.value)
    except (OverflowError, pa.ArrowInvalid):
        raise WhereError(f"number {str(node.value)[:20]} is too large") from None


def _both(node: ast.BoolOp, batch: pa.RecordBatch) -> Value:
    join = pc.and_kleene if isinstance(node.op, ast.And) else pc.or_kleene
    first, *rest = (_value(part, batch) for part in node.values)
    for part in rest:
        first = join(first, part)
    return first


def _unary(node: ast.UnaryOp, batch: pa.RecordBatch) -> Value:
    value = _value(node.operand, batch)
    if isinstance(node.op, ast.Not):
        return pc.invert(value)
    if isinstance(node.op, ast.USub):
        return pc.negate(value)
    raise _refused(node)


def _arithmetic(node: ast.BinOp, batch: pa.RecordBatch) -> Value:
    if type(node.op) not in ARITHMETIC:
        raise _refused(node)
    left, right = _value(node.left, batch), _value(node.right, batch)
    if {left.type, right.type} & {pa.string(), pa.large_string()}:
        raise WhereError(f"{ast.unparse(node)[:40]!r} reckons with text, which is no number")
    # fractions for all: whole numbers would wrap, and 1 / 2 be 0
    return getattr(pc, ARITHMETIC[type(node.op)])(left.cast("float64"), right.cast("float64"))


def _compare(node: ast.Compare, batch: pa.RecordBatch) -> Value:
    made: Value | None = None
    left = node.left
    for op, right in zip(node.ops, node.comparators, strict=True):
        found = _compared(left, op, right, batch)
        made, left = found if made is None else pc.and_kleene(made, found), right
    assert made is not None
    return made


def _compared(left: ast.expr, op: ast.cmpop, right: ast.expr, batch: pa.RecordBatch) -> Value:
    value = _value(left, batch)
    if isinstance(op, ast.Is | ast.IsNot):
        other = _value(right, batch)
        if not isinstance(other, pa.Scalar) or other.is_valid:
            raise WhereError("'is' asks for null alone, as quality is null; write == else")
        return pc.is_null(value) if isinstance(op, ast.Is) else pc.is_valid(value)
    if isinstance(op, ast.In | ast.NotIn):
        found = _among(value, right, batch)
        return found if isinstance(op, ast.In) else pc.invert(found)
    other = _value(right, batch)
    pair = (
        (_like(value, other), other)
        if isinstance(value, pa.Scalar)
        else (value, _like(other, value))
    )
    return getattr(pc, COMPARED[type(op)])(*pair)


def _among(value: Value, right: ast.expr, batch: pa.RecordBatch) -> Value:
    """Whether values stand in a list; unknown of null."""
    if not isinstance(right, ast.Tuple | ast.List):
        raise WhereError("'in' is followed by a list, as language in ('en', 'de')")
    listed = [_like(_value(part, batch), value) for part in right.elts]
    if not all(isinstance(part, pa.Scalar) for part in listed):
        raise WhereError("'in' is followed by a list of constants")
    several = pa.array([part.as_py() for part in listed])
    pc.equal(pa.nulls(0, value.type), pa.nulls(0, several.type))  # refuses what is never equal
    try:
        several = several.cast(value.type)
    except pa.ArrowInvalid:  # 0.5 among whole numbers
        value = value.cast(several.type)
    return pc.if_else(pc.is_valid(value), pc.is_in(value, several), None)


def _call(node: ast.Call, batch: pa.RecordBatch) -> Value:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name not in FUNCTIONS or node.keywords:
        raise _refused(node)
    n, function = FUNCTIONS[name]
    values = [_value(part, batch) for part in node.args]
    if len(values) != n or not all(isinstance(other, pa.Scalar) for other in values[1:]):
        way = "a column" if n == 1 else "a column and a constant"
        raise WhereError(f"{name} takes {way}")
    return function(*values)


_VALUES: Mapping[type[ast.expr], Callable[..., Value]] = {
    ast.Name: _name,
    ast.Constant: _constant,
    ast.BoolOp: _both,
    ast.UnaryOp: _unary,
    ast.BinOp: _arithmetic,
    ast.Compare: _compare,
    ast.Call: _call,
}


def _text(constant: pa.Scalar) -> str:
    text = constant.as_py()
    if not isinstance(text, str):
        raise WhereError(f"looks for {text!r}, which is no text; write it in quotes")
    return text


def _like(value: Value, other: Value) -> Value:
    """A constant as another value's kind where it is written as text, as times are, or is null."""
    if not isinstance(value, pa.Scalar) or value.type == other.type:
        return value
    is_time = pa.types.is_timestamp(other.type) and pa.types.is_string(value.type)
    return _time(value.as_py(), other.type) if is_time else value


def _time(text: str, kind: pa.DataType) -> pa.Scalar:
    try:
        return pa.scalar(text).cast(pa.timestamp("ms")).cast(kind)
    except pa.ArrowInvalid:
        raise WhereError(f"{text!r} is no time, as '2024-01-31' or '2024-01-31T12:00:00'") from None


NOT_SELECTED, UNKNOWN = 1, 2
REASONS = ("not_selected", "unknown_value")
MOST_SHOWN = 80  # characters of a value, in a detail


class Select(Step):
    """Keep documents of which a condition holds, on the columns that steps before it added with
    `action: annotate`, that inputs brought along, and on `id`, `url`, `text`, `date`, `source`.

    where: the condition, as quality > 0.3 and language in ("en", "de").
    unknown: what becomes of documents of which it is not known, for a value that is not there.

    Reasons: "not_selected", "unknown_value"; the value is that of the first number which the
    condition asks for, and the detail names all it asks for, as quality=0.21 language='fr'.
    """

    name: ClassVar[str] = "select"

    where: str
    unknown: Literal["keep", "remove"] = "remove"

    @field_validator("where")
    @classmethod
    def _can_be_read(cls, text: str) -> str:
        where(text)
        return text

    @property
    def condition(self) -> Where:
        return where(self.where)

    @property
    def asks_for(self) -> tuple[str, ...]:
        return self.condition.names

    def check_columns(self, documents: pa.Schema) -> None:
        self.condition.check(documents)

    def __call__(self, batch: pa.RecordBatch) -> StageResult:
        holds = self.condition.holds(batch)
        verdicts = np.where(np.asarray(holds.fill_null(True), np.bool_), KEEP, NOT_SELECTED)
        if self.unknown == "remove":
            verdicts = np.where(np.asarray(holds.is_null(), np.bool_), UNKNOWN, verdicts)
        gone, verdicts = np.flatnonzero(verdicts), verdicts.astype(np.uint8)
        values = self._first_number(batch)
        details = _details(batch.select(self.condition.names), gone)
        return keep_where(self.name, batch, verdicts, REASONS, values=values, details=details)

    def _first_number(self, batch: pa.RecordBatch) -> F64 | None:
        for name in self.condition.names:
            kind = batch.schema.field(name).type
            if pa.types.is_floating(kind) or pa.types.is_integer(kind):
                return np.asarray(pc.fill_null(batch[name].cast(pa.float64()), np.nan))
        return None


def _details(asked: pa.RecordBatch, gone: I64) -> pa.Array:
    """(n_docs,) string, the values of the documents that leave; null of the others."""
    told: list[str | None] = [None] * asked.num_rows
    for row, values in zip(gone.tolist(), asked.take(pa.array(gone)).to_pylist(), strict=True):
        told[row] = " ".join(f"{name}={_shown(value)}" for name, value in values.items())
    return pa.array(told, pa.string())


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
