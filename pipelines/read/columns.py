"""Which columns hold a document's text, id, address and images, and whether they can."""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from tokenmill.pipelines.core.errors import InputError
from tokenmill.pipelines.core.shard import Input, InputFile, SourceShard
from tokenmill.pipelines.read.images import layouts

# The names met in published corpora, the likeliest first.
TEXT = ("text", "content", "raw_content", "contents", "body", "document", "article")
# of what has images beside its text
CAPTION = ("caption", "captions", "texts", "txt", "alt_text", layouts.SENTENCES, layouts.TURNS)
ID = ("id", "doc_id", "document_id", "docid", "uuid", "_id", "warc_record_id")
URL = ("url", "uri", "link", "source_url", "warc_target_uri", "webpage_url")
TOKENS = "input_ids"  # of what has been tokenized
SHOWN = 20
PLAIN = re.compile(r"[\w.][\w./ -]*")  # what YAML takes as it stands
MOST_DEPTH = 8  # of structs in one another, that are looked into
MOST_PATH = 256  # characters, of a path that others lead on from: each of these has them again


class Columns(NamedTuple):
    """As `SourceShard` has them; text is a name for all of `texts`, where these are several."""

    text: str
    id: str | None
    url: str | None
    images: str | None = None
    texts: tuple[str, ...] = ()

    @property
    def of_text(self) -> tuple[str, ...]:
        return self.texts or (self.text,)


class Piece(NamedTuple):
    """A shard's part of a file, as `SourceShard` describes it.

    damage: cause of what was met while the file was cut, which it would be otherwise without.
    quote: as `SourceShard` has it.
    """

    columns: Columns
    start: int
    stop: int | None
    bytes: int
    first_row: int = 0
    damage: str = ""
    quote: str | None = None


def looked_at(
    file: InputFile, form: str, columns: Columns, compression: str | None = None
) -> SourceShard:
    """A file as the shard that its first documents are read of, before a run."""
    own = columns._asdict()
    return SourceShard(
        format=form, paths=(file.path,), names=(file.name,), compression=compression, **own
    )


def refuse_unknown(path: str, problems: Sequence[str], found: str) -> None:
    """Raise InputError ("unknown_layout"): of no document text and images can be told.

    problems: of each that was looked at, why.  found: what the first has.
    """
    raise InputError(
        f"{path}: the first {len(problems)} documents have texts and images that do not fit"
        f" ({problems[0]}; {found}); name others in the recipe, as"
        " {path: …, text: NAME, images: NAME}",
        cause=layouts.UNKNOWN,
    )


def find_columns(names: Mapping[str, bool], wanted: Input, path: str) -> Columns:
    """The columns the recipe names, else those with common names, in any case of letters.

    names: of the columns, and paths into them; whether one leads through a list, or to one.
    InputError: no column can be the text, or one named in the recipe is not there (cause
        "missing_column"); or what is there has been tokenized ("only_tokens").
    """
    for beside in wanted.columns:
        _find(names, "columns", beside, (), path)
    images = _find(names, "images", wanted.images, (), path)
    common = TEXT if images is None else TEXT + CAPTION
    for name in wanted.texts:
        _find(names, "text", name, (), path)
    named = wanted.text_name
    if wanted.texts and named in names:
        why = f"a column is called {named!r}, as text of several is; rename it"
        raise InputError(f"{path}: {why}", cause="text_not_string")
    text = named if wanted.texts else _find(names, "text", named, common, path)
    if text is None and images is None and (layout := layouts.layout_in(names)) is not None:
        text, images = layout
    if text is None and TOKENS in names:
        raise InputError(
            f"{path}: holds tokens ({TOKENS}), not text; name the text that was tokenized",
            cause="only_tokens",
        )
    if text is None:
        inner = likeliest(name for name in names if "." in name)
        raise _missing(names, "text", None, path, inner and way_into(wanted, inner, names[inner]))
    own = _find(names, "id", wanted.id, ID, path)
    return Columns(text, own, _find(names, "url", wanted.url, URL, path), images, wanted.texts)


def type_at(schema: pa.Schema, path: str) -> pa.DataType | None:
    """The type of a column, or of what a path leads to in structs; None where nothing is.

    Through lists of structs it is a list of what they have.
    """
    if path in schema.names:
        return schema.field(path).type
    head, *rest = path.split(".")
    kind, listed = schema.field(head).type if head in schema.names else None, False
    for name in rest:
        if kind is not None and is_listed(kind):
            kind, listed = _values(kind), True
        if kind is None or not pa.types.is_struct(kind):
            return None
        at = kind.get_field_index(name)
        kind = kind.field(at).type if at >= 0 else None
    return pa.large_list(_values(kind) or kind) if listed and kind is not None else kind


def paths_in(schema: pa.Schema) -> dict[str, pa.DataType]:
    """The columns of a table, then what its structs hold, by paths; the type of each, as
    `type_at` has it.
    """
    inner = [(f.name, f.type, False) for f in schema]
    made: dict[str, pa.DataType] = {}
    for _ in range(MOST_DEPTH + 1):
        for path, kind, listed in inner:
            made.setdefault(path, pa.large_list(_values(kind) or kind) if listed else kind)
        inner = [
            (f"{path}.{field.name}", field.type, listed or of is not kind)
            for path, kind, listed in inner
            for of in [_values(kind) or kind]
            if pa.types.is_struct(of) and len(path) <= MOST_PATH
            for field in of
        ]
    return made


def likeliest(paths: Iterable[str]) -> str | None:
    """Of paths into objects the one to text, by the last name in it; None where none looks so.

    Not one that others lead on from: what stands there is no text, or not always.
    """
    paths = list(paths)
    outer = {path.rpartition(".")[0] for path in paths}
    ends = {path.rpartition(".")[2]: path for path in reversed(paths) if path not in outer}
    return next((ends[name] for name in (*TEXT, layouts.TURN) if name in ends), None)


def way_into(wanted: Input | None, text: str, listed: bool) -> str:
    """The input that takes the text at a path, as a recipe or `--set` takes it."""
    path = "…" if wanted is None else json.dumps(wanted.path, ensure_ascii=False)
    text = text if PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
    return f"{{path: {path}, text: {text}" + (r', join: "\n\n"}' if listed else "}")


def _find(
    names: Collection[str], role: str, wanted: str | None, common: tuple[str, ...], path: str
) -> str | None:
    if wanted is not None:
        if wanted not in names:
            raise _missing(names, role, wanted, path)
        return wanted
    lowered: dict[str, str] = {}
    for name in names:
        lowered.setdefault(name.lower(), name)
    return next((lowered[c] if c not in names else c for c in common if c in lowered), None)


def _missing(
    names: Collection[str], role: str, wanted: str | None, path: str, given: str | None = None
) -> InputError:
    """given: the input as it could be."""
    found = ", ".join(list(names)[:SHOWN]) + (", …" if len(names) > SHOWN else "")
    what = f"no column {wanted!r}" if wanted is not None else f"no {role} column"
    way = f"name the {role} column in the recipe, as {given or f'{{path: …, {role}: NAME}}'}"
    if role == "columns":
        way = "name one that is there, or leave it out"
    return InputError(f"{path}: {what} among: {found or 'none'}; {way}", cause="missing_column")


BYTES_OF = {
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
}
TEXT_TYPES = {*BYTES_OF, *BYTES_OF.values()}
BYTES, PATH = "bytes", "path"  # of the structs that stand for images in saved datasets
_BLOBS = {pa.binary(), pa.large_binary(), pa.binary_view()}


def table_columns(schema: pa.Schema, wanted: Input, path: str) -> Columns:
    """Find the columns of a table.

    InputError: a column is not there ("missing_column"), or holds something else than text
        ("text_not_string"), or than images ("no_images"); or a name is none ("damaged_schema").
    """
    try:
        return _columns(schema, wanted, path)
    except UnicodeDecodeError:
        raise InputError(
            f"{path}: a column has a name that is not UTF-8; fetch or write it again",
            cause="damaged_schema",
        ) from None


def _columns(schema: pa.Schema, wanted: Input, path: str) -> Columns:
    kinds = paths_in(schema)
    columns = find_columns({name: is_listed(kinds[name]) for name in kinds}, wanted, path)
    listed = columns.images is not None or wanted.join is not None
    of = _values if columns.images is None else _items
    for name in columns.of_text:
        kind = kinds[name]
        if _plain(kind) in TEXT_TYPES or (listed and of(kind) in TEXT_TYPES):
            continue
        if columns.images is not None and turns_in(kind) is not None:
            continue
        way = "name another in the recipe, as {path: …, text: NAME}"
        within = {p: k for p, k in kinds.items() if p.startswith(f"{name}.")}
        texts = [p for p, k in within.items() if (_values(k) or k) in TEXT_TYPES]
        if texts:
            inner = likeliest(texts) or texts[0]
            way = f"name text in it, as {way_into(wanted, inner, is_listed(kinds[inner]))}"
        if of(kind) in TEXT_TYPES:
            way = f"say what stands between them, as {way_into(wanted, name, True)}"
        raise InputError(
            f"{path}: column {name!r} is {kind}, not text; {way}", cause="text_not_string"
        )
    if columns.images is not None:
        kind = kinds[columns.images]
        if not _holds_images(_items(kind) or kind):
            raise InputError(
                f"{path}: column {columns.images!r} is {kind}, not images: bytes, structs of"
                f" {BYTES} and {PATH}, URLs, or lists of those;"
                " name another in the recipe, as {path: …, images: NAME}",
                cause="no_images",
            )
    return columns


def turns_in(kind: pa.DataType) -> pa.DataType | None:
    """The type of the turns of conversations, None for a column that holds none."""
    of = _items(kind)
    if of is None or not pa.types.is_struct(of) or of.get_field_index(layouts.TURN) < 0:
        return None
    turn = of.field(layouts.TURN).type
    return turn if turn in TEXT_TYPES else None


def is_listed(kind: pa.DataType) -> bool:
    return _items(kind) is not None


def _values(kind: pa.DataType) -> pa.DataType | None:
    """What the lists of a column, and the lists in these, are of; None where it has no lists."""
    of = kind
    while (items := _items(of)) is not None:
        of = items
    return None if of is kind else of


def _items(kind: pa.DataType) -> pa.DataType | None:
    """What the lists of a column are of, None for a column that holds none."""
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return kind.value_type if any(known(kind) for known in lists) else None


def holds_bytes(kind: pa.DataType) -> bool:
    """Whether a column of images, or of lists of them, has their bytes."""
    kind = _items(kind) or kind
    named = pa.types.is_struct(kind) and kind.get_field_index(BYTES) >= 0
    return named or _plain(kind) in _BLOBS


def _holds_images(kind: pa.DataType) -> bool:
    if not pa.types.is_struct(kind):
        return _plain(kind) in TEXT_TYPES
    parts = {kind.field(i).name: kind.field(i).type for i in range(kind.num_fields)}
    fits = {BYTES: {*_BLOBS, pa.null()}, **{key: {*TEXT_TYPES, pa.null()} for key in layouts.PATHS}}
    there = [name for name in fits if name in parts]
    return bool(there) and all(parts[name] in fits[name] for name in there)


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
