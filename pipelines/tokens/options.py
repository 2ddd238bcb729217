"""How documents become a dataset: settings of the tokenizer, of the dataset and of a mixture."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
)

from tokenmill.pipelines.core.config import Bytes, Config
from tokenmill.pipelines.core.places import file_or_model
from tokenmill.sizing.units import parse_count

MOST_COPIES = 1_000_000  # of a document, in all epochs: of an input too, by its weight
IdType = Literal["auto", "uint16", "uint32", "int32"]
TextFormat = Literal["parquet", "jsonl.zst"]


class Tokenizer(Config):
    """Which tokenizer, and what stands around a document.

    path: a `tokenizer.json`, the id of a model on the hub, OWNER/NAME, one of OpenAI's
        `.tiktoken` files, GPT-2's `vocab.bpe`, or a SentencePiece `.model`.
    eos, bos: append or prepend the end- or start-of-document token: true for the one the
        vocabulary has by a common name, a string for that very token, false for none.
    special_tokens_in_text: what "<|endoftext|>" written in a document becomes: the ids of
        its characters (plain), or the control token itself (id).
    engine: "auto" is the fastest that makes the same ids; "reference" is the library that the
        file belongs to, for everything.
    """

    path: Annotated[str, AfterValidator(file_or_model)]
    eos: bool | str = True
    bos: bool | str = False
    special_tokens_in_text: Literal["plain", "id"] = "plain"
    engine: Literal["auto", "reference"] = "auto"


Times: TypeAlias = Annotated[int, Field(ge=1)]
Factor: TypeAlias = Annotated[float, Field(ge=0, le=1000)]


class Output(Config):
    """What the dataset looks like.

    dtype: of token ids; auto is uint16 where the largest id allows, else int32.
    seq_len: pack the documents into sequences of this many tokens; None keeps one row a document.
    shard_bytes: size of a dataset file, about.
    validation_frac: share of documents, chosen by their id, that becomes the validation split.
        It has each of them once, whatever the weights and epochs.
    epochs: passes over the inputs that the dataset holds one behind the other, each in an order of
        its own. Which documents of a source of fractional weight stand in it differs by epoch.
    shuffle: put documents in an order by chance over the whole split; packing keeps this order.
    rehydrate: weights by how many documents of the inputs each stands for, itself and those that
        left for it: {2: 1.5, 10: 3} takes those that stand for 2 to 9 half again as often as their
        input's weight says, and those that stand for 10 and more three times as often; as FineWeb-2
        (arXiv:2506.20920) does by the size of clusters. None takes all alike.
    seed: of all that is left to chance.
    text: keep the documents as they go to the tokenizer, in OUT/text, in the order and splits of
        the dataset: as Parquet, or a line of JSON each, both compressed by zstd. None keeps ids
        alone.
    """

    dtype: IdType = "auto"
    seq_len: Annotated[int, Field(ge=1, le=2**30)] | None = None
    shard_bytes: Bytes = 512_000_000
    validation_frac: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0
    epochs: Annotated[int, Field(ge=1, le=1000)] = 1
    shuffle: bool = False
    rehydrate: Annotated[dict[Times, Factor], Field(min_length=1)] | None = None
    seed: int = 0
    text: TextFormat | None = None


def _count(value: Any) -> Any:
    return parse_count(value) if isinstance(value, str) else value


# a number of tokens, or text such as "300B"
TokenCount: TypeAlias = Annotated[float, BeforeValidator(_count), Field(ge=1)]
Share: TypeAlias = Annotated[float, Field(gt=0)]


class Mix(Config):
    """Shares of the training tokens by source, from which the weight of each source follows.

        weight = share * tokens / tokens of the source

    Tokens of a source are those of its documents on the training side when all steps are done.

    shares: by name of the source, each of them; relative to their sum, as those that GPT-3 was
        trained on add up to 101 % (Brown et al. 2020, arXiv:2005.14165, table 2.2).
    tokens: of an epoch, about: documents stay whole; None: as many as there are without taking a
        document twice, so that of one source all is taken.
    """

    shares: Annotated[dict[str, Share], Field(min_length=1)]
    tokens: TokenCount | None = None

    def check(self, sources: Iterable[str]) -> None:
        """Compare with the names of all sources.

        Raises:
            ValueError: a name is none of theirs, or a source has no share.
        """
        known = sorted(set(sources))
        for name in self.shares:
            if name not in known:
                near = get_close_matches(name, known, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]!r}?" if near else f"sources: {', '.join(known)}"
                raise ValueError(f"mix.shares: no source is called {name!r}; {hint}")
        for name in known:
            if name not in self.shares:
                raise ValueError(
                    f"mix.shares: source {name!r} has no share; give it one, or leave its input out"
                )
