"""From good text to a language model, its perplexities, and where head, middle and tail part.

read text --> vocabulary --> n-grams of most documents --> perplexity of the others --> lm.npz
read cutoffs ----------------------------------------> percentiles of its perplexities
"""

from dataclasses import replace
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.filters.kernels.ngrams import UNKNOWN
from tokenmill.pipelines.filters.models.model import DECIMALS, LanguageModel, Sums, perplexities
from tokenmill.pipelines.train.lm.fit import Fitted, fit
from tokenmill.pipelines.train.lm.names import Names
from tokenmill.pipelines.train.lm.sample import Documents, Sample, read_sample
from tokenmill.pipelines.train.lm.training import LmTraining

LIBRARIES = ("tokenmill", "numpy")
NORMALIZATION = "CCNet: lower case, no accents, digits as 0, ASCII punctuation; a line a sentence"
PERCENTILES = (10, 20, 30, 40, 50, 60, 70, 80, 90)

U64 = npt.NDArray[np.uint64]


class _Chosen(NamedTuple):
    """hashes: (n_words,), of the vocabulary, the most frequent first.  unseen: other words."""

    hashes: U64
    unseen: int


def train(training: LmTraining) -> Fitted:
    """Train a model and measure it; the same documents and settings give the same model.

    Raises:
        ConfigError: inputs cannot be read, or hold too little text.
    """
    if training.head > training.tail:
        raise ConfigError(
            f"head ends at percentile {training.head:g}, before tail begins at {training.tail:g};"
            " give a --head that is not above --tail"
        )
    sample = Sample(words=training.words, holdout=training.holdout, seed=training.seed)
    documents, account = read_sample(training.text, sample, option="--text", limits=training.limits)
    seen, held_out = _parted(training, documents, account)
    chosen = _vocabulary(training, seen.hashes, sample.names)
    fitted = fit(
        seen.hashes,
        sample.names.of(chosen.hashes),
        unseen=chosen.unseen,
        order=training.order,
        prune=training.prune,
    )
    about: dict[str, Any] = {
        "training": training.model_dump(mode="json", exclude={"text", "cutoffs", "limits"}),
        "words": NORMALIZATION,
        "smoothing": "interpolated modified Kneser-Ney",
        "vocabulary": {"known": len(chosen.hashes), "unknown": chosen.unseen},
        "orders": fitted.how,
        "inputs": {"text": account},
        "held_out": _measured(fitted.model, held_out),
        "versions": {name: version(name) for name in LIBRARIES},
    }
    about |= _cutoffs(training, fitted.model, held_out, about["inputs"])
    return fitted._replace(model=replace(fitted.model, about=about))


def _parted(
    training: LmTraining, documents: Documents, account: dict[str, Any]
) -> tuple[Documents, Documents]:
    """What is trained on, and what is not."""
    seen = documents.take(np.flatnonzero(~documents.held_out))
    held_out = documents.take(np.flatnonzero(documents.held_out))
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


def _vocabulary(training: LmTraining, hashes: U64, names: Names) -> _Chosen:
    """The most frequent words; of equally frequent ones those of the least hashes."""
    found, counts = np.unique(hashes[hashes != 0], return_counts=True)
    known = np.flatnonzero((counts >= training.min_count) & names.has(found))
    order = np.argsort(-counts[known], kind="stable")[: training.vocabulary]
    if not len(order):
        raise ConfigError(
            f"of {len(found):,} different words in {len(hashes):,} none occurs"
            f" {training.min_count:,} times; give more --text, or --min-count 1"
        )
    return _Chosen(found[known[order]], len(found) - len(order))


def _measured(model: LanguageModel, documents: Documents) -> dict[str, Any]:
    """How well a model foretells documents it was not trained on, as a whole."""
    sums = model.sums(documents.words)
    whole = Sums(sums.logs.sum(keepdims=True), sums.words.sum(keepdims=True))
    unknown = np.count_nonzero(model.vocabulary.ids(documents.hashes)[1:] == UNKNOWN)
    return {
        "documents": len(documents.draws),
        "words": len(documents.hashes),
        "perplexity": float(perplexities(whole)[0]),
        "unknown_frac": float(unknown / len(documents.hashes)),
    }


def _cutoffs(
    training: LmTraining, model: LanguageModel, held_out: Documents, inputs: dict[str, Any]
) -> dict[str, Any]:
    """Percentiles of documents' perplexities: where head ends and tail begins, and all tenths."""
    documents = held_out
    if training.cutoffs:
        sample = Sample(words=training.words, holdout=training.holdout, seed=training.seed)
        documents, account = read_sample(
            training.cutoffs, sample, option="--cutoffs", limits=training.limits
        )
        inputs["cutoffs"] = account
    found = perplexities(model.sums(documents.words))
    head, tail = (
        round(float(np.percentile(found, p)), DECIMALS) for p in (training.head, training.tail)
    )
    return {
        "cutoffs": {
            "head": head,
            "tail": tail,
            "documents": len(found),
            "of": "cutoffs" if training.cutoffs else "held-out text",
        },
        "percentiles": {
            str(p): round(float(np.percentile(found, p)), DECIMALS) for p in PERCENTILES
        },
    }
