"""A plan: what a sheet is for. YAML in, frozen models out.

Every setting has a default, and every default says in `Assumed` where it comes from, so that a
sheet can print it as the assumption it is. `None` means: taken from elsewhere, as `Assumed` says.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, Field, ValidationError, model_validator

from tokenmill.sizing.errors import PlanError, explain
from tokenmill.sizing.plan.fields import Assumed, Section
from tokenmill.sizing.plan.settings import (
    Checkpoints,
    Cluster,
    Corpus,
    Imports,
    Job,
    Loaders,
    Model,
    Network,
    Prices,
    Source,
    Storage,
    Training,
)
from tokenmill.sizing.requirement import Input
from tokenmill.sizing.roots import held
from tokenmill.sizing.strict import parse_yaml
from tokenmill.sizing.tables import ACCELERATORS, OF_THE_PLAN, TIERS, AcceleratorRow, Row, TierRow

_OF_A_MODE = {"stall_frac": "sync", "drain_frac": "async"}  # of checkpoints
_ONLY_WITH = {  # a setting -> another that it says more of
    "storage.growth_years": "storage.growth_frac",
    "prices.egress_per_gb": "prices.egress",
}
_OF_ONE_JOB = (  # settings of figures that plans with jobs do not have
    *(f"loaders.{name}" for name in Loaders.model_fields),
    "network.ingest_bits_per_s",
    "network.ingest_bytes",
    "storage.shard_bytes",
)
_SHARED = {"vocab_size", "token_width_bytes"}  # of a corpus, that its sources may have in common
# sections of a plan that add rows to a table, and where the table's own are found
_TABLES: Mapping[str, Callable[[str], Row]] = {
    "tiers": TIERS.find,
    "accelerators": ACCELERATORS.find,
}


class Plan(Section):
    """What a sheet is for.

    sources: several corpora that are mixed, each with the keys of `corpus`, in place of it.
    jobs: others that run at the same time, each with what differs from the plan.
    accelerators, tiers: the user's own rows of the tables.
    """

    corpus: Corpus = Corpus()
    sources: Annotated[tuple[Source, ...], Field(strict=False)] = ()
    model: Model = Model()
    cluster: Cluster = Cluster()
    training: Training = Training()
    checkpoints: Checkpoints = Checkpoints()
    storage: Storage = Storage()
    loaders: Loaders = Loaders()
    network: Network = Network()
    imports: Imports = Imports()
    prices: Prices = Prices()
    jobs: Annotated[tuple[Job, ...], Field(strict=False)] = ()
    accelerators: Annotated[tuple[AcceleratorRow, ...], Field(strict=False)] = ()
    tiers: Annotated[tuple[TierRow, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _names_are_known(self) -> "Plan":
        of_table = (self.cluster.dense_flops_per_s, self.cluster.per_node)
        if None in of_table:
            try:
                ACCELERATORS.find(self.cluster.accelerator, self.accelerators)
            except PlanError as e:
                raise PlanError(f"cluster.accelerator: {e}") from e
        for name in self.storage.candidates:
            TIERS.find(name, self.tiers)
        return self

    @model_validator(mode="after")
    def _replicas_have_room(self) -> "Plan":
        replicas, count = self.training.data_parallel, self.cluster.count
        if replicas is not None and replicas > count:
            raise ValueError(
                f"training.data_parallel {replicas:,} is more than cluster.count {count:,}; a"
                " replica takes at least one accelerator"
            )
        return self

    @model_validator(mode="after")
    def _sources_hold_together(self) -> "Plan":
        if not self.sources:
            return self
        names = [source.name for source in self.sources]
        if len(set(names)) < len(names):
            raise ValueError(f"two sources share a name among {', '.join(names)}")
        if both := sorted(self.corpus.model_fields_set - _SHARED):
            raise ValueError(f"corpus.{both[0]} and sources are both given; say it of each source")
        for key in ("weight", "epochs"):
            given = [source.name for source in self.sources if getattr(source, key) is not None]
            if given and len(given) < len(names):
                missing = next(name for name in names if name not in given)
                raise ValueError(
                    f"source {missing!r} has no {key}, {given[0]!r} has; give all or none"
                )
        if self.sources[0].epochs is not None:
            for key in filter(
                self.training.model_fields_set.__contains__, ("tokens", "days", "epochs")
            ):
                raise ValueError(
                    f"training.{key} and epochs of the sources are both given; give one"
                )
        return self

    @model_validator(mode="after")
    def _jobs_have_names(self) -> "Plan":
        names = [job.name for job in self.jobs]
        if len(set(names)) < len(names):
            raise ValueError(f"two jobs share a name among {', '.join(names)}")
        return self

    def remarks(self) -> list[str]:
        """What is stated and has no effect, or is odd, each in one sentence."""
        made = []
        mode = self.checkpoints.mode
        for name, of_mode in _OF_A_MODE.items():
            if of_mode != mode and self.stated(f"checkpoints.{name}"):
                made.append(
                    f"checkpoints.{name} is stated but has no effect with mode: {mode}; it is of"
                    f" mode: {of_mode}"
                )
        for key, other in _ONLY_WITH.items():
            if self.stated(key) and not self.value(other):
                made.append(f"{key} is stated but has no effect without {other}")
        for key in filter(self.stated, _OF_ONE_JOB if self.jobs else ()):
            made.append(f"{key} is stated, but its figures are told of a plan without jobs only")
        if self.checkpoints.interval_s and self.stated("checkpoints.most_interval_s"):
            made.append("checkpoints.most_interval_s is stated but has no effect beside interval_s")
        count, per_node = self.cluster.count, self.cluster.per_node
        if per_node is None:
            per_node = ACCELERATORS.find(self.cluster.accelerator, self.accelerators).per_node
        if count > per_node and count % per_node:
            made.append(
                f"cluster.count {count:,} is not a multiple of the {per_node} accelerators of a"
                " node: one node is not full"
            )
        return made

    def stated(self, key: str) -> bool:
        """Whether `key`, as "cluster.mfu", was given rather than left at its default."""
        section, name = self._place(key)
        return name in section.model_fields_set

    def value(self, key: str) -> Any:
        """The value of `key`, as "cluster.mfu" or "sources.web.tokens"."""
        section, name = self._place(key)
        return getattr(section, name)

    def source(self, key: str) -> str:
        """Where the value of `key` comes from, in words."""
        value = self.value(key)
        shown = f"{key} {value}" if isinstance(value, str) else key
        if self.stated(key):
            return f"stated: {shown}"
        return f"default of {shown}: {self._about(key).source}"

    def unit(self, key: str) -> str:
        """The unit of `key`, as `format_quantity` takes it."""
        return self._about(key).unit

    def input(self, key: str, *, name: str | None = None, value: float | None = None) -> Input:
        """A setting as an input of a formula.

        name: of the formula's argument; None is the setting's own.
        value: what the setting amounts to where it is not a number itself; its source says what.
        TypeError: the setting is no number, and no `value` was given.
        """
        section, own_name = self._place(key)
        amount = getattr(section, own_name) if value is None else value
        if not isinstance(amount, int | float):
            raise TypeError(f"{key} is {amount!r}, no number")
        limits = section.interval_of(own_name)
        return Input(
            name=name or own_name,
            value=amount,
            unit=self.unit(key),
            measured=False,
            source=self.source(key),
            spread={} if limits is None else {key: limits},
            verified=self.stated(key) or self._about(key).verified,
            key=key,
        )

    def _place(self, key: str) -> tuple[Section, str]:
        """The section that a key is of, and its name there."""
        *steps, name = key.split(".")
        section: Any = self
        for step in steps:
            if isinstance(section, tuple):
                section = next(source for source in section if source.name == step)
            else:
                section = getattr(section, step)
        return section, name

    def _about(self, key: str) -> Assumed:
        section, name = self._place(key)
        return _assumed(type(section), name)


@cache
def _assumed(section: type[BaseModel], name: str) -> Assumed:
    return next(m for m in section.model_fields[name].metadata if isinstance(m, Assumed))


def sections() -> dict[str, type[BaseModel]]:
    """The sections of a plan by name, those that are lists left out."""
    return {
        name: field.annotation
        for name, field in Plan.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
    }


def load_plan(path: Path | None, *, changes: Mapping[str, Any] | None = None) -> Plan:
    """Read a plan file; without one every default is assumed.

    changes: settings by key, as "model.params", in place of the file's.
    PlanError: the file cannot be read, is not YAML, or says something unknown or impossible.
    """
    if path is None:
        return parse_plan("", where="plan", changes=changes)
    try:
        with held(path) as name:
            text = Path(name).read_text(encoding="utf-8")
    except OSError as e:
        raise PlanError(f"{path}: cannot read the plan ({e.strerror})") from e
    except UnicodeDecodeError as e:
        raise PlanError(f"{path}: not UTF-8 text ({e.reason} at byte {e.start})") from e
    return parse_plan(text, where=str(path), changes=changes)


def parse_plan(text: str, *, where: str, changes: Mapping[str, Any] | None = None) -> Plan:
    """A plan from YAML text, all defaults if empty; PlanError as `load_plan`, of `where`."""
    try:
        data = parse_yaml(text)
    except yaml.YAMLError as e:
        raise PlanError(f"{where}: not YAML: {' '.join(str(e).split())}") from e
    except PlanError as e:
        raise PlanError(f"{where}: {e}") from e
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise PlanError(f"{where}: a plan is a mapping of settings, got {type(data).__name__}")
    for key, value in (changes or {}).items():
        data = changed(data, key, value)
    try:
        return Plan.model_validate(data)
    except ValidationError as e:
        raise PlanError(f"{where}: {explain(e, Plan)}") from e


def changed(data: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    """`data` with the setting `key`, as "sources.web.tokens", put in place of what stands there.

    A row that the plan does not give, as "tiers.S3.prefix_get_per_s", is taken from the table.
    PlanError: the key goes through something that holds no settings.

    >>> changed({"model": {"params": 1}, "cluster": {}}, "model.params", 2)
    {'model': {'params': 2}, 'cluster': {}}
    """
    first, _, rest = key.partition(".")
    if not rest:
        return {**data, first: value}
    below = data.get(first, [] if first in _TABLES else {})
    if isinstance(below, list):
        return {**data, first: _changed_rows(below, key, value)}
    if not isinstance(below, Mapping):
        raise PlanError(f"{key}: {first} is {below!r}, not settings as {{key: value}}")
    return {**data, first: changed(below, rest, value)}


def _changed_rows(rows: Sequence[Any], key: str, value: Any) -> list[Any]:
    """`rows` with a setting of the one that `key` names; names may have dots in them."""
    of, _, rest = key.partition(".")
    for at, row in enumerate(rows):
        name = row.get("name") if isinstance(row, Mapping) else None
        if name is not None and rest.startswith(f"{name}."):
            setting = rest.removeprefix(f"{name}.")
            return [*rows[:at], changed(row, setting, value), *rows[at + 1 :]]
    name, _, column = rest.rpartition(".")
    if of not in _TABLES:
        raise PlanError(f"{key}: {of} has none of the name {name!r}")
    try:
        row = _TABLES[of](name)
    except PlanError as e:
        raise PlanError(f"{key}: {e}") from e
    return [*rows, _restated(row, column, value)]


def _restated(row: Row, column: str, value: Any) -> dict[str, Any]:
    """A row of a table as a plan gives one, with another value in one column."""
    cells = row.model_dump(exclude_unset=True)
    sources = {**row.sources, column: OF_THE_PLAN} if column in row.columns() else row.sources
    unverified = [name for name in row.unverified if name != column]
    return {**cells, column: value, "sources": sources, "unverified": unverified}
