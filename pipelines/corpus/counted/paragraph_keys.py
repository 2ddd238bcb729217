"""Keys of paragraphs, or lines, and which of them a document has twice."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.ccnet import ccnet_form
from tokenmill.dedup.digest import digests, first_occurrence, sha1_prefixes
from tokenmill.pipelines.core.schema import PLACEHOLDER
from tokenmill.pipelines.corpus.counted.keys import host_keys
from tokenmill.pipelines.corpus.counted.paragraphs import RepeatedParagraphs
from tokenmill.pipelines.filters.images.keys import Keys, has_key

# odd multipliers with well-spread bits: 2**64 / golden ratio, the second of SplitMix64
SALTS = np.array([0x9E3779B97F4A7C15, 0x94D049BB133111EB], np.uint64)
ONE, HALF = np.uint64(1), np.uint64(32)

Ints = npt.NDArray[np.int64]


class Paragraphs(NamedTuple):
    """The paragraphs, or lines, of some documents, in order.

    rows: (n,) int64, of the document of each.  numbers: (n,) int64, of each in its document.
    keys: (n, 2) uint64, zeros for those that do not count.
    firsts: (n,) int64, number of the first in the document with the same key.
    """

    rows: Ints
    numbers: Ints
    keys: Keys
    firsts: Ints


def split_units(text: pa.Array, step: RepeatedParagraphs) -> pa.Array:
    """(n_docs,) lists of paragraphs or lines, as `str.split` has them: one at least."""
    return pc.split_pattern(text, pattern=step.separator)


def keyed_paragraphs(documents: pa.RecordBatch, step: RepeatedParagraphs) -> Paragraphs:
    """The paragraphs of documents; by `count: documents` later copies in one have no key."""
    units = split_units(documents["text"], step)
    n_each = np.asarray(units.value_lengths()).astype(np.int64)
    rows = np.repeat(np.arange(len(n_each)), n_each)
    numbers = np.arange(len(rows)) - np.repeat(np.cumsum(n_each) - n_each, n_each)
    keys = paragraph_keys(documents, units, step)
    firsts = numbers
    if step.count == "documents":
        firsts = first_copies(rows, numbers, keys)
        keys[firsts != numbers] = 0
    return Paragraphs(rows, numbers, keys, firsts)


def paragraph_keys(documents: pa.RecordBatch, units: pa.Array, step: RepeatedParagraphs) -> Keys:
    """(n, 2) of the lists of `split_units`.

    No key for those in which images stand, and the empty ones if they stay; within domains, for
    those of documents without a host neither, and equal ones of two hosts have two keys.
    """
    flat = units.flatten()
    forms = ccnet_form(flat) if step.normalize == "ccnet" else flat
    keys = _digests(forms, step)
    if step.empty == "stay":
        keys[np.asarray(pc.equal(forms, pa.scalar("", forms.type)))] = 0
    keys[np.asarray(pc.match_substring(flat, PLACEHOLDER))] = 0
    if step.within != "domain":
        return keys
    salts = np.repeat(host_keys(documents["url"]), np.asarray(units.value_lengths()), axis=0)
    return np.where((has_key(keys) & has_key(salts))[:, None], keys ^ salts, np.uint64(0))


def _digests(forms: pa.Array, step: RepeatedParagraphs) -> Keys:
    if step.digest == "xxh3":
        return digests(forms, "xxh3").copy()
    prefixes = sha1_prefixes(forms)
    return np.column_stack((prefixes, prefixes))  # tables go by the one and by the other word


def first_copies(rows: Ints, numbers: Ints, keys: Keys) -> Ints:
    """(n,) number of the first in the same document with the same key; its own without a key.

    Documents are told apart by 128 bits that each mixes into its keys.
    """
    keyed = np.flatnonzero(has_key(keys))
    salts = (rows[keyed].astype(np.uint64) + ONE)[:, None] * SALTS
    salts ^= salts >> HALF
    salts *= SALTS[::-1]
    firsts = numbers.copy()
    firsts[keyed] = numbers[keyed[first_occurrence(keys[keyed] ^ salts)]]
    return firsts
