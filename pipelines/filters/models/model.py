"""An n-gram language model over hashed words, and the perplexities it gives.

    perplexity = 10 ** -(sum of log10 P(word | words before it in its line) / words),

where the end of each line that has words is one of them.

Source: the formula is that of CCNet (Wenzek et al. 2019, arXiv:1911.00359), cc_net/perplexity.py,
but that an empty line there counts for a word.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tokenmill.dedup.arrays import power_of_two, read_only
from tokenmill.pipelines.filters.kernels import ngrams as kernels
from tokenmill.pipelines.filters.models.text import LineWords, Vocabulary, blocks

ORDERS = range(2, 7)
MOST_WORDS = 1 << 22  # of a vocabulary
MOST_NGRAMS = 1 << 27
LEAST_LOG = -100.0  # log10 of a probability or backoff, so that no sum of them overflows
PART = 1 << 15  # words scored at a time, so that a huge document takes no more memory than text
DECIMALS = 1  # of perplexities, as CCNet rounds them; processors differ in the last bits of 10**x

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
U64 = npt.NDArray[np.uint64]


class Sums(NamedTuple):
    """logs: (n_docs,) float64, log10 of documents' probabilities.  words: (n_docs,) int64."""

    logs: F64
    words: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """A model of order `order`.

    word_logs: (n_ids, 2) float32, by id: log10 of probability and of backoff. Of UNKNOWN the
        probability of any one word that is not in the vocabulary, of BOUNDARY that of a line's end
        and the backoff of its beginning.
    keys: (n_ngrams,) uint64, of n-grams of 2 to `order` words; the suffix of each is there too.
    logs: (n_ngrams, 2) float32, as those of words.
    about: as `train` makes it; JSON.
    """

    order: int
    vocabulary: Vocabulary
    word_logs: F32
    keys: U64
    logs: F32
    about: dict[str, Any]

    def __post_init__(self) -> None:
        if type(self.order) is not int or self.order not in ORDERS:
            raise ValueError(f"order is 2 to {ORDERS[-1]}, got {self.order!r}")
        for name, logs, n in (
            ("word_logs", self.word_logs, len(self.vocabulary)),
            ("logs", self.logs, len(self.keys)),
        ):
            if logs.shape != (n, 2):
                raise ValueError(f"{name} have shape {logs.shape}, not {(n, 2)}")
            good = (logs >= LEAST_LOG) & (logs <= -LEAST_LOG)  # false of what is no number
            if not good.all() or (logs[:, 0] > 0).any():
                raise ValueError(f"{name} are not logarithms of probabilities and backoffs")

    @property
    def cutoffs(self) -> tuple[float, float] | None:
        """Perplexities between head and middle, middle and tail; None of a model without."""
        found = self.about.get("cutoffs", {})
        return (found["head"], found["tail"]) if found else None

    def perplexities(self, text: pa.Array) -> F64:
        """(n_docs,) float64, with one decimal; NaN of a document without words.

        text: (n_docs,) string or large_string, no nulls.
        """
        out = np.empty(len(text), np.float64)
        for rows, words in blocks(text):
            out[rows] = perplexities(self.sums(words))
        return out

    def sums(self, words: LineWords) -> Sums:
        """What documents' perplexities are made of."""
        ids = self.vocabulary.ids(words.hashes)
        counts = np.diff(words.doc_ends)
        sums = np.zeros(len(counts), np.float64)
        behind = words.doc_ends[1:]
        for start in range(0, len(words.hashes), PART):
            stop = min(start + PART, len(words.hashes))
            first = max(0, start - self.order)  # what stands before has a say in what follows
            logs = self.log_probs(ids[first : stop + 1])[start - first + 1 :]
            kernels.add_logs(read_only(logs), start, read_only(behind), sums)
        return Sums(sums, counts)

    def log_probs(self, ids: npt.NDArray[np.uint32]) -> F64:
        """(n_ids,) float64, log10 of the probability of each but the first, which is BOUNDARY.

        Or, of words from within a document, of those that have `order` before them.
        """
        n = len(ids)
        logs = np.empty(n, np.float64)
        kernels.log_probs(
            read_only(ids),
            self.order,
            read_only(self.word_logs),
            self._table,
            read_only(self._table.view(np.float32)),
            np.empty(n, np.uint64),
            np.empty(n, np.uint64),
            np.empty(n, np.int64),
            np.empty(n, np.uint8),
            np.empty((n, self.order), np.float32),
            logs,
        )
        return logs

    @cached_property
    def _table(self) -> U64:
        """(n_slots, 2) uint64, of keys and the two numbers of each."""
        table = np.zeros((power_of_two(2 * len(self.keys)), 2), np.uint64)
        values = np.ascontiguousarray(self.logs).view(np.uint64).ravel()
        if not kernels.fill_values(read_only(self.keys), read_only(values), table):
            raise ValueError("n-grams stand there twice")
        return read_only(table)

    def check(self) -> None:
        """Refuse n-grams that are not different.

        Raises:
            ValueError: they are not.
        """
        _ = self._table


def perplexities(sums: Sums) -> F64:
    """(n_docs,) float64, with one decimal; NaN of no words.

    >>> perplexities(Sums(np.array([-4.0, 0.0]), np.array([2, 0])))
    array([100.,  nan])
    """
    with np.errstate(invalid="ignore"):
        return np.round(10.0 ** -(sums.logs / sums.words), DECIMALS)
