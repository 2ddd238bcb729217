"""What `tokenmill train-lm` is asked for."""

from typing import Annotated

from pydantic import Field

from tokenmill.pipelines.core.config import Config
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.filters.models.model import MOST_WORDS, ORDERS
from tokenmill.pipelines.read.options import Limits


class LmTraining(Config):
    """How a language model is trained.

    text: inputs whose documents are what good text is like.
    cutoffs: inputs whose documents' perplexities tell where head, middle and tail part; without,
        those of `text` that it is not trained on.
    order: words of the longest n-grams.
    vocabulary: words of the model at most, the most frequent.
    min_count: how often a word must occur to be one of them.
    prune: n-grams of three words or more that occur at most so often are left out.
    words: trained on at most, and read for the cutoffs; of more text, documents are drawn by id
        and `seed`. This bounds memory: some 120 bytes a word, and 0.4 GB.
    holdout: share of the documents, by id and seed, that it is not trained on.
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
