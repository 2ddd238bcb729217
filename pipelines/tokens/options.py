"""How documents become a dataset: settings of the tokenizer, of the dataset and of a mixture."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

import pyarrow as pa
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from tokenmill.pipelines.core.config import Bytes, Config, if_text
from tokenmill.pipelines.core.places import file_or_model
from tokenmill.sizing.errors import meant
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


# a number of tokens, or text such as "300B"
TokenCount: TypeAlias = Annotated[float, if_text(parse_count), Field(ge=1)]


SOURCE = ("source",)
BETWEEN, NULL = " / ", "null"  # of the parts of a group's name; what is not there


def _keyed(shares: Any) -> Any:
    """Shares by text, as groups are named: YAML reads 1, true and null in other ways."""
    if not isinstance(shares, Mapping):
        return shares
    names = [name if isinstance(name, str) else json.dumps(name, default=str) for name in shares]
    twice = next((name for name, n in Counter(names).items() if n > 1), None)
    if twice is not None:
        raise ValueError(f"shares: {twice!r} stands twice")
    return dict(zip(names, map(_keyed, shares.values()), strict=True))


def _paths(shares: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each share, and the path to it."""
    for name, found in shares.items():
        inner = _paths(found) if isinstance(found, Mapping) else [((), found)]
        yield from (((name, *path), share) for path, share in inner)


class Bucket(Config):
    """A column of numbers cut into buckets by quantiles, for mixtures.

    of: the column, of an annotation.
    cuts: shares of the documents that lie below each cut, ascending, as [0.5, 0.9].
    names: of the buckets, the lowest first; "1", "2", … unless told.
    """

    of: str
    cuts: Annotated[tuple[Annotated[float, Field(gt=0.0, lt=1.0)], ...], Field(min_length=1)]
    names: tuple[str, ...] | None = None

    @model_validator(mode="after")
    def _a_name_for_each(self) -> "Bucket":
        if list(self.cuts) != sorted(set(self.cuts)):
            raise ValueError(f"cuts {list(self.cuts)} are to be ascending, each once")
        if self.names and not len(self.names) == len(set(self.names)) == len(self.cuts) + 1:
            raise ValueError(f"{len(self.cuts)} cuts make {len(self.cuts) + 1} buckets; name each")
        return self

    @property
    def called(self) -> tuple[str, ...]:
        """The names of the buckets, the lowest first."""
        return self.names or tuple(str(n + 1) for n in range(len(self.cuts) + 1))


class Mix(Config):
    """Shares of the training tokens by source, or by annotations, from which weights follow.

        weight = share * tokens / tokens of the source, or group

    Tokens of a source are those of its documents on the training side when all steps are done.

    by: what the shares are of: "source", names of annotations or of `buckets`, several in turn.
    shares: by name of the source, each of them; relative to their sum, as those that GPT-3 was
        trained on add up to 101 % (Brown et al. 2020, arXiv:2005.14165, table 2.2). Where there is
        more in `by`, shares in shares: {law: {high: 0.3, low: 0.1}, "*": 0.6}; a share stands for
        all that is below it, "*" for all other values, "null" for none. What has no share leaves.
    buckets: columns of numbers cut by quantiles, by the name that `by` has for them.
    weights: an annotation that says of each document how often it stands in an epoch, on average,
        in place of shares; a document of which it says nothing leaves.
    tokens: of an epoch, about: documents stay whole; None: as many as there are without taking a
        document twice, so that of one source all is taken.
    """

    by: Annotated[tuple[str, ...], Field(min_length=1, exclude_if=lambda by: by == SOURCE)] = SOURCE
    shares: Annotated[dict[str, Any], BeforeValidator(_keyed)] = Field(default_factory=dict)
    buckets: dict[str, Bucket] = Field(default_factory=dict, exclude_if=lambda found: not found)
    weights: str | None = Field(None, exclude_if=lambda column: column is None)
    tokens: TokenCount | None = None

    @model_validator(mode="after")
    def _shares_or_weights(self) -> "Mix":
        if bool(self.shares) == (self.weights is not None):
            raise ValueError("give shares, or weights: a column; one of them")
        if self.weights is not None and self.tokens is not None:
            raise ValueError("weights say how many tokens there will be; leave out tokens")
        for path, share in _paths(self.shares):
            where = f"shares.{'.'.join(path)}"
            if len(path) > len(self.by):
                raise ValueError(f"{where}: {len(path)} deep, and by names {len(self.by)}")
            if not isinstance(share, int | float) or share is True or not 0 < share < math.inf:
                raise ValueError(f"{where}: a share is a number above 0, got {share!r}")
        for name in self.buckets:
            if name not in self.by:
                raise ValueError(f"buckets.{name}: not in by; add it there, or leave it out")
        return self

    @property
    def named(self) -> dict[str, float]:
        """The shares by the names of their groups, as "law / high"."""
        return {BETWEEN.join(path): share for path, share in _paths(self.shares)}

    @property
    def columns(self) -> tuple[str, ...]:
        asked = [self.buckets[n].of if n in self.buckets else n for n in self.by]
        asked += [] if self.weights is None else [self.weights]
        return tuple(dict.fromkeys(name for name in asked if name != "source"))

    def group(self, path: Sequence[str | None]) -> str:
        """The group of documents with such values, in the order of `by`; "" for those of none.

        >>> Mix(by=["topic", "q"], shares={"law": {"3": 1}, "*": 2}).group(["art", "1"])
        '*'
        """
        if self.weights is not None:
            return BETWEEN.join(NULL if value is None else value for value in path)
        at: Any = self.shares
        taken: list[str] = []
        for value in path:
            if not isinstance(at, dict):
                break
            name = NULL if value is None else value
            taken.append(name if name in at else "*")
            at = at.get(taken[-1])
        return BETWEEN.join(taken) if at is not None else ""

    def check_columns(self, annotations: Iterable[pa.Field]) -> None:
        """Compare with columns at the end; ValueError: one is not there, or has no numbers."""
        kinds = {f.name: f.type for f in annotations}
        numbers = {b.of for b in self.buckets.values()} | {self.weights}
        for name in self.columns:
            if name not in kinds:
                there = f"there are {', '.join(kinds)}" if kinds else "no step annotates"
                raise ValueError(f"mix: documents have no column {name!r}; {there}")
            is_number = pa.types.is_floating(kinds[name]) or pa.types.is_integer(kinds[name])
            if name in numbers and not is_number:
                raise ValueError(f"mix: column {name!r} is {kinds[name]}, not numbers")
            if name not in numbers and pa.types.is_floating(kinds[name]):
                raise ValueError(
                    f"mix: column {name!r} is of numbers; cut it into buckets, as"
                    f" buckets: {{{name}_bucket: {{of: {name}, cuts: [0.5, 0.9]}}}}"
                )

    def check(self, sources: Iterable[str]) -> None:
        """Compare with all sources' names; ValueError: a name is none, or a source has no share."""
        if self.by != SOURCE or self.weights is not None:
            return
        known = sorted(set(sources))
        for name in self.shares:
            if name not in known and name != "*":
                hint = meant(name, known, f"sources: {', '.join(known)}")
                raise ValueError(f"mix.shares: no source is called {name!r}; {hint}")
        for name in known:
            if name not in self.shares and "*" not in self.shares:
                raise ValueError(
                    f"mix.shares: source {name!r} has no share; give it one, or leave its input out"
                )
