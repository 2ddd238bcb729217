"""A user's own fastText classifier: its file, read in place, and what it says of texts.

The file is mapped into memory, so that all processes of a machine share one copy. Nothing in it is
trusted: sizes must add up to the file's, rows exist, numbers be finite and small enough.

Source of the layout: fastText 0.9.2, `saveModel`, `save` of Args, Dictionary, DenseMatrix,
QuantMatrix and ProductQuantizer; all little-endian.
"""

import mmap
import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import F32, F64, I32, I64, U8, power_of_two, read_only, text_buffers
from tokenmill.dedup.kernels.u64 import ONE, ZERO
from tokenmill.pipelines.core.config import readable
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.filters.kernels import fasttext as kernels
from tokenmill.pipelines.filters.kernels import fasttext_labels as label_kernels
from tokenmill.pipelines.filters.kernels.fasttext import Grams, Matrix, Met, Scratch, Words

MAGIC = struct.pack("<i", 793712314)
VERSIONS = (11, 12)
SUPERVISED = 3
PREFIX = "__label__"
LONGEST_GRAM = 100  # characters, or words; published models have 6 at most
CENTROIDS = int(kernels.CENTROIDS)  # of each part of a quantized vector
WIDEST = 1 << 14  # rows; published models have 16 to 300 numbers
LARGEST = 1e6  # of a number: none of a product of two rows is infinite then
MOST_BUCKETS = 1 << 28  # of which only some have rows; published models have 2 to 10 million
MOST_OUTPUTS = 1 << 28  # numbers of labels, which are kept besides the file
MOST_NODES = 10**15  # of all labels' counts: fastText's sign for no node


class _CutError(ValueError):
    """A part does not fit into the file, or to another."""


def is_fasttext(path: Path) -> bool:
    """Whether a file begins as one of fastText does; ConfigError where it cannot be read."""
    with readable(path) as f:
        return f.read(len(MAGIC)) == MAGIC


class _Parts(NamedTuple):
    """What a file has; `inputs` of words and n-grams, `outputs` of labels."""

    loss: int
    words: Words
    labels: tuple[str, ...]
    label_counts: I64
    grams: Grams
    inputs: Matrix
    outputs: Matrix


class _Reader:
    """Takes one value after the other; looks: whether at all numbers of matrices."""

    def __init__(self, data: U8, *, looks: bool) -> None:
        self.data, self.at, self.looks = data, 0, looks

    def take(self, form: str) -> tuple[Any, ...]:
        form = f"<{form}"
        return struct.unpack(form, self.bytes(struct.calcsize(form)).tobytes())

    def bytes(self, n_bytes: int) -> U8:
        if not 0 <= n_bytes <= len(self.data) - self.at:
            raise _CutError(
                f"a part of {n_bytes:,} bytes begins at byte {self.at:,} of {len(self.data):,}"
            )
        self.at += n_bytes
        return self.data[self.at - n_bytes : self.at]

    def numbers(self, n: int) -> F32:
        return np.frombuffer(self.bytes(4 * n).tobytes(), "<f4")

    def matrix(self, rows: int, width: int) -> U8:
        """The bytes of float32 numbers."""
        data = self.bytes(4 * rows * width)
        for at in range(0, len(data) if self.looks else 0, PIECE_BYTES):
            _check_numbers(np.frombuffer(data[at : at + PIECE_BYTES].tobytes(), "<f4"))
        return data


def check_fasttext(path: Path) -> tuple[str, ...]:
    """The labels, with "__label__", of a fastText model, looked through.

    ConfigError: damaged, of another version, or no classifier.
    """
    return _read(path, looks=True).labels


def fasttext_labels(path: Path) -> tuple[str, ...]:
    """As `check_fasttext`, of a file that was looked through: its numbers are not read again."""
    return _read(path, looks=False).labels


def _read(path: Path, *, looks: bool) -> _Parts:
    try:
        with readable(path) as f:
            mapped = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        parts = _walk(_Reader(np.frombuffer(mapped, np.uint8), looks=looks))
    except ValueError as e:
        raise ConfigError(f"{path}: not a whole fastText model ({e}); copy it again") from e
    if parts is None:
        raise ConfigError(
            f"{path}: a fastText model of word vectors, which has no labels; name a supervised one"
        )
    return parts


def _walk(reader: _Reader) -> _Parts | None:
    """A model that classifies; none of another."""
    _, version = reader.take("4si")
    if version not in VERSIONS:
        raise _CutError(f"version {version}, not 11 or 12")
    # dim, ws, epoch, minCount, neg, wordNgrams, loss, model, bucket, minn, maxn, lrUpdateRate, t
    dim, _, _, _, _, n, loss, model, bucket, least, most, _, _ = reader.take("12id")
    n_entries, n_words, n_labels, _, n_pruned = reader.take("iiiqq")
    words, counts, labels = _entries(reader, n_entries, n_words, n_labels)
    pairs = np.frombuffer(reader.bytes(8 * max(0, n_pruned)).tobytes(), "<i4").reshape(-1, 2)
    (quantized,) = reader.take("?")
    inputs = _matrix(reader, dim, quantized=quantized)
    (quantized_out,) = reader.take("?")
    outputs = _matrix(reader, dim, quantized=quantized and quantized_out)
    if reader.at != len(reader.data):
        raise _CutError(f"it ends at byte {reader.at:,}, the file at {len(reader.data):,}")
    if model != SUPERVISED:
        return None
    if n_rows(outputs) != n_labels or n_rows(inputs) < n_words:
        told = f"{n_rows(inputs):,} and {n_rows(outputs):,} rows"
        raise _CutError(f"{told} for {n_words:,} words and {n_labels:,} labels")
    if n_labels * dim > MOST_OUTPUTS:
        raise _CutError(f"{n_labels:,} labels of {dim:,} numbers")
    _check_tree(loss, counts)
    most = 0 if version == VERSIONS[0] else most  # those had no n-grams of characters
    sizes = (least, most, n, bucket)
    grams = _grams(sizes, pairs if n_pruned >= 0 else None, n_words, n_rows(inputs))
    return _Parts(loss, words, labels, counts, grams, inputs, outputs)


def _entries(
    reader: _Reader, n_entries: int, n_words: int, n_labels: int
) -> tuple[Words, I64, tuple[str, ...]]:
    """The words, how frequent labels are, and these."""
    if not 0 <= n_entries <= len(reader.data) // kernels.BEHIND_WORD:
        raise _CutError(f"{n_entries:,} words and labels in {len(reader.data):,} bytes")
    starts, ends, counts = np.empty((3, n_entries), np.int64)
    kinds = np.empty(n_entries, np.uint8)
    end = kernels.find_words(read_only(reader.data), reader.at, starts, ends, counts, kinds)
    if end < 0:
        raise _CutError(f"a word that begins at byte {starts[-1 - end]:,} has no end")
    reader.at = end
    found = int(np.count_nonzero(kinds))
    if found != n_labels or n_words + n_labels != n_entries or kinds[:n_words].any():
        raise _CutError(f"{found:,} labels, not {n_labels:,}")
    slots = np.zeros(power_of_two(2 * n_entries), np.uint64)
    data, starts, ends = read_only(reader.data), read_only(starts), read_only(ends)
    kernels.fill_words(slots, starts, ends, data)
    words = Words(data, starts, ends, read_only(slots), n_words)
    spans = zip(starts[n_words:].tolist(), ends[n_words:].tolist(), strict=True)
    labels = tuple(reader.data[start:end].tobytes().decode() for start, end in spans)
    return words, counts[n_words:], labels


def _matrix(reader: _Reader, dim: int, *, quantized: bool) -> Matrix:
    if not quantized:
        rows, width = reader.take("qq")
        _check_width(width, dim)
        return dense_matrix(reader.matrix(rows, width), width)
    (with_norms,) = reader.take("?")
    rows, width, code_bytes = reader.take("qqi")
    _check_width(width, dim)
    codes = reader.bytes(code_bytes)
    part, centroids = _centroids(reader, dim)
    n_parts = -(-dim // part)
    if code_bytes != rows * n_parts:
        raise _CutError(f"{code_bytes:,} codes for {rows:,} rows of {n_parts:,} parts")
    norm_codes, norms = NO_BYTES, NO_NUMBERS
    if with_norms:
        norm_codes = reader.bytes(rows)
        _, norms = _centroids(reader, 1)
    by_row = read_only(codes.reshape(rows, n_parts))
    return Matrix(
        dim, NO_BYTES, by_row, part, read_only(centroids), read_only(norm_codes), read_only(norms)
    )


NO_BYTES = read_only(np.empty(0, np.uint8))
NO_CODES = read_only(np.empty((0, 1), np.uint8))
NO_NUMBERS = read_only(np.empty(0, np.float32))
NO_ROWS = read_only(np.empty((0, 0), np.float32))


def dense_matrix(data: U8, width: int) -> Matrix:
    return Matrix(width, read_only(data), NO_CODES, 1, NO_NUMBERS, NO_BYTES, NO_NUMBERS)


def _centroids(reader: _Reader, dim: int) -> tuple[int, F32]:
    """How many numbers a part has, and those of all its centroids."""
    width, n_parts, part, last = reader.take("4i")
    _check_width(width, dim)
    if not (part >= 1 and 1 <= last <= part and (n_parts - 1) * part + last == dim):
        raise _CutError(f"{n_parts:,} parts of {part:,}, the last of {last:,}, for {dim:,} numbers")
    numbers = reader.numbers(dim * CENTROIDS)
    _check_numbers(numbers)
    return part, numbers


def _check_width(width: int, dim: int) -> None:
    if not 0 < dim == width <= WIDEST:
        raise _CutError(f"rows of {width:,} numbers, not {dim:,}, or over {WIDEST:,}")


def _check_numbers(numbers: F32) -> None:
    if not np.abs(numbers).max(initial=0) <= LARGEST:  # nor if it is no number
        raise _CutError(f"numbers that are infinite, over {LARGEST:,.0f}, or none")


def _check_tree(loss: int, counts: I64) -> None:
    if loss not in (label_kernels.HS, label_kernels.NS, label_kernels.SOFTMAX, label_kernels.OVA):
        raise _CutError(f"loss {loss}, not 1 to 4")
    if len(counts) == 0 or counts.min() < 0 or counts.astype(np.float64).sum() >= MOST_NODES:
        raise _CutError("no labels, or impossible counts of them")


def _grams(sizes: tuple[int, int, int, int], pairs: I32 | None, n_words: int, n: int) -> Grams:
    """pairs: (n_pruned, 2), of a bucket and the row behind those of words, if not all have one.
    n: how many rows there are.
    """
    least, most, words, bucket = sizes
    if most > LONGEST_GRAM or words > LONGEST_GRAM:
        raise _CutError(f"n-grams of {most:,} characters and {words:,} words")
    nothing = Grams(
        ONE, ZERO, ONE, n_words, ONE, 1.0, np.empty(0, np.uint64), np.empty(0, np.int32)
    )
    if max(most, words - 1) <= 0 or (pairs is not None and len(pairs) == 0):
        return nothing
    if bucket <= 0 or (pairs is None and bucket > n - n_words):
        raise _CutError(f"{bucket:,} buckets of n-grams, {n - n_words:,} rows")
    grams = nothing._replace(
        least=np.uint64(max(least, 1)),
        most=np.uint64(max(most, 0)),
        words=np.uint64(max(words, 1)),
        bucket=np.uint64(bucket),
        inverse=(1 + 2.0**-50) / bucket,
    )
    if pairs is None:
        return grams
    buckets, rows = pairs.T.astype(np.int64)
    if not (
        pairs.min() >= 0 and buckets.max() < bucket <= MOST_BUCKETS and rows.max() < n - n_words
    ):
        raise _CutError(f"n-grams in {bucket:,} buckets without a row of {n - n_words:,}")
    bits, places = np.zeros(bucket // 64 + 1, np.uint64), np.zeros(bucket, np.int32)
    places[buckets] = rows
    np.bitwise_or.at(bits, buckets >> 6, ONE << (buckets & 63).astype(np.uint64))
    return grams._replace(bits=bits, places=places)


def n_rows(matrix: Matrix) -> int:
    return len(matrix.codes) or len(matrix.data) // (4 * matrix.width)


def _dense(matrix: Matrix, first: int, last: int) -> F32:
    """(last - first, width) float32, rows without their norms."""
    if not len(matrix.codes):
        row = 4 * matrix.width
        data = matrix.data[first * row : last * row].tobytes()
        return np.frombuffer(data, "<f4").reshape(-1, matrix.width)
    made = np.empty((last - first, matrix.width), np.float32)
    for p, at in enumerate(range(0, matrix.width, matrix.part)):
        size = min(matrix.part, matrix.width - at)
        centroids = matrix.centroids[CENTROIDS * at :][: CENTROIDS * size]
        codes = matrix.codes[first:last, p]
        made[:, at : at + size] = centroids.reshape(CENTROIDS, size)[codes]
    return made


def _norms(matrix: Matrix, first: int, last: int) -> F32:
    if not len(matrix.norm_codes):
        return np.ones(last - first, np.float32)
    return matrix.norms[matrix.norm_codes[first:last]]


BLANK = np.isin(np.arange(256), list(b" \n\r\t\v\f\0")).astype(np.uint8)
PIECE_BYTES = 1 << 24
AT_ONCE, NUMBERS_AT_ONCE = 1024, 1 << 22  # texts, and numbers of their vectors and labels
ROWS_AT_ONCE = 1 << 12
MET_BYTES, MOST_MET, MET_LETTERS = 1 << 24, 1 << 16, 32  # words met before, of a thread
BLOCK = 8  # labels added up at a time
DIGITS = 7  # of a probability, as many as float32 has


class FastTextModel:
    """What a model says of texts.

    labels: as the file has them.

    Where labels are a quarter as many as a row has numbers, or fewer, each row is multiplied by
    theirs beforehand: sums commute, and what is left fits into the processor's caches. Losses whose
    probabilities are a table's, which has steps, have rows added in fastText's own order instead.
    ConfigError: as `check_fasttext`.
    """

    def __init__(self, path: Path) -> None:
        parts = _read(path, looks=True)
        self.labels = parts.labels
        self._loss, self._words, self._grams = parts.loss, parts.words, parts.grams
        self._rows = read_only(_dense(parts.outputs, 0, len(self.labels)))
        self._norms = read_only(_norms(parts.outputs, 0, len(self.labels)))
        self._blocks, self._block_norms = self._by_eight()
        self._matrix = parts.inputs
        in_order = parts.loss in (label_kernels.NS, label_kernels.OVA)
        numbers = parts.inputs.codes.shape[1] if len(parts.inputs.codes) else parts.inputs.width
        self._multiplies = not in_order and BLOCK // 2 * len(self.labels) <= numbers
        if self._multiplies:
            self._matrix = self._multiplied(parts.inputs)
        self._remembers = not in_order and self._grams.most > ZERO
        self._met: list[Met] = []  # of threads that are not at work
        if parts.loss == label_kernels.HS:
            self._tree = self._grown(parts.label_counts)

    def _by_eight(self) -> tuple[F32, F32]:
        """Rows of labels as `label_sums` takes them, filled up to a multiple of eight by zeros."""
        n_labels, width = self._rows.shape
        n_blocks = -(-n_labels // BLOCK)
        rows = np.zeros((n_blocks * BLOCK, width), np.float32)
        rows[:n_labels] = self._rows
        norms = np.zeros(n_blocks * BLOCK, np.float32)
        norms[:n_labels] = self._norms
        blocks = rows.reshape(n_blocks, BLOCK, width).transpose(0, 2, 1)
        return read_only(np.ascontiguousarray(blocks)), read_only(norms)

    def _multiplied(self, inputs: Matrix) -> Matrix:
        n, n_labels = n_rows(inputs), len(self.labels)
        made = np.empty((n, n_labels), np.float32)
        for at in range(0, n, ROWS_AT_ONCE):
            end = min(n, at + ROWS_AT_ONCE)
            rows = _dense(inputs, at, end) * _norms(inputs, at, end)[:, None]
            made[at:end] = self._sums(rows)[:, :n_labels]
        return dense_matrix(made.reshape(-1).view(np.uint8), n_labels)

    def _no_words(self) -> Met:
        width = self._matrix.width
        n = min(MOST_MET, MET_BYTES // (4 * width + MET_LETTERS)) if self._remembers else 0
        n = 1 << n.bit_length() >> 1
        letters = np.zeros((n, MET_LETTERS if n else 0), np.uint8)
        return Met(letters, np.zeros((n, width), np.float32), np.zeros(n, np.int64))

    def _sums(self, means: F32) -> F32:
        sums = np.empty((len(means), len(self._block_norms)), np.float32)
        label_kernels.label_sums(read_only(means), self._blocks, self._block_norms, sums)
        return sums

    def _grown(self, counts: I64) -> tuple[I32, I32]:
        n_nodes = 2 * len(counts) - 1
        children, parents = np.full((n_nodes, 2), -1, np.int32), np.full(n_nodes, -1, np.int32)
        sums = np.full(n_nodes, MOST_NODES, np.int64)
        label_kernels.grow(read_only(counts), children, parents, sums)
        return read_only(children), read_only(parents)

    def tell(self, text: pa.Array, label: int = -1) -> tuple[I32, F64]:
        """(n_texts,) the number of a label, the best one unless told, and its probability.

        -1 and 0 for a text none of whose words the model knows. Line breaks are spaces: the model
        takes a text for one line, as it was trained.
        """
        labels, logs = np.full(len(text), -1, np.int32), np.zeros(len(text), np.float32)
        n = NUMBERS_AT_ONCE // (len(self.labels) + self._matrix.width)
        n = max(1, min(AT_ONCE, n))
        for at in range(0, len(text), n):
            self._tell(text.slice(at, n), label, labels[at : at + n], logs[at : at + n])
        # fastText adds 1e-5 to every probability, so that some are over 1
        probabilities = np.minimum(np.exp(logs.astype(np.float64)), 1.0).round(DIGITS)
        return labels, np.where(labels < 0, 0.0, probabilities)

    def _tell(self, text: pa.Array, label: int, labels: I32, logs: F32) -> None:
        buffers = text_buffers(text)
        scratch = self._scratch(int(buffers.lengths.max()))
        means = np.zeros((len(text), self._matrix.width), np.float32)
        counts = np.zeros(len(text), np.int64)
        met = self._met.pop() if self._met else self._no_words()
        words, grams, matrix = self._words, self._grams, self._matrix
        kernels.mean_rows(
            *buffers, read_only(BLANK), words, grams, matrix, met, scratch, means, counts
        )
        self._met.append(met)
        if self._loss == label_kernels.HS:
            rows = NO_ROWS if self._multiplies else self._rows
            vectors = (read_only(means), rows, self._norms, *self._tree)
            label_kernels.tell_by_tree(*vectors, scratch, label, counts, labels, logs)
        else:
            sums = means if self._multiplies else self._sums(means)
            label_kernels.tell(sums, len(self.labels), self._loss, label, counts, labels, logs)

    def _scratch(self, longest: int) -> Scratch:
        n_nodes = 2 * len(self.labels)
        return Scratch(
            np.empty(ROWS_AT_ONCE, np.int64),
            np.empty(max(longest, len(kernels.LINE_END)) + 2, np.uint8),
            np.empty(longest // 2 + 2, np.uint32),
            np.empty(n_nodes, np.int64),
            np.empty(n_nodes, np.float32),
        )


class FastTextScores(NamedTuple):
    """The probability that a model gives to one of its labels."""

    model: FastTextModel
    label: str

    def scores(self, text: pa.Array) -> F64:
        """(n_docs,) float64 in [0, 1]; 0 for a document none of whose words the model knows."""
        return self.model.tell(text, self.model.labels.index(self.label))[1]


def full_label(path: Path, label: str | None) -> str:
    """The label as the model has it, with "__label__"; ConfigError: no model, or no such label."""
    known = fasttext_labels(path)
    shown = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
    if label is None:
        raise ConfigError(f"{path}: name the label of good documents, as label: NAME; has {shown}")
    found = next((name for name in (label, PREFIX + label) if name in known), None)
    if found is None:
        raise ConfigError(f"{path}: no label {label!r}; it has {shown}")
    return found
