"""A plan: the cluster, the model and the storage policy a sheet is for. YAML in, frozen models out.

Every setting has a default, and every default says in `Assumed` where it comes from, so that a
sheet can print it as the assumption it is. `None` means: taken from elsewhere, as `Assumed` says.
"""

from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from sizing.accelerators import find_accelerator
from sizing.formulas.capacity import redundancy_factor
from sizing.requirement import Input
from sizing.units import parse_count, parse_flops_per_s

OUR_CHOICE = "our choice"


@dataclass(frozen=True)
class Assumed:
    """unit: of a setting, as `format_quantity` takes it.  source: of its default."""

    unit: str
    source: str


def _count(value: Any) -> Any:
    return parse_count(value) if isinstance(value, str) else value


def _flops_per_s(value: Any) -> Any:
    return parse_flops_per_s(value) if isinstance(value, str) else value


def _redundancy(value: str) -> str:
    redundancy_factor(value)  # raises where it cannot be read
    return value


Count: TypeAlias = Annotated[float, BeforeValidator(_count), Field(gt=0)]
Whole: TypeAlias = Annotated[int, Field(ge=1)]  # digits only: "8k" tokens would mean 8,192 to many
FlopRate: TypeAlias = Annotated[float, BeforeValidator(_flops_per_s), Field(gt=0)]
Positive: TypeAlias = Annotated[float, Field(gt=0)]
Share: TypeAlias = Annotated[float, Field(gt=0, le=1)]
Redundancy: TypeAlias = Annotated[str, AfterValidator(_redundancy)]


class Section(BaseModel):
    """Unknown keys are refused, numbers are not guessed from other types, nothing changes."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Corpus(Section):
    """The corpus to store; a measured one overrides the two sizes of a token.

    tokens: to store, each counted once; more than were measured scales every stage up.
    token_width_bytes: of one token id as stored.
    """

    tokens: Annotated[Count | None, Assumed("tokens", "those measured, else 20 a parameter")] = None
    text_bytes_per_token: Annotated[
        Positive, Assumed("bytes/token", "English web text, a rule of thumb (OpenAI, Lockwood)")
    ] = 4.0
    token_width_bytes: Annotated[
        Positive, Assumed("bytes/token", "vocabularies over 65,500 take 4 bytes (Megatron-LM)")
    ] = 4.0


class Cluster(Section):
    """accelerator: a row of the table.  count: in the whole job.  mfu: model FLOPs utilization.

    dense_flops_per_s, per_node: in place of the table's.
    """

    accelerator: Annotated[str, Assumed("name", OUR_CHOICE)] = "H100 SXM"
    dense_flops_per_s: Annotated[FlopRate | None, Assumed("FLOP/s", "the accelerator's")] = None
    count: Annotated[Whole, Assumed("accelerators", OUR_CHOICE)] = 1024
    per_node: Annotated[Whole | None, Assumed("accelerators", "the accelerator's")] = None
    mfu: Annotated[
        Share, Assumed("fraction", "Llama 3 405B on 16,384 H100 SXM: 400 of 989 TFLOP/s each")
    ] = 0.4

    @model_validator(mode="after")
    def _accelerator_is_known(self) -> "Cluster":
        if self.dense_flops_per_s is None or self.per_node is None:
            find_accelerator(self.accelerator)
        return self


class Model(Section):
    """active_params: that work on each token, for a mixture of experts; None is all."""

    params: Annotated[Count, Assumed("parameters", OUR_CHOICE)] = 8e9
    active_params: Annotated[Count | None, Assumed("parameters", "all of them")] = None
    seq_len: Annotated[Whole, Assumed("tokens", "Llama 3 8B")] = 8192

    @model_validator(mode="after")
    def _active_are_some_of_all(self) -> "Model":
        if self.active_params is not None and self.active_params > self.params:
            raise ValueError(
                f"active_params {self.active_params:g} are more than params {self.params:g}"
            )
        return self


class Training(Section):
    """tokens: seen in training, repeats counted; None is the corpus times `epochs`.

    read_amplification: bytes fetched from storage for each byte used.
    """

    tokens: Annotated[Count | None, Assumed("tokens", "the corpus times epochs")] = None
    epochs: Annotated[Positive, Assumed("epochs", OUR_CHOICE)] = 1.0
    read_amplification: Annotated[
        Annotated[float, Field(ge=1)],
        Assumed(
            "ratio",
            "Arrow record batches read in order, 1.23 to 1.30 where it was measured;"
            " single rows at random through a memory map read 14",
        ),
    ] = 1.3

    @model_validator(mode="after")
    def _tokens_or_epochs(self) -> "Training":
        if self.tokens is not None and "epochs" in self.model_fields_set:
            raise ValueError("tokens and epochs are both given; give one, the other follows")
        return self


class Checkpoints(Section):
    """keep_last: to restart from.  keep_forever: never deleted, the final one included.

    interval_s: from one to the next.  stall_frac: of the time that training may wait for them.
    """

    bytes_per_param: Annotated[
        Positive,
        Assumed(
            "bytes/parameter",
            "BF16 weights, FP32 master weights and Adam's two moments: 2 + 4 + 4 + 4 (BLOOM, MLPerf"
            " Storage)",
        ),
    ] = 14.0
    keep_last: Annotated[Whole, Assumed("checkpoints", OUR_CHOICE)] = 3
    keep_forever: Annotated[Whole, Assumed("checkpoints", "the final one")] = 1
    interval_s: Annotated[Positive, Assumed("s", f"{OUR_CHOICE}: half an hour")] = 1800.0
    stall_frac: Annotated[Share, Assumed("fraction", OUR_CHOICE)] = 0.05


class Storage(Section):
    """fill_frac: of usable capacity that may be used.  growth_frac: a year, for growth_years.

    redundancy: "8+2" for data + parity, "3 replicas", "none".
    """

    fill_frac: Annotated[
        Share,
        Assumed(
            "fraction", "Bekman: expect 80 % of what is sold; stores fail before they are full"
        ),
    ] = 0.8
    redundancy: Annotated[
        Redundancy, Assumed("ratio", f"{OUR_CHOICE}: two drives may fail; Aurora has 16+2")
    ] = "8+2"
    growth_frac: Annotated[
        Annotated[float, Field(ge=0)], Assumed("fraction", f"{OUR_CHOICE}: no growth")
    ] = 0.0
    growth_years: Annotated[Positive, Assumed("years", OUR_CHOICE)] = 1.0


class Plan(Section):
    """What a sheet is for."""

    corpus: Corpus = Corpus()
    cluster: Cluster = Cluster()
    model: Model = Model()
    training: Training = Training()
    checkpoints: Checkpoints = Checkpoints()
    storage: Storage = Storage()

    def stated(self, key: str) -> bool:
        """Whether `key`, as "cluster.mfu", was given rather than left at its default."""
        section, _, name = key.partition(".")
        return name in getattr(self, section).model_fields_set

    def source(self, key: str) -> str:
        """Where the value of `key` comes from, in words."""
        section, _, name = key.partition(".")
        value = getattr(getattr(self, section), name)
        shown = f"{key} {value}" if isinstance(value, str) else key
        if self.stated(key):
            return f"stated: {shown}"
        return f"default of {shown}: {_about(self, key).source}"

    def unit(self, key: str) -> str:
        """The unit of `key`, as `format_quantity` takes it."""
        return _about(self, key).unit

    def input(self, key: str, *, name: str | None = None, value: float | None = None) -> Input:
        """A setting as an input of a formula.

        name: of the formula's argument; None is the setting's own.
        value: what the setting amounts to where it is not a number itself; its source says what.
        """
        section, _, own_name = key.partition(".")
        return Input(
            name=name or own_name,
            value=getattr(getattr(self, section), own_name) if value is None else value,
            unit=self.unit(key),
            measured=False,
            source=self.source(key),
        )


def known_keys(place: tuple[str | int, ...]) -> list[str]:
    """The keys that a plan takes at `place`: () for the top, ("cluster",) for a section."""
    model: Any = Plan
    for step in place:
        model = model.model_fields[step].annotation
    return list(model.model_fields)


def _about(plan: Plan, key: str) -> Assumed:
    section, _, name = key.partition(".")
    field = type(getattr(plan, section)).model_fields[name]
    return next(m for m in field.metadata if isinstance(m, Assumed))
