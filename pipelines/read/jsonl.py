"""JSON Lines: one object a line, cut by bytes; or an array of objects, or objects over lines.

    blocks ── read_lines, array_lines ──► lines ── _batch or, with images, _documents ──► ReadBatch

Bytes are those of the plain stream. A file that is no lines, as LLaVA's arrays, is one shard, each
object a line.
"""

import contextlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice, pairwise
from operator import itemgetter
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.pipelines.core.errors import InputError
from tokenmill.pipelines.core.shard import Input, InputFile, SourceShard
from tokenmill.pipelines.read import stream
from tokenmill.pipelines.read.batch import (
    FILE_CAUSES,
    Failure,
    Lost,
    ReadBatch,
    SourceDocument,
    batch_of,
    make_batch,
    named_places,
    text_array,
)
from tokenmill.pipelines.read.beside import (
    ABSENT,
    are_texts,
    beside_of,
    flat,
    text_at,
    value_at,
    with_beside,
)
from tokenmill.pipelines.read.columns import (
    MOST_DEPTH,
    MOST_PATH,
    SHOWN,
    Columns,
    Piece,
    find_columns,
    likeliest,
    looked_at,
    refuse_unknown,
    way_into,
)
from tokenmill.pipelines.read.images import documents as illustrated
from tokenmill.pipelines.read.images.folder import Folder, Place
from tokenmill.pipelines.read.images.layouts import described, json_type, laid_out, value_of
from tokenmill.pipelines.read.json_array import array_lines, is_no_lines
from tokenmill.pipelines.read.lines import (
    WIDE_BYTES,
    LineGroup,
    Lines,
    LostLine,
    first_byte,
    read_lines,
)
from tokenmill.pipelines.read.objects import Part, Scanner
from tokenmill.pipelines.read.options import Limits, Reading
from tokenmill.pipelines.read.text import BOM, BOMS_UTF16, to_utf8

# How far to look for a line that tells the columns, before a file is given up as not JSON Lines.
SNIFF_LINES, SNIFF_BYTES = 100, 256 * 1024**2
LOOKED_AT = 16  # of them for the layout of texts and images
LOOKED_INTO = 256  # values of a list, for the keys of objects
MOST_PATHS = 2**18  # behind the line with so many no others are looked for


def cut_jsonl(file: InputFile, wanted: Input, shard_bytes: int, limits: Limits) -> list[Piece]:
    """Find the columns, and cut into equal ranges of at most about `shard_bytes`.

    How long a compressed file is only reading it would tell: its length is estimated from
    its first MiB, and the last shard is open-ended.
    InputError: not JSON Lines ("invalid_json"), without a text column ("missing_column"),
        or texts and images in no known layout ("unknown_layout").
    """
    compression = stream.compression_of(file.name)
    columns, is_whole = _sniff(file, wanted, compression, limits)
    size, damage = file.bytes, ""
    if is_whole:
        return [Piece(columns, 0, None, bytes=size)]
    if compression is not None:
        ratio, damage = stream.expansion_ratio(file.path, compression, limits)
        size = math.ceil(size * ratio)
    n = max(1, -(-size // shard_bytes))
    starts = [i * size // n for i in range(n)]
    return [
        Piece(columns, a, None if b == size else b, bytes=b - a, damage=damage)
        for a, b in pairwise([*starts, size])
    ]


def read_jsonl(shard: SourceShard, how: Reading) -> Iterator[ReadBatch]:
    """Yield the documents of a shard; blank lines are no documents."""
    limits = how.limits
    blocks = stream.read_blocks(
        shard.paths[0],
        shard.compression,
        start=first_byte(shard.start),
        stop=shard.stop,
        limits=limits,
        run=how.run,
    )
    with contextlib.closing(blocks):
        _, lines = _lines_of(blocks, shard.start, shard.stop, limits.max_document_bytes)
        if how.images is None or shard.images is None:
            yield from _batches(shard, lines)
        else:
            documents = _documents(shard, lines, Folder(shard, how.images))
            yield from illustrated.batches(shard, documents, how.images)


def _lines_of(
    blocks: Iterator[list[bytes]], start: int, stop: int | None, max_bytes: int
) -> tuple[bool, Iterator[Lines | LineGroup | LostLine]]:
    """Whether a file is no lines, and its objects, or the lines of a shard."""
    if start == 0 and stop is None:
        try:
            first = next(blocks, [])
        except stream.DamagedError as e:
            return False, iter([LostLine(0, e.cause, str(e), 0)])
        blocks = chain([first], blocks)
        if is_no_lines(b"".join(first)):
            return True, array_lines(blocks, max_bytes)
    return False, read_lines(blocks, start=start, stop=stop, max_bytes=max_bytes)


def _batches(
    shard: SourceShard, lines: Iterator[Lines | LineGroup | LostLine]
) -> Iterator[ReadBatch]:
    row, scanner = 0, Scanner(shard)
    for item in lines:
        if isinstance(item, LostLine):
            yield batch_of(shard.ordinal, [_lost_line(shard, row, item)])
            row += 1
            continue
        for part in scanner.parts(item):
            if len(part.places):  # not only blank lines
                batch = _batch(shard, part, row)
                yield batch
                row += batch.rows


def _batch(shard: SourceShard, part: Part, first_row: int) -> ReadBatch:
    """Lines as documents: plain ones as they were found, the others by orjson."""
    good, objects, texts, failed = _parsed(shard, part.lines)
    urls: list[Any] = _all_at(objects, shard.url) if shard.url else [None] * len(objects)
    urls = [v if isinstance(v, str) else None for v in urls]
    ids = _own_ids(shard, objects, [part.lines[i] for i in good])
    rows = part.rest[np.array(good, np.int64)]
    made: Sequence[pa.Array] = texts, pa.array(ids, pa.string()), pa.array(urls, pa.string())
    if not objects:
        rows, made = part.plain, part.found
    elif len(part.plain):
        rows = np.concatenate([part.plain, rows])
        order = np.argsort(rows)
        pairs = zip(part.found, made, strict=True)
        rows, made = rows[order], [pa.concat_arrays(pair).take(order) for pair in pairs]
    texts, ids, urls = made
    if ids.null_count:
        ids = pc.coalesce(ids, named_places(shard.names[0], part.places[rows]))
    failures = []
    for i, reason, message, url in failed:
        row, place = int(part.rest[i]), int(part.places[part.rest[i]])
        detail = f"{shard.paths[0]} byte {place}: {message}"
        name = f"{shard.names[0]}#{place}"
        failures.append(Failure(first_row + row, name, reason, detail, url=url))
    batch = make_batch(
        shard.ordinal, first_row + rows, ids=ids, urls=urls, texts=texts, failures=failures
    )
    return with_beside(batch, shard, partial(_all_at, objects, absent=ABSENT))


def _parsed(
    shard: SourceShard, lines: Sequence[bytes]
) -> tuple[Sequence[int], list[dict[str, Any]], pa.Array, list[tuple[int, str, str, str | None]]]:
    """Which lines are documents, their objects and texts, and why each other one is none.

    Of each of those its number, reason, message and address.

    All are parsed at once if all are good, else one by one.
    """
    text = _text_of(shard)
    try:
        objects = [orjson.loads(line) for line in lines]
        return range(len(lines)), objects, text_array(list(map(text, objects))), []
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        found = [_parse_one(line, shard) for line in lines]
    good = [i for i, (_, reason, _) in enumerate(found) if not reason]
    objects = [found[i][0] for i in good]
    failed = [
        (i, reason, message, url if isinstance(url, str) else None)
        for i, (value, reason, message) in enumerate(found)
        if reason
        for url in [shard.url and value_at(value, shard.url)]
    ]
    return good, objects, text_array(list(map(text, objects))), failed


def _text_of(shard: SourceShard) -> Callable[[Any], Any]:
    """What gives the text of a line's object; the plainest that does."""
    if "." not in shard.text and shard.join is None:
        return itemgetter(shard.text)
    return partial(text_at, shard=shard)


def _all_at(objects: Sequence[dict[str, Any]], path: str, absent: Any = None) -> list[Any]:
    if "." not in path:
        return [o.get(path, absent) for o in objects]
    return [value_at(o, path, absent=absent) for o in objects]


def _own_ids(
    shard: SourceShard, objects: Sequence[dict[str, Any]], lines: Sequence[bytes]
) -> list[str | None]:
    ids: list[Any] = _all_at(objects, shard.id) if shard.id else [None] * len(objects)
    if all(v is None or type(v) is str for v in ids):
        return ids
    pairs = zip(ids, lines, strict=True)
    return [None if v is None else _as_string(v, line, shard.id) for v, line in pairs]


def _parse_one(line: bytes, shard: SourceShard) -> tuple[dict[str, Any], str, str]:
    """The object of a line, or why it is no document: (object, reason, message)."""
    value, reason, message = _object(line)
    if reason:
        return {}, reason, message
    found, name = text_at(value, shard), shard.text
    if found is None:
        is_null = any(name in value for name in shard.texts or (name,))
        return value, "missing_text", f"{name!r} is {'null' if is_null else 'not there'}"
    if not isinstance(found, str):
        of = ((path, value_at(value, path, shard.join)) for path in shard.texts)
        odd = ((path, part) for path, part in of if not isinstance(part, str | None))
        name, found = next(odd, (name, found))
        told = json_type(found)
        if isinstance(found, list):
            found = flat(found)
            kinds = dict.fromkeys(json_type(item) for item in found if item is not None)
            told += f" with {' and '.join(kinds)} in it; {_way_of(name, found)}"
        return value, "text_not_string", f"{name!r} is {told}"
    return value, "", ""


def _object(line: bytes) -> tuple[dict[str, Any], str, str]:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as e:
        return {}, *_what_is_wrong(line, stream.one_line(e))
    if not isinstance(value, dict):
        return {}, "invalid_json", f"a line must be an object, not {json_type(value)}"
    return value, "", ""


def _what_is_wrong(line: bytes, said: str) -> tuple[str, str]:
    """Tell bad bytes and lone surrogates from bad JSON; orjson refuses all three alike."""
    constants: list[str] = []
    try:  # json takes NaN, Infinity and lone surrogates, as orjson does not
        value = json.loads(line.decode(), parse_constant=constants.append)
        if not constants:
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as e:
        where = f"byte {e.start} of the line, {line[e.start]:#04x}, is not UTF-8"
        return "invalid_utf8", f"{where}; {to_utf8(line)}"
    except UnicodeError:
        return "invalid_utf8", said
    except (ValueError, RecursionError):
        pass
    if constants:
        said = f"{said}; {constants[0]} is not JSON: write null in its place"
    return "invalid_json", said


def _as_string(value: Any, line: bytes, column: str | None) -> str:
    """An id as a string; numbers as they are written, those over 64 bits too."""
    if isinstance(value, str):
        return value
    try:
        if isinstance(value, float) and column is not None:
            value = value_at(json.loads(line, parse_float=str), column)
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except RecursionError:  # orjson goes a little deeper than json
        return str(value) if isinstance(value, float) else "[… nested too deep]"


def _lost_line(shard: SourceShard, row: int, line: LostLine) -> SourceDocument:
    detail = f"{shard.paths[0]} byte {line.offset}: {line.message}"
    lost = Lost(line.cause, detail, 0 if line.cause in FILE_CAUSES else line.bytes)
    return SourceDocument(row, f"{shard.names[0]}#{line.offset}", lost=lost)


OTHERS = {  # what a file that is no JSON Lines begins with
    **{bom: f"it begins as UTF-16 does; {to_utf8(bom)}" for bom in BOMS_UTF16},
    b"\x1f\x8b": "it begins as gzip does; end its name in .gz",
    b"\x28\xb5\x2f\xfd": "it begins as zstd does; end its name in .zst",
}


def _sniff(
    file: InputFile, wanted: Input, compression: str | None, limits: Limits
) -> tuple[Columns, bool]:
    """The columns by the keys of the first objects; an empty file has whatever it should have.

    Second, whether the file is no lines.
    """
    path = file.path
    keys: dict[str, bool] = {}
    problems: list[tuple[str, str]] = []  # (cause, message) of each line that is no object
    objects = 0
    first: list[dict[str, Any]] = []  # some of them
    most = SNIFF_BYTES // stream.BLOCK_BYTES
    blocks = islice(stream.read_blocks(path, compression, limits=limits), most)
    is_whole, items = _lines_of(blocks, 0, None, limits.max_document_bytes)
    for item in islice(_each(items), SNIFF_LINES):
        if isinstance(item, LostLine):
            problems.append((item.cause, f"byte {item.offset}: {item.message}"))
            continue
        _, line = item
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError as e:
            told = _what_is_wrong(line, stream.one_line(e))[1]
            told = next((t for begins, t in OTHERS.items() if line.startswith(begins)), told)
            problems.append(("invalid_json", told))
            continue
        if isinstance(value, dict):
            objects += 1
            first += [value] if len(first) < LOOKED_AT and len(line) <= WIDE_BYTES else []
            keys |= {
                name: listed or keys.get(name, False)
                for name, listed, _ in _paths_in(value)
                if len(keys) < MOST_PATHS or name in keys
            }
        else:
            problems.append(("invalid_json", f"a line is {json_type(value)}"))
    if objects:
        # a column beside the text may be of later lines alone
        columns = find_columns(keys, wanted.model_copy(update={"columns": {}}), path)
        if columns.images is not None:
            _refuse_unknown(file, columns, first)
        else:
            for text in columns.of_text:
                _refuse_structs(path, text, wanted, first)
        return columns, is_whole
    if problems:
        cause, message = problems[0]
        if cause == "invalid_json":
            message = f"no line is a JSON object ({message}); one object a line is needed,"
            message += " one array of objects, or objects over several lines"
        raise InputError(f"{path}: {message}", cause=cause)
    return Columns(wanted.text_name or "text", wanted.id, wanted.url), False


def _refuse_unknown(file: InputFile, columns: Columns, objects: Sequence[dict[str, Any]]) -> None:
    """Raise InputError if of no document text and images can be told."""
    shard = looked_at(file, "jsonl", columns)
    problems = []
    for value in objects:
        raw, lost = _raw(shard, 0, "", Place(file.name, "one"), b"", value)
        problem = lost or illustrated.layout_problem(raw)
        if problem is None:
            return
        problems.append(problem.detail)
    if problems:
        parts = {n: value_at(objects[0], n) for n in (shard.text, shard.images) if n is not None}
        refuse_unknown(file.path, problems, described(parts))


def _refuse_structs(path: str, text: str, wanted: Input, objects: Sequence[dict[str, Any]]) -> None:
    """Raise InputError ("text_not_string") if all texts are objects, or lists."""
    texts = [value_at(o, text, wanted.join) for o in objects]
    if not texts or not all(isinstance(v, dict | list) for v in texts):
        return
    lists = flat([v for v in texts if isinstance(v, list)])
    what, way = "an array, not text", _way_of(text, lists, wanted)
    of = next((v for v in texts if isinstance(v, dict)), None)
    if of is not None:
        inner = [f"{text}.{p}" for p in islice(dict.fromkeys(p for p, *_ in _paths_in(of)), SHOWN)]
        what = "an object, not text" + (f", of {', '.join(inner)}" if inner else "")
        given = _given(text, [of], wanted) or "{path: …, text: NAME}"
        way = f"name one in it in the recipe, as {given}"
    elif not are_texts(lists):
        what = "an array with other things than strings"
    raise InputError(f"{path}: column {text!r} is {what}; {way}", cause="text_not_string")


def _way_of(text: str, values: list[Any], wanted: Input | None = None) -> str:
    """The way out where lists of these values stand for text."""
    if are_texts(values):
        return f"say what stands between them, as {way_into(wanted, text, True)}"
    if not all(isinstance(value, dict | str | None) for value in values):
        return "name another column, as {path: …, text: NAME}"
    each = " | ".join(f'([.] | flatten[])."{name}"?' for name in text.split("."))
    jq = f"jq -c '{each} | arrays | flatten[]'"  # FILE may be one array
    given = _given(text, values, wanted, listed=True)
    one = f"name text in it, as {given}, or " if given else ""
    return f"{one}`{jq} FILE > NEW.jsonl` makes a line of each object in it"


def _given(
    text: str, values: list[Any], wanted: Input | None, *, listed: bool = False
) -> str | None:
    """The input that takes the likeliest text in some objects, None if there is none."""
    paths: dict[str, bool] = {}
    for value in values[:LOOKED_AT]:
        for path, within, found in _paths_in(value) if isinstance(value, dict) else ():
            if isinstance(found, str) or (
                isinstance(found, list) and found and are_texts(flat(found))
            ):
                paths.setdefault(f"{text}.{path}", listed or within)
    named = likeliest(paths) or next(iter(paths), None)
    return named and way_into(wanted, named, paths[named])


def _paths_in(value: dict[str, Any]) -> Iterator[tuple[str, bool, Any]]:
    """The keys of an object, and those of the objects in it, by paths; whether these lead through
    a list, or to one; and what stands there.
    """
    level: list[tuple[str, dict[str, Any], bool]] = [("", value, False)]
    for _ in range(MOST_DEPTH):
        yield from (
            (first + key, listed or isinstance(inner, list), inner)
            for first, of, listed in level
            for key, inner in of.items()
        )
        level = [
            (f"{first}{key}.", item, listed or item is not inner)
            for first, of, listed in level
            for key, inner in of.items()
            if len(first) + len(key) <= MOST_PATH
            for item in (
                flat(inner[:LOOKED_INTO])[:LOOKED_INTO] if isinstance(inner, list) else [inner]
            )
            if isinstance(item, dict)
        ]


def _documents(
    shard: SourceShard, lines: Iterator[Lines | LineGroup | LostLine], folder: Folder
) -> Iterator[SourceDocument]:
    for row, item in enumerate(_each(lines)):
        if isinstance(item, LostLine):
            yield _lost_line(shard, row, item)
        else:
            yield _document(shard, row, *item, folder)


def _each(
    groups: Iterable[Lines | LineGroup | LostLine],
) -> Iterator[tuple[int, bytes] | LostLine]:
    """Each line that is not blank, behind the byte it begins at, or one that is lost."""
    for group in groups:
        if isinstance(group, LostLine):
            yield group
            continue
        if isinstance(group, Lines) and group.data.isspace():
            continue  # a block of blank lines, of which there may be millions
        for offset, line in group.pairs():
            plain = line if offset else line.removeprefix(BOM)
            if plain.strip():
                yield offset, plain


def _document(
    shard: SourceShard, row: int, offset: int, line: bytes, folder: Folder
) -> SourceDocument:
    name, where = f"{shard.names[0]}#{offset}", f"{shard.paths[0]} byte {offset}"
    value, reason, message = _object(line)
    if reason:
        return SourceDocument(row, name, lost=Lost(reason, f"{where}: {message}", len(line)))
    raw, lost = _raw(shard, row, name, Place(name, where), line, value)
    return illustrated.document_of(raw, lost, shard.captions, folder)


def _raw(
    shard: SourceShard, row: int, name: str, place: Place, line: bytes, value: dict[str, Any]
) -> tuple[illustrated.Raw, Lost | None]:
    """What an object says of a document, and why its text could not be read."""
    assert shard.images is not None
    own = value_at(value, shard.id) if shard.id else None
    url = value_at(value, shard.url) if shard.url else None
    text, images = value_at(value, shard.text), value_at(value, shard.images)
    lost = None
    try:
        text, images = laid_out(text, images, shard.text)
    except stream.UnreadableError as e:
        lost, text = Lost(e.cause, f"{place.where}: {e}", len(line)), None
    listed_text = isinstance(text, list)
    if not (are_texts(text) if listed_text else text is None or isinstance(text, str)):
        odd = "an array with other things than strings" if listed_text else json_type(text)
        lost, text = Lost("text_not_string", f"{place.where}: {shard.text!r} is {odd}"), None
    listed = isinstance(images, list) or (images is None and isinstance(text, list))
    raw = illustrated.Raw(
        row,
        name if own is None else _as_string(own, line, shard.id),
        place,
        text,
        [value_of(v) for v in images] if isinstance(images, list) else value_of(images),
        listed,
        url if isinstance(url, str) else None,
        value.get(illustrated.METADATA) if listed else {k: value.get(k) for k in illustrated.SIDES},
        value.get(illustrated.GENERAL) if listed else None,
        beside_of(value, shard.columns),
    )
    return raw, lost
