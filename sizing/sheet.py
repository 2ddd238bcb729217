"""The sheet: every requirement of a plan for a corpus, in the order a buyer reads them.

measurement ─┐
             ├─ corpus tokens ── what is stored ── logical ── usable ── raw
plan ────────┤
             └─ tokens/s ─┬─ reads
                          └─ days            checkpoints ── kept, written
"""

from collections.abc import Iterable
from typing import NamedTuple

from sizing.accelerators import find_accelerator
from sizing.corpus import DATASET, CorpusMeasurement
from sizing.formulas.bandwidth import NODE_READ_BYTES_PER_S, READ_BYTES_PER_S, SEQUENCE_READS_PER_S
from sizing.formulas.capacity import (
    DATASET_BYTES,
    LOGICAL_BYTES,
    RAW_BYTES,
    STAGE_BYTES,
    TEXT_BYTES,
    USABLE_BYTES,
    redundancy_factor,
)
from sizing.formulas.checkpoint import CHECKPOINT_BYTES, KEPT_CHECKPOINT_BYTES, WRITE_BYTES_PER_S
from sizing.formulas.training import (
    COMPUTE_OPTIMAL_TOKENS,
    TOKENS_PER_S,
    TRAINED_TOKENS,
    TRAINING_DAYS,
)
from sizing.plan import Plan
from sizing.requirement import Input, Requirement

STORED = "stored: "  # how the name of a part of the capacity begins


class _Tokens(NamedTuple):
    """corpus: the input that says how many tokens to store.  rows: what computed it, if anything.

    scaled: the corpus is not the one that was measured, so its bytes are estimates.
    """

    corpus: Input
    rows: tuple[Requirement, ...]
    scaled: bool


def requirement_sheet(measurement: CorpusMeasurement | None, plan: Plan) -> tuple[Requirement, ...]:
    """Every requirement, what a buyer needs first first; names are unique.

    measurement: None sizes the plan's own, assumed corpus.
    """
    tokens = _corpus_tokens(measurement, plan)
    stored_per_token = _stored_bytes_per_token(measurement, plan)
    rate = TOKENS_PER_S.requirement("training rate", _compute(plan))
    checkpoints = _checkpoints(plan)
    reads = _reads(plan, rate, stored_per_token)
    stages = _stages(measurement, plan, tokens, stored_per_token)
    capacity = _capacity(plan, [*stages, checkpoints["kept"]])
    return (
        capacity["raw"],
        capacity["usable"],
        reads["job"],
        checkpoints["write"],
        reads["node"],
        reads["requests"],
        checkpoints["one"],
        *_duration(plan, tokens.corpus, rate),
        rate,
        capacity["logical"],
        checkpoints["kept"],
        *stages[::-1],
        *tokens.rows,
    )


def _corpus_tokens(measurement: CorpusMeasurement | None, plan: Plan) -> _Tokens:
    if plan.corpus.tokens is not None:
        same = measurement is not None and plan.corpus.tokens == measurement.tokens
        return _Tokens(plan.input("corpus.tokens", name="corpus_tokens"), (), scaled=not same)
    if measurement is not None:
        return _Tokens(
            _measured(measurement, "corpus_tokens", measurement.tokens, "tokens"), (), scaled=False
        )
    row = COMPUTE_OPTIMAL_TOKENS.requirement("tokens in the corpus", [plan.input("model.params")])
    return _Tokens(row.as_input("corpus_tokens"), (row,), scaled=True)


def _stored_bytes_per_token(measurement: CorpusMeasurement | None, plan: Plan) -> Input:
    if measurement is None:
        return plan.input("corpus.token_width_bytes", name="stored_bytes_per_token")
    return _measured(
        measurement,
        "stored_bytes_per_token",
        measurement.stored_bytes_per_token,
        "bytes/token",
        se=measurement.stored_bytes_per_token_se,
    )


def _compute(plan: Plan) -> list[Input]:
    """The inputs of the training rate."""
    if plan.model.active_params is None:
        active = plan.input("model.params", name="active_params")
    else:
        active = plan.input("model.active_params")
    return [
        plan.input("cluster.count", name="accelerators"),
        _of_accelerator(plan, "dense_flops_per_s"),
        plan.input("cluster.mfu"),
        active,
    ]


def _of_accelerator(plan: Plan, field: str) -> Input:
    """A figure the plan gives itself, or else the table's for the accelerator it names."""
    key = f"cluster.{field}"
    if getattr(plan.cluster, field) is not None:
        return plan.input(key)
    row = find_accelerator(plan.cluster.accelerator)
    return Input(
        name=field,
        value=getattr(row, field),
        unit=plan.unit(key),
        measured=False,
        source=f"{plan.source('cluster.accelerator')}; {row.source_of(field)}",
    )


def _reads(plan: Plan, rate: Requirement, stored_per_token: Input) -> dict[str, Requirement]:
    job = READ_BYTES_PER_S.requirement(
        "read bandwidth, whole job",
        [
            rate.as_input("tokens_per_s"),
            stored_per_token,
            plan.input("training.read_amplification"),
        ],
    )
    node = NODE_READ_BYTES_PER_S.requirement(
        "read bandwidth, one node",
        [
            job.as_input("read_bytes_per_s"),
            plan.input("cluster.count", name="accelerators"),
            _of_accelerator(plan, "per_node"),
        ],
    )
    requests = SEQUENCE_READS_PER_S.requirement(
        "read requests, whole job", [rate.as_input("tokens_per_s"), plan.input("model.seq_len")]
    )
    return {"job": job, "node": node, "requests": requests}


def _checkpoints(plan: Plan) -> dict[str, Requirement]:
    one = CHECKPOINT_BYTES.requirement(
        "one checkpoint", [plan.input("model.params"), plan.input("checkpoints.bytes_per_param")]
    )
    kept = KEPT_CHECKPOINT_BYTES.requirement(
        f"{STORED}checkpoints",
        [
            one.as_input("checkpoint_bytes"),
            plan.input("checkpoints.keep_last"),
            plan.input("checkpoints.keep_forever"),
        ],
    )
    write = WRITE_BYTES_PER_S.requirement(
        "checkpoint write bandwidth, whole job",
        [
            one.as_input("checkpoint_bytes"),
            plan.input("checkpoints.interval_s"),
            plan.input("checkpoints.stall_frac"),
        ],
    )
    return {"one": one, "kept": kept, "write": write}


def _duration(plan: Plan, corpus_tokens: Input, rate: Requirement) -> tuple[Requirement, ...]:
    if plan.training.tokens is not None:
        rows: tuple[Requirement, ...] = ()
        trained = plan.input("training.tokens", name="trained_tokens")
    else:
        seen = TRAINED_TOKENS.requirement(
            "tokens trained on", [corpus_tokens, plan.input("training.epochs")]
        )
        rows, trained = (seen,), seen.as_input("trained_tokens")
    days = TRAINING_DAYS.requirement("training time", [trained, rate.as_input("tokens_per_s")])
    return (days, *rows)


def _stages(
    measurement: CorpusMeasurement | None, plan: Plan, tokens: _Tokens, stored_per_token: Input
) -> list[Requirement]:
    """What each stage of the pipeline stores, in the order of the run, the dataset last."""
    dataset = DATASET_BYTES.requirement(f"{STORED}{DATASET}", [tokens.corpus, stored_per_token])
    if measurement is None:
        per_token = plan.input("corpus.text_bytes_per_token")
        return [TEXT_BYTES.requirement(f"{STORED}text", [tokens.corpus, per_token]), dataset]
    stages = {
        stage: _stage(measurement, stage, tokens.corpus) for stage in measurement.stored_bytes
    }
    whole = stages.pop(DATASET)
    # of a corpus measured whole the bytes are known; of any other only a ratio with an error is
    return [*stages.values(), dataset if tokens.scaled else whole]


def _stage(measurement: CorpusMeasurement, stage: str, corpus_tokens: Input) -> Requirement:
    n_bytes = measurement.stored_bytes[stage]
    return STAGE_BYTES.requirement(
        f"{STORED}{stage}",
        [
            _measured(measurement, "measured_bytes", n_bytes, "bytes"),
            _measured(measurement, "measured_tokens", measurement.tokens, "tokens"),
            corpus_tokens,
        ],
    )


def _capacity(plan: Plan, parts: Iterable[Requirement]) -> dict[str, Requirement]:
    logical = LOGICAL_BYTES.requirement(
        "stored in all", [part.as_input(part.name.removeprefix(STORED)) for part in parts]
    )
    usable = USABLE_BYTES.requirement(
        "usable capacity",
        [
            logical.as_input("logical_bytes"),
            plan.input("storage.fill_frac"),
            plan.input("storage.growth_frac"),
            plan.input("storage.growth_years"),
        ],
    )
    factor = redundancy_factor(plan.storage.redundancy)
    raw = RAW_BYTES.requirement(
        "raw capacity",
        [
            usable.as_input("usable_bytes"),
            plan.input("storage.redundancy", value=factor),
        ],
    )
    return {"logical": logical, "usable": usable, "raw": raw}


def _measured(
    measurement: CorpusMeasurement, name: str, value: float, unit: str, *, se: float | None = None
) -> Input:
    return Input(
        name=name,
        value=value,
        unit=unit,
        measured=measurement.measured,
        source=measurement.source,
        se=se,
    )
