"""The steps a recipe can name, and how one is read and written: a name with its settings."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, PlainSerializer, TypeAdapter, ValidationError

from tokenmill.pipelines.config import Config, explain
from tokenmill.pipelines.decontaminate import Decontaminate
from tokenmill.pipelines.dedup_steps import ExactDedup, NearDedup
from tokenmill.pipelines.repeats.steps import REPEATS, SAME
from tokenmill.pipelines.spans.steps import RepeatedSpans
from tokenmill.pipelines.stages import STAGES

STEPS: dict[str, type[Config]] = {
    **STAGES,
    "exact": ExactDedup,
    "near": NearDedup,
    **{step.name: step for step in (*SAME, *REPEATS)},
    "repeated_spans": RepeatedSpans,
    "decontaminate": Decontaminate,
}


def _step(value: Any) -> Config:
    """Build the config a one-key mapping like `{"near": {"ngram": 5}}` or a bare name asks for."""
    if isinstance(value, Config):
        return value
    name, settings = _one_key(value)
    if name not in STEPS:
        raise ValueError(f"unknown step {name!r}; steps are {', '.join(STEPS)}")
    try:
        return STEPS[name].model_validate(settings or {})
    except ValidationError as e:
        error = explain(e, name, _keys_of(STEPS[name]))
        raise ValueError(str(error)) from e


def _keys_of(step: type[Config]) -> dict[str, list[str]]:
    """The keys that a step takes, and under "folding" and the like those of its parts."""
    kinds = {name: field.annotation for name, field in step.model_fields.items()}
    parts = {n: k for n, k in kinds.items() if isinstance(k, type) and issubclass(k, Config)}
    return {"": list(kinds), **{name: list(kind.model_fields) for name, kind in parts.items()}}


def _one_key(value: Any) -> tuple[str, Any]:
    if isinstance(value, str):
        return value, {}
    if isinstance(value, Mapping) and len(value) == 1:
        return next(iter(value.items()))
    raise ValueError("a step is a name with its settings, as {c4: {}}")


def step_name(step: Config) -> str:
    """The key that names this step in a recipe."""
    return next(name for name, cls in STEPS.items() if type(step) is cls)


def _dump_step(step: Config) -> dict[str, Any]:
    return {step_name(step): step.model_dump(mode="json")}


Step: TypeAlias = Annotated[
    Config, BeforeValidator(_step), PlainSerializer(_dump_step, return_type=dict[str, Any])
]


def steps_of(identity: Mapping[str, Any], *, where: str) -> tuple[Config, ...]:
    """The steps of a run, by its identity; the rest of its recipe may be of files that are gone.

    Raises:
        ConfigError: they are not of this version.
    """
    try:
        return TypeAdapter(tuple[Step, ...]).validate_python(identity["recipe"]["steps"])
    except ValidationError as e:
        raise explain(e, where, {}) from e
