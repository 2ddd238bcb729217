"""Ids of documents with images: a placeholder, or several, where each image stands.

    text with images between    [bos] text <image> <image> text <image> <image> text [eos]
    a sample                    [bos] <image> <image> caption [eos]

Each piece of text between images is encoded as if it stood alone. Where the vocabulary has the
placeholder itself, text that spells it is cut behind its first character before it is encoded:
in the ids it stands for images alone, as often as the rule says.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import I64, Bools
from tokenmill.pipelines.core.errors import ConfigError, LedgerError
from tokenmill.pipelines.core.schema import PLACEHOLDER
from tokenmill.pipelines.read.images.nodes import counts_of, owners_of
from tokenmill.pipelines.read.options import Images, Patches
from tokenmill.pipelines.tokens.tokenize import Engine, Tokens

MOST_IDS = np.iinfo(np.int32).max  # of a document: what a list of an Arrow file can hold
BATCH_IDS = 1 << 24  # placeholders made at a time, about


class Illustrated(NamedTuple):
    """Documents as ids; per_image: (n_images,) ids of each.  text: (n_docs,), without U+FFFC."""

    tokens: Tokens
    per_image: I64
    text: pa.Array


def encode_illustrated(engine: Engine, documents: pa.RecordBatch, images: Images) -> Illustrated:
    """Encode documents of schema ILLUSTRATED; every one gets its bos and eos.

    LedgerError: a document has another number of images than places for them in its text.
    ConfigError: text makes the placeholder, or a document has more ids than a row can hold.
    MismatchError: see `Engine.encode`.
    """
    places = count_places(documents)
    per_image = tokens_of(documents["images"].flatten(), images.tokens)
    segments = pc.split_pattern(documents["text"], PLACEHOLDER)
    text, lengths, slow = _encoded(engine, segments.flatten(), images.token)

    first_segment, first_image = _ends(places + 1), _ends(counts_of(documents))
    text_ends, image_ends = _ends(lengths), _ends(per_image)
    n_bos, n_eos = int(engine.bos_id is not None), int(engine.eos_id is not None)
    offsets = text_ends[first_segment] + image_ends[first_image]
    offsets += (n_bos + n_eos) * np.arange(len(offsets))
    _check_lengths(documents, offsets)

    # of each image: the text before it, the images before it, the ends of documents before it
    owners = owners_of(documents)
    number = np.arange(len(owners)) - first_image[owners]
    before = first_segment[owners] + np.where(places[owners] > 0, number + 1, 0)
    starts = text_ends[before] + image_ends[:-1] + (n_bos + n_eos) * owners + n_bos
    at = np.repeat(starts - image_ends[:-1], per_image) + np.arange(image_ends[-1])

    ids = _laid_out(engine, text, at, offsets)
    by_reference = np.logical_or.reduceat(slow, first_segment[:-1]) if len(slow) else slow
    tokens = Tokens(ids, offsets, by_reference, engine.counted(by_reference))
    written = pc.replace_substring(documents["text"], PLACEHOLDER, "")
    return Illustrated(tokens, per_image, written)


def _laid_out(
    engine: Engine, text: npt.NDArray[np.generic], at: I64, offsets: I64
) -> npt.NDArray[np.generic]:
    """The ids of all documents. text: those of text.  at: where the placeholders are."""
    ids = np.empty(int(offsets[-1]), engine.dtype)
    is_text = np.ones(len(ids), np.bool_)
    for where, value in (
        (at, engine.image_id),
        (offsets[:-1], engine.bos_id),
        (offsets[1:] - 1, engine.eos_id),
    ):
        if value is not None:
            ids[where], is_text[where] = value, False
    ids[is_text] = text
    return ids


def batches_of(documents: pa.RecordBatch, rule: int | Patches) -> Iterator[pa.RecordBatch]:
    """Documents by batches of about `BATCH_IDS` placeholders, one document at least."""
    per_image = _ends(tokens_of(documents["images"].flatten(), rule))
    ends = per_image[_ends(counts_of(documents))]
    start = 0
    while start < documents.num_rows:
        stop = int(np.searchsorted(ends, ends[start] + BATCH_IDS, side="right")) - 1
        stop = max(stop, start + 1)
        yield documents.slice(start, stop - start)
        start = stop


def count_places(documents: pa.RecordBatch) -> I64:
    """(n_docs,) how often U+FFFC stands in each text: 0, or once an image; LedgerError if not."""
    places = np.asarray(pc.count_substring(documents["text"], PLACEHOLDER)).astype(np.int64)
    counts = counts_of(documents)
    wrong = np.flatnonzero((places != counts) & (places > 0))
    if len(wrong):
        row = int(wrong[0])
        raise LedgerError(
            f"document {documents['doc_id'][row]} ({documents['id'][row]}) has {counts[row]} images"
            f" and {places[row]} places for them in its text"
        )
    return places


def tokens_of(items: pa.StructArray, rule: int | Patches) -> I64:
    """(n_images,) placeholders for each image (type IMAGE).

    An image whose size is not known, as where there is a URL alone, gets `most`, or else 1.
    Sides scaled down to `longest` are rounded to the nearest pixel, halves up, and are 1 at least.

    >>> sizes = pa.array([{"width": 640, "height": 480}, {"width": None, "height": None}])
    >>> tokens_of(sizes, Patches(patch=14, longest=336)).tolist()
    [432, 1]
    """
    if isinstance(rule, int):
        return np.full(len(items), rule, np.int64)
    sides = [np.asarray(items.field(name).fill_null(0), np.int64) for name in ("width", "height")]
    longer = np.maximum(*sides)
    known = np.minimum(*sides) > 0
    if rule.longest is not None:
        scaled = ((2 * s * rule.longest + longer) // (2 * longer.clip(1)) for s in sides)
        small = [np.maximum(s, 1) for s in scaled]
        sides = [np.where(longer > rule.longest, *both) for both in zip(small, sides, strict=True)]
    made: I64 = np.prod([-(-s // (rule.patch * rule.merge)) for s in sides], axis=0)
    if rule.most is not None:
        made = np.minimum(made, rule.most)
    return np.where(known, made, rule.most or 1)


def _encoded(
    engine: Engine, segments: pa.Array, token: str
) -> tuple[npt.NDArray[np.generic], I64, Bools]:
    """The ids of all segments, (n_segments,) how many each has, and whether by the reference."""
    spelled = engine.image_id is not None and engine.image_id <= engine.largest_id
    if spelled and pc.any(pc.match_substring(segments, token)).as_py():
        pieces, firsts = _cut(segments, token)
    else:
        pieces, firsts = segments, np.arange(len(segments) + 1)
    made = engine.encode(pieces, ends=False)
    if spelled and np.any(made.ids == engine.image_id):
        raise ConfigError(
            f"images.token: text makes {token!r} too, which is to stand for images alone;"
            " name another token"
        )
    slow = made.slow
    if len(firsts) - 1 != len(pieces):
        slow = np.logical_or.reduceat(slow, firsts[:-1])
    return made.ids, np.diff(made.offsets[firsts]), slow


def _cut(segments: pa.Array, token: str) -> tuple[pa.Array, I64]:
    """Text cut behind each `token`'s first character, and (n_segments + 1,) first piece of each."""
    around = pc.split_pattern(segments, token)
    firsts = _ends(np.asarray(around.value_lengths()).astype(np.int64))
    parts = around.flatten()
    head, tail = np.ones((2, len(parts)), np.bool_)
    head[firsts[:-1]] = False
    tail[firsts[1:] - 1] = False
    none = pa.scalar("", parts.type)
    before = pc.if_else(pa.array(head), pa.scalar(token[1:], parts.type), none)
    behind = pc.if_else(pa.array(tail), pa.scalar(token[0], parts.type), none)
    return pc.binary_join_element_wise(before, parts, behind, none), firsts


def _ends(lengths: I64) -> I64:
    """(n + 1,) where each of some lengths begins, and the last ends."""
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


def _check_lengths(documents: pa.RecordBatch, offsets: I64) -> None:
    if offsets[-1] <= MOST_IDS:
        return
    row = int(np.diff(offsets).argmax())
    raise ConfigError(
        f"images.tokens: document {documents['id'][row]} would have"
        f" {offsets[row + 1] - offsets[row]:,} ids, and a row holds {MOST_IDS:,};"
        " give images.tokens a limit (most)"
    )
