"""A recipe: what goes in, what is done to it in which order, and what comes out.

YAML in, frozen models out. An unknown key, a value out of range or a file that is not
there is one line that names the place; nothing has been read or written by then.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import pyarrow as pa
import yaml
from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from tokenmill.pipelines.core.config import Bytes, Config, FilePath, digest_of, explain, readable
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.filter import Filter
from tokenmill.pipelines.core.measured import TOTAL
from tokenmill.pipelines.core.options import RunOptions
from tokenmill.pipelines.core.plugins import VARIABLE
from tokenmill.pipelines.core.schema import (
    COLUMN_TYPES,
    CRAWLED,
    DOCUMENT,
    ILLUSTRATED,
    OF_RUNS,
    OWN_COLUMNS,
    annotation_name,
)
from tokenmill.pipelines.core.shard import RUN, EarlierRun, Input, InputFile, Plan, SourceShard
from tokenmill.pipelines.core.step import STEPS, Step
from tokenmill.pipelines.read.options import Html, Images, Limits
from tokenmill.pipelines.tokens.options import Mix, Output, Tokenizer
from tokenmill.sizing.errors import PlanError, meant, nearest
from tokenmill.sizing.roots import OURS
from tokenmill.sizing.strict import parse_yaml

# where a run is made, and what is told of it, decide nothing that is written
UNDECIDING: Any = {"run": True, "against": True, "limits": {"failed_frac"}}


def _step(value: Any) -> Step:
    """Build the config a one-key mapping like `{"near": {"ngram": 5}}` or a bare name asks for."""
    if isinstance(value, Step):
        return value
    name, settings = _one_key(value)
    if name not in STEPS:
        hint = meant(name, STEPS, f"steps are {', '.join(STEPS)}")
        raise ValueError(
            f"unknown step {name!r}; {hint}; one of your own: {VARIABLE} names its module"
        )
    asked = settings.get("action") if isinstance(settings, Mapping) else None
    if asked == "annotate" and not issubclass(STEPS[name], Filter):
        wide = STEPS[name].corpus_wide
        why = (
            "needs all documents before it knows of one"
            if wide
            else "finds nothing of a document by itself"
        )
        raise ValueError(f"step {name!r} {why}, and cannot annotate; filters and models can")
    try:
        return STEPS[name].model_validate(settings or {})
    except ValidationError as e:
        raise ValueError(str(explain(e, name, STEPS[name]))) from e


def _one_key(value: Any) -> tuple[str, Any]:
    if isinstance(value, str):
        return value, {}
    if isinstance(value, Mapping) and len(value) == 1:
        return next(iter(value.items()))
    raise ValueError("a step is a name with its settings, as {c4: {}}")


_dumped = PlainSerializer(lambda step: {step.name: step.model_dump(mode="json")}, dict[str, Any])
RecipeStep: TypeAlias = Annotated[Step, BeforeValidator(_step), _dumped]


def steps_of(identity: Mapping[str, Any], *, where: str) -> tuple[Step, ...]:
    """The steps of a run by its identity, whose files may be gone; ConfigError: another version."""
    try:
        return TypeAdapter(tuple[RecipeStep, ...]).validate_python(identity["recipe"]["steps"])
    except ValidationError as e:
        raise explain(e, where, Recipe) from e


if TYPE_CHECKING:
    from tokenmill.pipelines.read.batch import ReadBatch
    from tokenmill.pipelines.tokens.run import Tokenizing

SHIPPED = Path(__file__).parent / "recipes"
YAML = (".yaml", ".yml")
OURS.add(os.path.realpath(SHIPPED))


class Recipe(Config):
    """The whole job. What each step takes is said in its own class.

    name: what the run is called in its report.
    inputs: where documents come from; a path alone will do where nothing else is to be said.
    shard_bytes: of the inputs that one piece of work reads, about.
    steps: what is done to documents, in this order: names with settings, as {near: {rows: 8}};
        `tokenmill steps` lists them.
    tokenizer: which one makes ids of the documents; null ends with their text (`output.text`).
    html: how pages in web archives (WARC, WET, ARC) become documents; None reads none.
    mix: shares of the training tokens by source, in place of weights of the inputs.
    against: run directories of finished runs, oldest first, that kept an index. What their datasets
        hold counts as standing before the inputs: it is found again in them, and not read again.
    """

    name: str = "corpus"
    inputs: tuple[Input, ...] = Field(min_length=1)
    against: tuple[FilePath, ...] = ()
    shard_bytes: Bytes = 256_000_000
    steps: tuple[RecipeStep, ...] = ()
    tokenizer: Tokenizer | None
    images: Images | None = None
    html: Html | None = None
    mix: Mix | None = None
    output: Output = Output()
    limits: Limits = Limits()
    run: RunOptions = RunOptions()

    @field_validator("steps")
    @classmethod
    def _each_corpus_step_once(cls, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        names = [s.stage_name for s in steps]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            way = "; one that annotates can stand again under another name, as column: other"
            annotates = any(s.annotations() for s in steps if s.stage_name == twice[0])
            raise ValueError(
                f"step {twice[0]!r} stands twice; name each step once{way if annotates else ''}"
            )
        return steps

    @model_validator(mode="after")
    def _steps_fit_images_and_pages(self) -> "Recipe":
        for step in self.steps:
            if self.images is not None and step.cuts_text:
                way = f"; take {step.without_cutting}" if step.without_cutting else ""
                raise ValueError(
                    f"step {step.name!r} cuts text, and images would lose their places in it;"
                    f" it cannot stand in a recipe with images{way}"
                )
            if self.images is None and step.needs_images:
                raise ValueError(
                    f"step {step.name!r} is about images, and the recipe has no section"
                    " 'images'; add one, 'images: {}' will do"
                )
        for step in self.steps if self.html is None else ():
            if step.needs_dates:
                raise ValueError(
                    f"step {step.name!r} keeps the newest, and only documents of web archives"
                    " have a date; add 'html: {}' where the inputs are such, or keep: last"
                )
        if self.images is not None and self.html is not None:
            raise ValueError("images of web pages are not read yet; leave out 'images' or 'html'")
        return self

    @field_validator("against", mode="before")
    @classmethod
    def _one_run_alone(cls, against: Any) -> Any:
        return [against] if isinstance(against, str) else against or ()

    @field_validator("against")
    @classmethod
    def _each_run_once(cls, against: tuple[str, ...]) -> tuple[str, ...]:
        for path in against:
            if against.count(path) > 1:
                raise ValueError(f"{path} stands twice; name each run once")
        return against

    @field_validator("inputs", mode="before")
    @classmethod
    def _one_alone(cls, inputs: Any) -> Any:
        if not inputs:
            raise ValueError("no input; write inputs: [{path: …}], or --set inputs=PATH")
        return inputs if isinstance(inputs, list | tuple) else [inputs]

    @field_validator("inputs")
    @classmethod
    def _runs_bring_their_annotations(cls, inputs: tuple[Input, ...]) -> tuple[Input, ...]:
        if not any(one.format == RUN for one in inputs):
            return inputs
        from tokenmill.pipelines.read.kept import kept_columns  # loads stores

        return tuple(
            one.model_copy(update={"columns": kept_columns(one.path)})
            if one.format == RUN and not one.columns
            else one
            for one in inputs
        )

    @field_validator("inputs")
    @classmethod
    def _no_source_is_called_total(cls, inputs: tuple[Input, ...]) -> tuple[Input, ...]:
        if any(i.source_name == TOTAL for i in inputs):
            raise ValueError(f"a source cannot be called {TOTAL!r}: reports use it for all of them")
        return inputs

    @field_validator("output")
    @classmethod
    def _images_stay_whole(cls, output: Output, info: ValidationInfo) -> Output:
        if info.data.get("images") is not None and output.seq_len is not None:
            raise ValueError(
                f"sequences of {output.seq_len} tokens would part documents from their images;"
                " leave output.seq_len out in a recipe with images"
            )
        return output

    @model_validator(mode="after")
    def _what_is_mixed_is_shuffled(self) -> "Recipe":
        weighed = [i for i, one in enumerate(self.inputs) if one.weight != 1.0]
        if self.mix is not None:
            self.mix.check_columns(self.annotations)
            if not any(one.format == RUN for one in self.inputs):
                self.mix.check(one.source_name for one in self.inputs)
            if weighed:
                raise ValueError(
                    f"inputs.{weighed[0]}.weight and mix.shares both say how much of it; leave one"
                    " of them out"
                )
        names = [f"inputs.{i}.weight" for i in weighed] + ["mix"] * (self.mix is not None)
        names += ["output.epochs"] * (self.output.epochs > 1)
        names += ["output.rehydrate"] * (self.output.rehydrate is not None)
        if names and not self.output.shuffle:
            raise ValueError(
                f"{names[0]}: a mixture has no order of its own; add output.shuffle: true"
            )
        if self.output.shuffle and self.images is not None:
            raise ValueError(
                "documents with images are not shuffled yet; leave out output.shuffle or 'images'"
            )
        return self

    @model_validator(mode="after")
    def _what_is_weighed_by_copies_has_some(self) -> "Recipe":
        if self.output.rehydrate is None:
            return self
        if not any(step.copies for step in self.steps):
            raise ValueError(
                "output.rehydrate weighs documents by how many left for them, and no step finds"
                " duplicates; add one, as exact or near, or leave it out"
            )
        if self.mix is not None:
            raise ValueError(
                "output.rehydrate changes what mix.shares come to; give inputs a weight in place of"
                " a mix, or leave it out"
            )
        return self

    @model_validator(mode="after")
    def _text_alone(self) -> "Recipe":
        """What a run without a tokenizer cannot do: it has no tokens to pack, mix or count."""
        if self.tokenizer is not None:
            return self
        if self.images is not None:
            raise ValueError(
                "images stand in a dataset of tokens, and tokenizer: null makes none; name any"
                " tokenizer, as tokenizer: {path: gpt2.json}"
            )
        if self.output.text is None:
            raise ValueError(
                "tokenizer: null leaves nothing to write; add output.text: parquet, or name a"
                " tokenizer"
            )
        wrong = {
            "output.seq_len": self.output.seq_len is not None,
            "output.shuffle": self.output.shuffle,
        }
        for name, asked in wrong.items():
            if asked:
                raise ValueError(f"{name} asks for tokens, and tokenizer: null makes none")
        return self

    @model_validator(mode="after")
    def _each_column_once(self) -> "Recipe":
        """Columns that steps add, and ask for, are looked at in the order of the steps."""
        documents = self.documents
        for step in self.steps:
            try:
                step.check_columns(documents)
            except ValueError as e:
                raise ValueError(f"step {step.stage_name!r}: {e}") from None
            for field in step.annotations():
                if field.name in OWN_COLUMNS or field.name in documents.names:
                    raise ValueError(
                        f"step {step.stage_name!r} would add a column {field.name!r}, which"
                        " documents have already; give it another name, as column: other"
                    )
                documents = documents.append(field)
        return self

    @property
    def _base(self) -> pa.Schema:
        if self.html is not None:
            return CRAWLED
        return DOCUMENT if self.images is None else ILLUSTRATED

    @cached_property
    def documents(self) -> pa.Schema:
        """What documents are as readers make them, annotations that inputs bring among it."""
        base, kinds = self._base, self._brought
        fields = [pa.field(n, COLUMN_TYPES[k]) for n, k in kinds.items() if n not in base.names]
        return pa.schema([*base, *fields], metadata=base.metadata)

    @property
    def _brought(self) -> dict[str, str]:
        """The annotations that inputs bring, and their kinds; what steps count is counted anew."""
        counted = {step.copies for step in self.steps}
        asked = any("source" in step.asks_for for step in self.steps)
        own = {"source": "string"} if asked else {}  # else token shards alone have it
        return own | {
            name: kind
            for one in self.inputs
            for path, kind in one.columns.items()
            if (name := annotation_name(path)) not in counted
        }

    @property
    def annotations(self) -> tuple[pa.Field, ...]:
        """The columns that documents have at the end besides their own, in order."""
        brought = [self.documents.field(n) for n in self._brought if n not in self._base.names]
        return (*brought, *(field for step in self.steps for field in step.annotations()))

    @model_validator(mode="after")
    def _inputs_agree(self) -> "Recipe":
        kinds: dict[str, str] = {}
        for number, one in enumerate(self.inputs):
            for path, kind in one.columns.items():
                name, allowed = annotation_name(path), OF_RUNS if one.format == RUN else ()
                if name in OWN_COLUMNS and name not in allowed:
                    raise ValueError(
                        f"inputs.{number}.columns: every document has a {name!r} of its own;"
                        " leave it out, or rename it in the input"
                    )
                if kinds.setdefault(name, kind) != kind:
                    raise ValueError(
                        f"inputs.{number}.columns: {name!r} is {kind} here, and {kinds[name]}"
                        " in another input; give it one kind"
                    )
        return self

    def tokenizing(self) -> "Tokenizing":
        """What decides how documents become a dataset."""
        from tokenmill.pipelines.corpus.copies import columns_of  # loads what compiles
        from tokenmill.pipelines.tokens.run import Tokenizing

        return Tokenizing(
            tokenizer=self.tokenizer,
            output=self.output,
            images=self.images,
            of_pages=self.html is not None,
            mix=self.mix,
            weights=tuple(one.weight for one in self.inputs),
            annotations=self.annotations,
            copies=columns_of(self.steps),
        )

    def plan(
        self,
        shard_bytes: int | None = None,
        against: Sequence[EarlierRun] = (),
        among: Callable[[InputFile], bool] | None = None,
    ) -> Plan:
        """The inputs, found and cut (`read.plan.plan_inputs`); shard_bytes: not the recipe's."""
        from tokenmill.pipelines.read.plan import plan_inputs  # loads all readers

        return plan_inputs(
            self.inputs,
            self.shard_bytes if shard_bytes is None else shard_bytes,
            limits=self.limits,
            images=self.images is not None,
            html=self.html is not None,
            against=against,
            among=among,
        )

    def list_inputs(self) -> list[InputFile]:
        """The files of its plan, which are not looked into: see `read.plan.list_inputs`."""
        from tokenmill.pipelines.read.plan import list_inputs

        return list_inputs(self.inputs, images=self.images is not None)

    def read(self, shard: SourceShard, run: str = "") -> Iterator["ReadBatch"]:
        """The documents of a shard of its inputs: see `read.readers.read_shard`."""
        from tokenmill.pipelines.read.batch import fitted, with_source
        from tokenmill.pipelines.read.readers import read_shard

        limits, images, html = self.limits, self.images, self.html
        batches = read_shard(shard, limits=limits, run=run, images=images, html=html)
        made = (fitted(batch, self.documents) for batch in batches)
        asked = "source" in self.documents.names
        return (with_source(batch, shard.source) for batch in made) if asked else made

    @property
    def warnings(self) -> list[str]:
        """Sentences on what is hardly meant: rules of English for other languages, one job."""
        others = [code for step in self.steps for code in step.languages if code != "en"]
        told = [
            f"step {step.stage_name!r} asks for English {step.speaks}, and the recipe keeps"
            f" {', '.join(others)}: most such documents will leave; name {step.speaks} of the"
            " language, or take step 'fineweb2', which has limits of each"
            for step in self.steps
            if step.speaks and others
        ]
        if self.run.has_jobs and "maximum" not in self.run.slurm.model_fields_set:
            told.append("run.slurm.maximum is not stated: one job at a time does all works")
        return told

    def identity(self) -> dict[str, Any]:
        """What decides the output, as JSON: all settings but UNDECIDING, defaults too.

        Where earlier runs lie does not decide it: what they hold does, which is in the plan.
        """
        return self.model_dump(mode="json", exclude=UNDECIDING)

    def versions(self) -> dict[str, str]:
        """Of steps, and of libraries that they and pages are read with: they decide the output."""
        of_steps = {name: v for step in self.steps for name, v in step.versions().items()}
        return {**({} if self.html is None else self.html.versions()), **of_steps}

    def digest(self) -> str:
        """By which a run knows the estimate that was made for it, of whatever `versions`."""
        return digest_of([json.dumps(self.identity(), sort_keys=True), *self.against])


def load_recipe(path: Path, settings: Mapping[str, Any] | None = None) -> Recipe:
    """Read a recipe file; `settings` ("output.seq_len": 2048) override what it says.

    settings: see `overridden`.
    ConfigError: the file cannot be read, is not YAML, or says something unknown or impossible.
    """
    is_recipe = path.suffix in YAML
    way = "" if is_recipe else f"; to read it, name a recipe, as plain, and --set inputs={path}"
    try:
        with readable(path) as f:
            data = parse_yaml(f.read().decode())
    except (yaml.YAMLError, UnicodeDecodeError) as e:
        raise ConfigError(f"{path}: not YAML: {' '.join(str(e).split())}{way}") from e
    except PlanError as e:
        raise ConfigError(f"{path}: {e}") from e
    if not isinstance(data, dict):
        raise ConfigError(
            f"{path}: a recipe is a mapping of settings, got {type(data).__name__}{way}"
        )
    for key, value in (settings or {}).items():
        data = overridden(data, key, value, where=str(path))
    return make_recipe(data, where=str(path))


def find_recipe(name: str) -> Path:
    """A recipe file by path, or the name of one that ships; ConfigError lists the shipped names."""
    path = Path(name)
    if path.suffix in YAML or path.is_file():
        return path
    if (SHIPPED / f"{name}.yaml").is_file():
        return SHIPPED / f"{name}.yaml"
    names = ", ".join(sorted(p.stem for p in SHIPPED.glob("*.yaml")))
    raise ConfigError(f"no recipe file {name!r}, and none of that name ships (there are: {names})")


def make_recipe(data: Mapping[str, Any], *, where: str) -> Recipe:
    """Build a recipe from plain data; ConfigError names `where`, the key and the way out."""
    try:
        return Recipe.model_validate(data)
    except ValidationError as e:
        raise explain(e, where, Recipe) from e


def overridden(data: Mapping[str, Any], key: str, value: Any, *, where: str) -> dict[str, Any]:
    """Plain data of a recipe with another value for one setting.

    key: names with dots between, as "output.seq_len"; an entry of a list by its place, counted from
        0, as "inputs[1].text", or by the name of the step, source or benchmark, as
        "steps.near.verify".

    >>> overridden({"steps": ["exact", {"near": {"rows": 8}}]}, "steps.near.rows", 9, where="")
    {'steps': ['exact', {'near': {'rows': 9}}]}

    ConfigError: there is no such entry, or something that has no settings on the way.
    """
    return _set(data, re.sub(r"\[(\d+)\]", r".\1", key).split("."), value, where)


def _set(data: Mapping[str, Any], keys: list[str], value: Any, where: str) -> dict[str, Any]:
    head, *rest = keys
    if not rest:
        return {**data, head: value}
    inner = data.get(head)
    if head == "inputs" and isinstance(inner, str | Mapping) and rest[0].isdecimal():
        inner = [inner]  # one may stand for a list of one
    if isinstance(inner, list | tuple):
        return {**data, head: _set_entry(inner, keys, value, where)}
    if not isinstance(inner or {}, Mapping):
        raise ConfigError(f"{where}: --set cannot reach into {head!r}: it is not a mapping")
    return {**data, head: _set(inner or {}, rest, value, where)}


def _set_entry(entries: Sequence[Any], keys: list[str], value: Any, where: str) -> list[Any]:
    """The entries of a list, one of which has another setting, or is another as a whole."""
    of, name, *rest = keys
    labels = [_label(entry) for entry in entries]
    found = [at for at, label in enumerate(labels) if name in (str(at), label)]
    if len(found) != 1:
        there = ", ".join(f"{of}[{at}] {label}" for at, label in enumerate(labels)) or "none"
        what = "is not in the recipe" if not found else "stands there several times"
        near = nearest(name, labels, most=1)
        way = f"; did you mean {near[0]!r}?" if near and not found else ""
        raise ConfigError(
            f"{where}: --set names {of}.{name}, which {what}{way}; there are: {there}"
        )
    (at,) = found
    entry = entries[at]
    if of == "steps" and (rest or name != str(at)):  # a name and its settings
        step = labels[at].partition(":")[0]
        made: Any = _set(entry if isinstance(entry, Mapping) else {}, [step, *rest], value, where)
    elif rest:
        made = {"path": entry} if of == "inputs" and isinstance(entry, str) else entry
        made = _set({name: made}, [name, *rest], value, where)[name]
    else:
        made = value
    return [*entries[:at], made, *entries[at + 1 :]]


def _label(entry: Any) -> str:
    """What an entry of plain data is called: a step by its name, and its column where it has one;
    else by its name, its source or its path.
    """
    if not isinstance(entry, Mapping) or not entry:
        return str(entry)
    name, settings = next(iter(entry.items()))
    if len(entry) == 1 and (isinstance(settings, Mapping) or settings is None):
        column = (settings or {}).get("column")
        return str(name) if column is None else f"{name}:{column}"
    return str(next((entry[key] for key in ("name", "source", "path") if key in entry), name))
