"""Places of the product's code that can be changed, and what each would be changed into."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
OPERATORS = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "*",
    ast.LShift: ">>", ast.RShift: "<<", ast.BitAnd: "|", ast.BitOr: "&", ast.BitXor: "&",
    ast.Pow: "*",
}  # fmt: skip
# what does nothing at run time, or says something: types, decorators, messages; `strict` of zip,
# which tells of a mistake elsewhere
SILENT = ("annotation", "returns", "decorator_list", "type_params", "exc", "msg")


class Change(NamedTuple):
    """Bytes `start` to `stop` of a file (`old`) become `new`; `line` counts from 1."""

    path: Path
    line: int
    start: int
    stop: int
    old: str
    new: str

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.stop :]


class _File:
    """The source of a file by line and column, as ast counts them."""

    def __init__(self, path: Path, source: bytes) -> None:
        self.path, self.source = path, source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def begin(self, node: ast.expr | ast.stmt) -> int:
        return self.starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt) -> int:
        return self.starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)

    def change(self, start: int, stop: int, new: str) -> Change:
        line = self.source.count(b"\n", 0, start) + 1
        return Change(self.path, line, start, stop, self.source[start:stop].decode(), new)

    def between(self, left: ast.expr, right: ast.expr, new: str) -> Iterator[Change]:
        """The operator between two operands, if no bracket or comment stands there."""
        start, stop = self.end(left), self.begin(right)
        text = self.source[start:stop].decode()
        old = text.strip()
        if old and not set(old) & set("()#\n\\"):
            at = start + text.index(old)
            yield self.change(at, at + len(old), new)


def changes_of(path: Path, source: bytes) -> list[Change]:
    """All changes of a file, each of one operator, constant, condition or statement."""
    file = _File(path, source)
    return [change for node in _speaking(ast.parse(source)) for change in _changes(file, node)]


def _speaking(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for name, value in ast.iter_fields(node):
        if name in SILENT or isinstance(node, ast.JoinedStr):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and getattr(child, "arg", None) != "strict":
                yield from _speaking(child)


def _changes(file: _File, node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Constant):
        return _of_constant(file, node)
    return _of_statement(file, node) if isinstance(node, ast.stmt) else _of_operator(file, node)


def _of_operator(file: _File, node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            yield from file.between(left, right, COMPARISONS[type(op)])
        case ast.BinOp(left=left, op=op, right=right):
            if type(op) in OPERATORS and not (_is_text(left) or _is_text(right)):
                yield from file.between(left, right, OPERATORS[type(op)])
        case ast.BoolOp(op=op, values=[left, right, *_]):
            yield from file.between(left, right, "or" if isinstance(op, ast.And) else "and")
        case ast.UnaryOp(op=ast.Not() | ast.USub() as op):
            begin = file.begin(node)
            yield file.change(begin, begin + (3 if isinstance(op, ast.Not) else 1), "")
        case ast.IfExp(test=test):
            yield from _of_condition(file, test)


def _of_statement(file: _File, node: ast.stmt) -> Iterator[Change]:
    match node:
        case ast.If(test=test) | ast.While(test=test):
            yield from _of_condition(file, test)
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise():
            yield file.change(file.begin(node), file.end(node), "pass")
        case ast.Continue():
            yield file.change(file.begin(node), file.end(node), "break")
        case ast.Break():
            yield file.change(file.begin(node), file.end(node), "continue")


def _of_condition(file: _File, test: ast.expr) -> Iterator[Change]:
    """What stands for true becomes what does not, unless an operator in it is changed anyway."""
    if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant):
        start, stop = file.begin(test), file.end(test)
        yield file.change(start, stop, f"not ({file.source[start:stop].decode()})")


def _of_constant(file: _File, node: ast.Constant) -> Iterator[Change]:
    start, stop = file.begin(node), file.end(node)
    match node.value:
        case bool(value):
            yield file.change(start, stop, str(not value))
        case int(value):
            yield file.change(start, stop, str(value + 1))
        case float(value):
            yield file.change(start, stop, str(value * 1.5 + (value == 0)))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )
