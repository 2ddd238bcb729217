"""From good text to a language model, its perplexities, and where head, middle and tail part.

text ─► vocabulary ─► n-grams of most documents ─► perplexity of the others ─► lm.npz
cutoffs ───────────────────────────────────────► percentiles of their perplexities

All of it is the model's account, which its file carries, and which is told as tables.
"""

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Annotated, Any, TypeAlias

import numpy as np
import pyarrow as pa
from pydantic import Field

from tokenmill.dedup.arrays import I64, U64, Bools
from tokenmill.pipelines.core.config import Config
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.filters.kernels.ngrams import UNKNOWN
from tokenmill.pipelines.filters.models.ngram_model import (
    DECIMALS,
    MOST_WORDS,
    ORDERS,
    LanguageModel,
    Sums,
    perplexities,
)
from tokenmill.pipelines.filters.models.text import (
    BOUNDARY_HASH,
    FINAL_SIGMA,
    SIGMA,
    LineWords,
    PlacedWords,
    became,
    line_words,
    placed_words,
)
from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.train.lm.fit import Fitted, fit
from tokenmill.pipelines.train.sample import (
    Documents,
    Sample,
    account_markdown,
    account_table,
    read_documents,
)
from tokenmill.sizing.document.section import Block, Table, table

LIBRARIES = ("tokenmill", "numpy")
NORMALIZATION = "CCNet: lower case, no accents, digits as 0, ASCII punctuation; a line a sentence"
LONGEST = 128  # bytes of a text that a word of a vocabulary stands in
MANY_UNKNOWN = 0.1  # of words
PERCENTILES = (10, 20, 30, 40, 50, 60, 70, 80, 90)

About: TypeAlias = Mapping[str, Any]


class LmTraining(Config):
    """How a language model is trained.

    text: inputs whose documents are good text.
    cutoffs: inputs whose documents' perplexities say where head, middle and tail part; without
        them, held-out documents of `text`.
    order: words of the longest n-grams.
    vocabulary: words of the model at most, the most frequent.
    min_count: how often a word must occur to be one of them.
    prune: n-grams of three words or more that occur at most so often are left out.
    words: trained on at most, and read for the cutoffs; of more text, documents are drawn by id
        and `seed`. This bounds memory: some 120 bytes a word, and 0.4 GB.
    holdout: share of the documents, by id and seed, that the model is not trained on.
    head, tail: percentiles of perplexity below which a document is head, and from which tail.
    seed: of both draws.

    Source of the percentiles: CCNet, arXiv:1911.00359 and cc_net/perplexity.py.
    """

    text: tuple[Input, ...] = Field(min_length=1)
    cutoffs: tuple[Input, ...] = ()
    order: Annotated[int, Field(ge=ORDERS[0], le=ORDERS[-1])] = 4
    vocabulary: Annotated[int, Field(ge=1, le=MOST_WORDS)] = 1 << 18
    min_count: Annotated[int, Field(ge=1)] = 2
    prune: Annotated[int, Field(ge=0)] = 1
    words: Annotated[int, Field(ge=1)] = 20_000_000
    holdout: Annotated[float, Field(gt=0, lt=1)] = 0.05
    head: Annotated[float, Field(gt=0, lt=100)] = 30.0
    tail: Annotated[float, Field(gt=0, lt=100)] = 60.0
    seed: int = 0
    limits: Limits = Limits()


class Names:
    """Words by their hashes; those that are too long for a vocabulary have no name."""

    def __init__(self) -> None:
        self._spans: dict[int, bytes] = {}

    def add(self, placed: PlacedWords) -> None:
        hashes, places = np.unique(placed.words.hashes, return_index=True)
        lengths = placed.spans[places, 1] - placed.spans[places, 0]
        fits = (hashes != BOUNDARY_HASH) & (lengths <= LONGEST)
        for key, place in zip(hashes[fits].tolist(), places[fits].tolist(), strict=True):
            if key not in self._spans:
                self._spans[key] = placed.span(place)

    def has(self, hashes: U64) -> Bools:
        """(n_hashes,) whether each has a name."""
        return np.array([key in self._spans for key in hashes.tolist()], np.bool_)

    def of(self, hashes: U64) -> pa.Array:
        """(n_hashes,) large_string, words as a model has them; each hash has a name."""
        words = [_normalized(self._spans[key]) for key in hashes.tolist()]
        # one character may become several words, as an ellipsis does: all are signs
        for i in np.flatnonzero(_hashes(words) != hashes).tolist():
            letters = [*words[i]]
            words[i] = letters[int(np.flatnonzero(_hashes(letters) == hashes[i])[0])]
        return pa.array(words, pa.large_string())


def _normalized(span: bytes) -> str:
    word = became(span.decode().lower()).replace(FINAL_SIGMA, SIGMA)
    word = "".join(c for c in word if c.isascii() or unicodedata.category(c) != "Cf")
    return word.strip()  # a dash has spaces around it


def _hashes(words: list[str]) -> U64:
    """(n_words,) uint64, the hash of each; 0 for what is not one word."""
    hashes, doc_ends = line_words(pa.array(words, pa.large_string()))
    starts, ends = doc_ends[:-1], doc_ends[1:]
    one = ends - starts == 2
    return np.where(one, np.append(hashes, np.uint64(0))[np.where(one, starts, -1)], 0)


def train(training: LmTraining) -> Fitted:
    """Train and measure a model, the same each time; ConfigError: unreadable, or too little."""
    if training.head > training.tail:
        raise ConfigError(
            f"head ends at percentile {training.head:g}, before tail begins at {training.tail:g};"
            " give a --head that is not above --tail"
        )
    names = Names()
    documents, account = _read(training, "text", names)
    seen, held_out = _parted(training, documents, account)
    words, n_others = _vocabulary(training, seen.words, names)
    fitted = fit(
        seen.words, names.of(words), unseen=n_others, order=training.order, prune=training.prune
    )
    about: dict[str, Any] = {
        "training": training.model_dump(mode="json", exclude={"text", "cutoffs", "limits"}),
        "words": NORMALIZATION,
        "smoothing": "interpolated modified Kneser-Ney",
        "vocabulary": {"known": len(words), "unknown": n_others},
        "orders": fitted.how,
        "inputs": {"text": account},
        "held_out": _measured(fitted.model, held_out),
        "versions": {name: version(name) for name in LIBRARIES},
    }
    about |= _cutoffs(training, fitted.model, held_out, about["inputs"])
    return fitted._replace(model=replace(fitted.model, about=about))


def _read(training: LmTraining, name: str, names: Names) -> tuple[Documents, dict[str, Any]]:
    """Documents of the inputs `name`, and where they come from."""

    def words_of(texts: pa.Array) -> tuple[U64, I64]:
        placed = placed_words(texts)
        names.add(placed)
        return placed.words.hashes, np.diff(placed.words.doc_ends)

    inputs: tuple[Input, ...] = getattr(training, name)
    sample = Sample(
        words_of, most=training.words, unit="words", holdout=training.holdout, seed=training.seed
    )
    documents, account, failure = read_documents(
        inputs, sample, option=f"--{name}", limits=training.limits
    )
    if not len(documents.draws):
        where = ", ".join(given.path for given in inputs)
        raise ConfigError(
            f"--{name} {where}: {account['read']:,} documents, none with words{failure}"
        )
    n_documents, n_words = len(documents.draws), len(documents.words)
    return documents, {**account, "documents": n_documents, "words": n_words}


def _parted(
    training: LmTraining, documents: Documents, account: dict[str, Any]
) -> tuple[Documents, Documents]:
    """The documents to train on, and those that are held out."""
    seen = documents.filter(~documents.held_out)
    held_out = documents.filter(documents.held_out)
    account |= {"trained_on": len(seen.draws), "held_out": len(held_out.draws)}
    for name, part in (("trained on", seen), ("held out", held_out)):
        if not len(part.draws):
            where = ", ".join(given.path for given in training.text)
            raise ConfigError(
                f"--text {where}: of {len(documents.draws):,} different documents none is {name},"
                " as their ids decide; give more of them, or another --holdout than"
                f" {training.holdout:g}"
            )
    return seen, held_out


def _vocabulary(training: LmTraining, hashes: U64, names: Names) -> tuple[U64, int]:
    """The most frequent words, of equals those of least hashes, and how many others there are."""
    words, counts = np.unique(hashes[hashes != 0], return_counts=True)
    known = np.flatnonzero((counts >= training.min_count) & names.has(words))
    order = np.argsort(-counts[known], kind="stable")[: training.vocabulary]
    if not len(order):
        raise ConfigError(
            f"of {len(words):,} different words in {len(hashes):,} none occurs"
            f" {training.min_count:,} times; give more --text, or --min-count 1"
        )
    return words[known[order]], len(words) - len(order)


def _measured(model: LanguageModel, documents: Documents) -> dict[str, Any]:
    """How well a model predicts all held-out documents together."""
    sums = model.sums(LineWords(documents.words, documents.offsets))
    whole = Sums(sums.logs.sum(keepdims=True), sums.words.sum(keepdims=True))
    unknown = np.count_nonzero(model.vocabulary.ids(documents.words)[1:] == UNKNOWN)
    return {
        "documents": len(documents.draws),
        "words": len(documents.words),
        "perplexity": float(perplexities(whole)[0]),
        "unknown_frac": float(unknown / len(documents.words)),
    }


def _cutoffs(
    training: LmTraining, model: LanguageModel, held_out: Documents, inputs: dict[str, Any]
) -> dict[str, Any]:
    """Percentiles of documents' perplexities: where head ends and tail begins, and all tenths."""
    documents = held_out
    if training.cutoffs:
        documents, inputs["cutoffs"] = _read(training, "cutoffs", Names())
    by_document = perplexities(model.sums(LineWords(documents.words, documents.offsets)))
    ends = training.head, training.tail
    head, tail = (round(float(np.percentile(by_document, p)), DECIMALS) for p in ends)
    return {
        "cutoffs": {
            "head": head,
            "tail": tail,
            "documents": len(by_document),
            "of": "cutoffs" if training.cutoffs else "held-out text",
        },
        "percentiles": {
            str(p): round(float(np.percentile(by_document, p)), DECIMALS) for p in PERCENTILES
        },
    }


def lm_markdown(about: About) -> str:
    """The account as a Markdown document."""
    return account_markdown("Language model", "perplexity", blocks(about))


def blocks(about: About) -> Iterator[Block]:
    """Tables and paragraphs, in order."""
    yield account_table(about["inputs"], "option", ("documents", "words"))
    yield _orders(about["orders"])
    known, unknown = (about["vocabulary"][name] for name in ("known", "unknown"))
    yield f"Vocabulary: {known:,} words; {unknown:,} others occur, each as likely as the rest."
    measured = about["held_out"]
    yield (
        f"Held-out text: perplexity {measured['perplexity']:,.1f} a word, line ends among them;"
        f" {measured['unknown_frac']:.2%} of {measured['words']:,} words are not in the vocabulary."
    )
    if measured["unknown_frac"] > MANY_UNKNOWN:
        yield (
            "Caution: perplexities are mostly of how many words are not known. Train on more text."
        )
    rows = [(p, f"{value:,.1f}") for p, value in about["percentiles"].items()]
    yield table("Perplexity of documents", (">percentile", ">perplexity"), rows)
    cutoffs = about["cutoffs"]
    if cutoffs["of"] == "cutoffs":
        of = "--cutoffs"
    else:
        of = "the held-out text; give the corpus that is to be filtered as --cutoffs"
    yield (
        f"Head below {cutoffs['head']:,.1f}, tail from {cutoffs['tail']:,.1f} on: percentiles"
        f" {about['training']['head']:g} and {about['training']['tail']:g} of"
        f" {cutoffs['documents']:,} documents of {of}."
    )


def _orders(orders: list[dict[str, Any]]) -> Table:
    rows = [
        (
            str(level["order"]),
            f"{level['ngrams']:,}",
            *(f"{d:.3f}" for d in level["discounts"]),
            "estimated" if level["estimated"] else "too little text to estimate",
        )
        for level in orders
    ]
    columns = (">words", ">n-grams", ">D1", ">D2", ">D3+", "discounts")
    return table("N-grams, by modified Kneser-Ney", columns, rows)
