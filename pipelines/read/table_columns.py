"""Which columns of a table hold what a document is made of, and whether they can."""

import pyarrow as pa

from tokenmill.pipelines.errors import InputError
from tokenmill.pipelines.read.columns import Columns, find_columns
from tokenmill.pipelines.read.table import TEXT_TYPES
from tokenmill.pipelines.shard import Input

BYTES, PATH = "bytes", "path"  # of the structs that stand for images in saved datasets
_BLOBS = {pa.binary(), pa.large_binary(), pa.binary_view()}


def table_columns(schema: pa.Schema, wanted: Input, path: str) -> Columns:
    """Find the columns of a table.

    Raises:
        InputError: a column is not there ("missing_column"), or holds something else than text
            ("text_not_string"), or than images ("no_images"); or a name is none
            ("damaged_schema").
    """
    try:
        return _columns(schema, wanted, path)
    except UnicodeDecodeError:
        raise InputError(
            f"{path}: a column has a name that is not UTF-8; fetch or write it again",
            cause="damaged_schema",
        ) from None


def _columns(schema: pa.Schema, wanted: Input, path: str) -> Columns:
    columns = find_columns(schema.names, wanted, path)
    kind = schema.field(columns.text).type
    captions = columns.images is not None and _values(kind) in TEXT_TYPES
    if _plain(kind) not in TEXT_TYPES and not captions:
        raise InputError(
            f"{path}: column {columns.text!r} is {kind}, not text;"
            " name another in the recipe, as {path: …, text: NAME}",
            cause="text_not_string",
        )
    if columns.images is not None:
        kind = schema.field(columns.images).type
        if not _holds_images(_values(kind) or kind):
            raise InputError(
                f"{path}: column {columns.images!r} is {kind}, not images: bytes, structs of"
                f" {BYTES} and {PATH}, URLs, or lists of those;"
                " name another in the recipe, as {path: …, images: NAME}",
                cause="no_images",
            )
    return columns


def is_listed(kind: pa.DataType) -> bool:
    """Whether a column holds lists."""
    return _values(kind) is not None


def _values(kind: pa.DataType) -> pa.DataType | None:
    """What the lists of a column are of, None for a column that holds none."""
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return kind.value_type if any(known(kind) for known in lists) else None


def _holds_images(kind: pa.DataType) -> bool:
    if not pa.types.is_struct(kind):
        return _plain(kind) in TEXT_TYPES
    parts = {kind.field(i).name: kind.field(i).type for i in range(kind.num_fields)}
    fits = {BYTES: {*_BLOBS, pa.null()}, PATH: {*TEXT_TYPES, pa.null()}}
    there = [name for name in fits if name in parts]
    return bool(there) and all(parts[name] in fits[name] for name in there)


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
