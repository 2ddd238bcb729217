"""What stands beside the text of a document and stays with it: columns that an input names.

    columns: {topic: string, meta.score: float64}     ──► annotations `topic` and `meta_score`

A dot leads into a struct, or a JSON object, unless a column has that very name.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import partial, reduce
from itertools import groupby
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import I64
from tokenmill.pipelines.core.schema import COLUMN_TYPES, annotation_name
from tokenmill.pipelines.core.shard import SourceShard
from tokenmill.pipelines.read.batch import ReadBatch
from tokenmill.pipelines.read.columns import BYTES_OF, is_listed, type_at

NOTHING, ABSENT = object(), object()  # of which Python has none; what an object does not have
NO_COLUMNS: Mapping[str, Any] = MappingProxyType({})
NOT_THERE = "not_there_"  # of notes, before the name of an annotation
FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_799_999  # years 1 to 9999, as Python's dates


def with_beside(
    batch: ReadBatch, shard: SourceShard, column: Callable[[str], pa.Array | Sequence[Any]]
) -> ReadBatch:
    """The documents with the columns that their input names.

    column: what a column, by its path, has for each document of the batch: an Arrow column, or
        values of JSON. What cannot be made its kind becomes null, and is counted, as is what is
        `ABSENT`.
    """
    notes: dict[str, int] = {}
    documents = batch.documents
    for path, kind in shard.columns:
        found, name = column(path), annotation_name(path)
        cast = _cast(found, kind) if isinstance(found, pa.Array) else None
        if cast is None:
            values = list(_values(found) if isinstance(found, pa.Array) else found)
            absent = sum(value is ABSENT for value in values)
            notes |= {f"{NOT_THERE}{name}": absent} if absent else {}
            cast = _made((None if value is ABSENT else value for value in values), kind)
        made, odd = cast
        notes |= {f"unreadable_{name}": odd} if odd else {}
        documents = documents.append_column(pa.field(name, COLUMN_TYPES[kind]), made)
    return batch._replace(documents=documents, notes={**(batch.notes or {}), **notes} or None)


def _cast(column: pa.Array, kind: str) -> tuple[pa.Array, int] | None:
    """A column of a table as its kind, and how many times no date has; None where a value is
    none of it.
    """
    if pa.types.is_nested(column.type):
        return None
    how = pc.CastOptions(COLUMN_TYPES[kind], allow_time_truncate=True)
    try:
        column.validate(full=True)
        made = column.cast(options=how)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    if kind != "timestamp":
        return made, 0
    first, last = (pa.scalar(of, made.type) for of in (FIRST_MS, LAST_MS))
    dated = pc.and_(pc.greater_equal(made, first), pc.less_equal(made, last))
    return pc.if_else(dated, made, None), pc.sum(pc.invert(dated)).as_py() or 0


def _values(column: pa.Array) -> Iterator[Any]:
    """The values of a column; `NOTHING` where Python has none, as for the year 300,000."""
    for value in column:
        try:
            yield value.as_py()
        except (ValueError, OverflowError):
            yield NOTHING


def _made(values: Iterable[Any], kind: str) -> tuple[pa.Array, int]:
    """Values of JSON as a column, and how many of them are none of its kind."""
    make, odd = _KINDS[kind], 0
    made: list[Any] = []
    for value in values:
        try:
            if value is NOTHING:
                raise ValueError(value)
            made.append(None if value is None else make(value))
        except (ValueError, TypeError, OverflowError, KeyError):
            made.append(None)
            odd += 1
    return pa.array(made, COLUMN_TYPES[kind]), odd


def _string(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value, default=str).decode()


def _int(value: Any) -> int:
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(value)
    made = int(value)
    if not -(2**63) <= made < 2**63:
        raise OverflowError(value)
    return made


def _bool(value: Any) -> bool:
    if isinstance(value, str):
        return {"true": True, "false": False}[value.lower()]
    if not isinstance(value, bool):
        raise TypeError(value)
    return value


def _time(value: Any) -> datetime:
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    made = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return made.astimezone(UTC) if made.tzinfo else made.replace(tzinfo=UTC)


_KINDS: Mapping[str, Callable[[Any], Any]] = {
    "string": _string,
    "int64": _int,
    "float64": float,
    "bool": _bool,
    "timestamp": _time,
}


def beside_of(value: Any, columns: Sequence[tuple[str, str]]) -> Mapping[str, Any]:
    """What a JSON object has at the paths of some columns, `ABSENT` included."""
    if not columns:
        return NO_COLUMNS
    return {path: value_at(value, path, absent=ABSENT) for path, _ in columns}


def value_at(
    value: Mapping[str, Any], path: str, join: str | None = None, absent: Any = None
) -> Any:
    """What a JSON object has at a path; `absent` where there is nothing.

    Through a list it is a list of what the objects in it have. join: what is put between the
    strings of a list.

    >>> value_at({"meta": {"text": ["a", None, "b"]}}, "meta.text", "|")
    'a|b'
    >>> value_at({"messages": [{"content": "a"}, {"role": "user"}]}, "messages.content")
    ['a', None]
    """
    return _walked(value, _names_of(path, value), join, absent)


def _names_of(path: str, columns: Collection[str]) -> tuple[str, ...]:
    """The names that a path leads through, its own where a column has that."""
    return (path,) if path in columns else tuple(path.split("."))


def _walked(value: Any, names: Sequence[str], join: str | None, absent: Any = None) -> Any:
    for name in names:
        if isinstance(value, list):
            value = flat([of.get(name) if isinstance(of, dict) else of for of in flat(value)])
        else:
            value = value.get(name, absent) if isinstance(value, dict) else absent
    if join is not None and isinstance(value, list):
        value = flat(value)
        return join.join(v for v in value if v is not None) if are_texts(value) else value
    return value


def flat(values: list[Any]) -> list[Any]:
    """The values of a list, and of the lists in it, one after another."""
    if list not in map(type, values):  # most
        return values
    made, left = list[Any](), [iter(values)]
    while left:
        value = next(left[-1], left)  # which is none of them
        if value is left:
            left.pop()
        elif isinstance(value, list):
            left.append(iter(value))
        else:
            made.append(value)
    return made


def text_at(value: Any, shard: SourceShard) -> Any:
    """The text that JSON has for a shard, None for none; or what stands in its place."""
    if not isinstance(value, dict):
        return None
    if not shard.texts:
        return value_at(value, shard.text, shard.join)
    leads = _together(_names_of(path, value) for path in shard.texts)
    parts = list(_in_turn(value, leads, shard.join))
    if odd := [part for part in parts if not (part is None or isinstance(part, str))]:
        return odd[0]
    there = [part for part in parts if part]
    return (shard.join or "").join(there) if there or "" in parts else None


# Names, and where neighbours among paths that share them lead on to: these go together.
_Lead: TypeAlias = "tuple[Sequence[str], list[_Lead]]"


def _together(paths: Iterable[Sequence[str]]) -> list[_Lead]:
    made: list[_Lead] = []
    for (name, leads_on), of in groupby(paths, key=lambda names: (names[0], len(names) > 1)):
        rest = [names[1:] for names in of]
        if leads_on and len(rest) > 1:
            made.append(((name,), _together(rest)))
        else:
            made += [((name, *end), []) for end in rest]
    return made


def _in_turn(
    value: Any, leads: list[_Lead], join: str | None, listed: bool = False
) -> Iterator[Any]:
    """What an object has at several paths; listed: it is of a list, as text in its place may be."""
    if listed and not isinstance(value, dict):
        yield value
        return
    for names, further in leads:
        inner = value.get(names[0]) if isinstance(value, dict) else None
        if listed and isinstance(inner, str):
            yield inner  # most; what leads on from it is the same text
            continue
        if not further:
            yield _walked([value] if listed else value, names, join)
            continue
        if not isinstance(inner, list):
            yield from _in_turn(inner, further, join, listed)
            continue
        yield ""  # there is text, be the list empty
        for item in flat(inner):
            yield from _in_turn(item, further, join, listed=True)


def are_texts(values: list[Any]) -> bool:
    """Whether all of a list are strings, or nothing."""
    return all(value is None or isinstance(value, str) for value in values)


def laid_flat(
    table: pa.RecordBatch, shard: SourceShard, columns: Collection[str]
) -> pa.RecordBatch:
    """A table whose column of text is one of texts, joined if need be; ArrowInvalid: damaged.

    columns: names of those that the file has, which `with_paths` adds others to.
    """
    if shard.texts:
        leads = _together(_names_of(path, columns) for path in shard.texts)
        text = _columns_in_turn(table.to_struct_array(), leads, shard.join or "", listed=False)
        return table.append_column(shard.text, text)
    if shard.join is not None and is_listed(table.schema.field(shard.text).type):
        at = table.schema.get_field_index(shard.text)
        return table.set_column(at, shard.text, _joined(table[shard.text], shard.join, _bytes_of))
    return table


def _columns_in_turn(
    structs: pa.StructArray, leads: list[_Lead], join: str, listed: bool
) -> pa.Array:
    """(n_docs,) large_binary; null where all columns are, what is null or empty is passed over.

    listed: they are of structs in lists: null where no column has more than the empty text.
    """
    parts = []
    for (name, *rest), further in leads:
        column = inside(pc.struct_field(structs, [name]), rest)
        is_list = is_listed(column.type)
        texts_of = _bytes_of
        if further:
            texts_of = partial(_columns_in_turn, leads=further, join=join, listed=listed or is_list)
        parts.append(_joined(column, join, texts_of) if is_list else texts_of(column))
    between = pa.scalar(join.encode(), pa.large_binary())

    def joined(before: pa.Array, part: pa.Array) -> pa.Array:
        both = pc.binary_join_element_wise(before, part, between)  # null where one of them is
        return pc.coalesce(both, before, part)

    there = [pc.replace_with_mask(p, pc.equal(p, b""), pa.scalar(None, p.type)) for p in parts]
    return pc.coalesce(reduce(joined, there), *([] if listed else parts))


def with_paths(table: pa.RecordBatch, shard: SourceShard) -> pa.RecordBatch:
    """A table with a column for each path into a struct; ArrowInvalid where columns are damaged."""
    for path in (*shard.asked, *filter(None, [shard.images])):
        if path not in table.schema.names and type_at(table.schema, path) is not None:
            head, *names = path.split(".")
            table = table.append_column(path, inside(table[head], names))
    return table


def raw_bytes(column: pa.Array) -> pa.Array:
    """Strings as the bytes they are; another column as it is."""
    return column.view(BYTES_OF[column.type]) if column.type in BYTES_OF else column


def inside(column: pa.Array, names: Sequence[str]) -> pa.Array:
    """What names lead to in the structs of a column; of lists of structs a list of all in a row.

    ArrowInvalid: a list is damaged.
    """
    column.validate()
    lists, ends = None, np.arange(len(column) + 1)
    for name in (*names, None):
        if is_listed(column.type) and not (name is None and lists is None):
            lists = column if lists is None else lists
            inner, column = _opened(column)
            ends = inner[ends]
        column = column if name is None else pc.struct_field(column, [name])
    if lists is None:
        return column
    return pa.LargeListArray.from_arrays(pa.array(ends), column, mask=lists.is_null())


def _opened(lists: pa.Array) -> tuple[I64, pa.Array]:
    """(n_docs + 1,) where each list begins and ends in the values of all lists in it, and these."""
    ends = np.arange(len(lists) + 1)
    while is_listed(lists.type):
        if not pa.types.is_fixed_size_list(lists.type) and np.any(np.diff(lists.offsets) < 0):
            raise pa.ArrowInvalid("a list ends before it begins")
        lengths = pc.fill_null(pc.list_value_length(lists), 0)  # one that is null may hide some
        ends = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))[ends]
        lists = lists.flatten()
    return ends, lists


def _joined(lists: pa.Array, join: str, texts_of: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """(n_docs,) large_binary; null where there is no list, nulls in one are passed over.

    texts_of: what makes texts of the values, as large_binary.
    """
    ends, values = _opened(lists)
    values = texts_of(values)
    if values.null_count:
        there = np.concatenate(([0], np.cumsum(values.is_valid())))
        ends, values = there[ends], values.drop_null()
    parts = pa.LargeListArray.from_arrays(pa.array(ends), values, mask=lists.is_null())
    return pc.binary_join(parts, pa.scalar(join.encode(), pa.large_binary()))


def _bytes_of(column: pa.Array) -> pa.Array:
    """Text as large_binary; ArrowInvalid: damaged."""
    if pa.types.is_dictionary(column.type):
        column.validate(full=True)
        column = column.dictionary_decode()
    raw_bytes(column).validate(full=True)
    return column.cast(pa.large_binary())
