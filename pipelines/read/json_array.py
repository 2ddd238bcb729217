"""Objects of JSON that are no lines, as lines; the file is never in memory as a whole.

    [ {"id": 1, …}, {"id": 2, …}, … ]   ──►   {"id": 1, …}   {"id": 2, …}   …

They stand in an array, or alone, one or several, each over lines as it is written to be read.
What stands between two objects are blanks of the line before, so that lines keep their places.
"""

import re
from collections.abc import Iterator

from tokenmill.pipelines.read.lines import LineGroup, LostLine, in_limits
from tokenmill.pipelines.read.stream import DamagedError, pieces
from tokenmill.pipelines.read.text import BOM

INVALID, DAMAGED = "invalid_json", "damaged_json"
GROUP_BYTES = 1024**2
# No whole line of JSON ends in a mark behind which more must stand. The first of JSON Lines may,
# cut short or with a comma behind it; then the next begins with an object, as in a list alone.
_OPEN_LINE = rb'(\{(?:"(?:[^"\\\n]++|\\.)*+"|[^"\r\n]++){0,999}+)(?:(?<=[\[:])|(?<=[{,]))\r?\n(\{)?'
_BEGIN = re.compile(rb"\s*(?:(\[)\s*(?=\{)|(?=" + _OPEN_LINE + b"))")
# A whole string, or what opens or closes; a quote alone begins a string that goes on.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["\[\]{}]', re.DOTALL)
_BETWEEN = re.compile(rb"\s*+,?\s*+")


def is_no_lines(begin: bytes) -> bool:
    """Whether a file that begins so is one array of objects, or has objects over several lines.

    >>> is_no_lines(b' [\\n  {"id": 7'), is_no_lines(b'{\\n  "id": 7'), is_no_lines(b'{"id": 7}\\n')
    (True, True, False)
    """
    return _begun(begin) is not None


def _begun(data: bytes | bytearray) -> re.Match[bytes] | None:
    """The beginning of what is no lines."""
    found = _BEGIN.match(data.removeprefix(BOM))
    if found is None or found[3] is None or found[2].endswith((b"[", b":")):
        return found
    open_marks = bytearray()
    for token in _TOKEN.finditer(found[2]):
        if token[0] in (b"[", b"{"):
            open_marks += token[0]
        elif token[0] in (b"]", b"}"):
            del open_marks[-1:]
    return found if open_marks.endswith(b"[") else None


class _Array:
    """What has been read of an array and is not yet given out.

    held: from byte `offset` of the file on; an object begins there, or what stands before one.
    """

    def __init__(self, max_bytes: int) -> None:
        self.held, self.offset, self.max_bytes = bytearray(), 0, max_bytes
        self._scanned = self._start = 0  # in `held`: what was looked at; the object at hand
        self._depth = 0  # 1 is within the array
        self._begun = self._ended = self._alone = False

    def lines(self) -> Iterator[LineGroup | LostLine]:
        """The objects that are whole by now, and what stands between some that should not."""
        if not self._begun:
            self._begin()
        made: list[bytes] = []
        first, at = self.offset, 0
        for start, stop in self._objects():
            between = bytes(self.held[at:start])
            if not _BETWEEN.fullmatch(between):
                yield from self._group(first, made)
                made, first = [], self.offset + start
                yield self._lost(at, between, "not an object")
            elif made and between:
                made[-1] += b" " * (len(between) - 1)
            else:
                yield from self._group(first, made)
                made, first = [], self.offset + start
            made.append(bytes(self.held[start:stop]))
            at = stop
        yield from self._group(first, made)
        self._drop(at)

    def rest(self) -> LostLine | None:
        """What is wrong with the end of the file, if it is."""
        left = bytes(self.held)
        if self._ended:
            is_end = left.strip() in (b"]", b",]")
            return None if is_end else self._lost(0, left, "behind the end of the array")
        if self._alone and not left.lstrip(b" \t\r\n,").startswith(b"{"):
            return None if _BETWEEN.fullmatch(left) else self._lost(0, left, "not an object")
        what = "object" if self._alone else "array"
        return self._lost(0, left, f"the {what} does not end")._replace(cause=DAMAGED)

    def _begin(self) -> None:
        begin = _begun(self.held)
        if begin is not None:
            self._begun, self._depth, self._alone = True, 1, begin[1] is None
            self._drop(begin.end() + len(BOM) * self.held.startswith(BOM))

    def _objects(self) -> Iterator[tuple[int, int]]:
        """(start, stop) of each object that ends in what is held."""
        while self._begun and (token := _TOKEN.search(self.held, self._scanned)) is not None:
            kind = token[0][:1]
            if kind == b'"' and len(token[0]) == 1:
                return
            self._scanned = token.end()
            if kind in b"{[":
                if self._depth == 1:
                    self._start = token.start()
                self._depth += 1
            elif kind in b"}]" and (self._depth > 1 or not self._alone):
                self._depth -= 1
                if self._depth == 1:
                    yield self._start, token.end()
                self._ended = self._ended or self._depth == 0

    def _group(self, first: int, lines: list[bytes]) -> Iterator[LineGroup | LostLine]:
        return in_limits(LineGroup(first, lines), self.max_bytes) if lines else iter(())

    def _lost(self, at: int, data: bytes, what: str) -> LostLine:
        shown = data.strip(b" \t\r\n,")[:40].decode(errors="replace")
        return LostLine(self.offset + at, INVALID, f"{what}: {shown!r}", len(data))

    def _drop(self, n: int) -> None:
        del self.held[:n]
        self.offset += n
        self._scanned = max(self._scanned - n, 0)
        self._start = max(self._start - n, 0)


def array_lines(blocks: Iterator[list[bytes]], max_bytes: int) -> Iterator[LineGroup | LostLine]:
    """Yield objects of an array, or alone, as lines, in order; what ends it too early is the last.

    max_bytes: an object of more ends it, and is never held.
    """
    array = _Array(max_bytes)
    try:
        for block in blocks:
            for piece in pieces(iter([b"".join(block)]), GROUP_BYTES):
                array.held += piece
                yield from array.lines()
                if len(array.held) > max_bytes:
                    limit = f"limits.max_document_bytes is {max_bytes}; what is behind is not read"
                    message = f"an object of over {len(array.held)} bytes, {limit}"
                    yield LostLine(array.offset, DAMAGED, message, len(array.held))
                    return
    except DamagedError as e:
        yield LostLine(array.offset, e.cause, str(e), len(array.held))
        return
    if (lost := array.rest()) is not None:
        yield lost
