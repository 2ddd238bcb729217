"""A sheet under construction: rows are added by name, each from settings, rows or inputs.

row = sheet.add("one checkpoint", checkpoint_bytes, params="model.params", bytes_per_param=given)
                its name          how computed      a plan's key           an input or a row

`params` may be left out, as any argument that is what it usually is: what `USUAL` says; else the
only row that the formula of its name computed; else the setting of its name.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tokenmill.sizing.corpus import CorpusMeasurement
from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.formula import Formula
from tokenmill.sizing.formulas import memory
from tokenmill.sizing.plan.plan import Plan, sections
from tokenmill.sizing.redundancy import redundancy_factor
from tokenmill.sizing.requirement import Input, Requirement
from tokenmill.sizing.tables import ACCELERATORS, AcceleratorRow, Row

Given: TypeAlias = str | Requirement | Input  # an argument: a plan's key, a row, an input

# argument of formulas -> the plan's key, or the row, that it is of where a row names no other
USUAL: Mapping[str, str] = {
    "accelerators": "cluster.count",
    "corpus_tokens": "corpus tokens",
    "epochs": "training.epochs",
    "host_memory_bytes": "cluster.host_memory",
    "interval_s": "checkpoint interval",
    "processes": "cluster.count",
    "read_ahead_bytes": "training.read_ahead",
    "read_bytes_per_s": "read bandwidth, whole job",
    "reads_per_s": "read requests, whole job",
    "stall_s": "checkpoint stall",
    "storage_bytes": "raw capacity",
    "storage_bytes_per_s": "storage.read_bytes_per_s",
    "stored_bytes_per_token": "stored bytes a token",
    "trained_tokens": "tokens trained on",
    "usd_per_1000": "prices.get_per_1000",
    "usd_per_gb": "prices.egress_per_gb",
    "usd_per_hour": "prices.accelerator_hour",
    "usd_per_tb_month": "prices.storage_tb_month",
    "waste_frac": "waste",
    "write_bytes_per_s": "checkpoint write bandwidth, whole job",
}
# a setting's name -> its key, but of a corpus, of which each source may have its own
SETTINGS: Mapping[str, str] = {
    name: f"{of}.{name}"
    for of, section in sections().items()
    if of != "corpus"
    for name in section.model_fields
}

# argument of formulas -> what a source has of its own for it
OWN: Mapping[str, str] = {
    "corpus_tokens": "tokens",
    "docs": "docs",
    "stored_bytes_per_token": "stored_bytes_per_token",
    "text_bytes_per_token": "text_bytes_per_token",
}


@dataclass(kw_only=True)
class SourceFacts:
    """What is stored and read of one corpus, or of one of several that are mixed.

    key: of its settings in the plan, "corpus" or "sources.NAME".
    scaled: the corpus is not the one that was measured, so its bytes are estimates.
    docs: those that reach the tokenizer.
    docs_ratio: documents that come in, of those measured; None where it is the measured corpus.
    sample: what is known of one, by the arguments of formulas, where it is images with text; else
        None.
    read_bytes_per_token: of all that training reads, images that the dataset only refers to too.
    rows: about it, by the formulas that computed them, the latest of each.
    """

    name: str
    key: str
    measurement: CorpusMeasurement | None
    scaled: bool
    tokens: Given
    token_width_bytes: Input
    text_bytes_per_token: Given = field(init=False)
    stored_bytes_per_token: Given = field(init=False)
    docs: Given = field(init=False)
    docs_ratio: Requirement | None = None
    sample: Mapping[str, Given] | None = None
    read_bytes_per_token: Given = field(init=False)
    rows: dict[str, Requirement] = field(default_factory=dict)

    def label(self, what: str) -> str:
        """The name of a row about this source; the only one needs no mention."""
        return what if self.key == "corpus" else f"{what}, {self.name}"

    def own(self, argument: str) -> Given | None:
        """What it has for an argument of a formula: of one sample, else a row, else a fact.

        Where one formula computed several rows, as dataset_bytes did, give the one that is meant.
        A fact that is asked before it is known is an AttributeError.
        """
        for found in (self.sample or {}, self.rows):
            if argument in found:
                return found[argument]
        fact: Given | None = getattr(self, OWN[argument]) if argument in OWN else None
        return fact


@dataclass
class Section:
    title: str
    rows: list[Requirement] = field(default_factory=list)


class Sheet:
    """The rows so far, in sections, by their names and in order.

    sources: at least one, from the section of the corpus on.  warnings: a sentence each.
    obstacles: why nothing should be bought by it, in few words; a warning says more of each.
    """

    def __init__(self, plan: Plan, measurements: Mapping[str, CorpusMeasurement]) -> None:
        """measurements: of the corpus as "corpus", or of the plan's sources by their names."""
        self.plan = plan
        self.measurements = measurements
        self.sources: tuple[SourceFacts, ...] = ()
        self.sections: list[Section] = []
        self.warnings: list[str] = []
        self.obstacles: list[str] = []
        self.jobs: dict[str, tuple[int, Sheet]] = {}  # how many of each run, and its own sheet
        self.rows: dict[str, Requirement] = {}
        self._of_formula: defaultdict[str, list[Requirement]] = defaultdict(list)
        # arguments of formulas that are usually what several settings amount to
        self._of_several: Mapping[str, Callable[[], Given]] = {
            "hbm_bytes": lambda: self.accelerator("hbm_bytes"),
            "per_node": lambda: self.accelerator("per_node"),
            "redundancy": self.redundancy,
            "replicas": self.replicas,
        }

    def begin(self, title: str) -> None:
        """Start a section; rows added from now on are its."""
        self.sections.append(Section(title))

    def add(self, name: str, formula: Formula[...], /, **given: Given) -> Requirement:
        """Compute a row, see `aside`, and add it; ValueError where there is a row of this name."""
        if name in self.rows:
            raise ValueError(f"two rows of the name {name!r}")
        row = self.rows[name] = self.aside(name, formula, **given)
        self._of_formula[formula.function.__name__].append(row)
        self.sections[-1].rows.append(row)
        return row

    def of(
        self, source: SourceFacts, name: str, formula: Formula[...], /, **given: Given
    ) -> Requirement:
        """Add a row about a source, whose own figures come before what an argument usually is."""
        needed = [n for n, is_needed in formula.arguments.items() if is_needed and n not in given]
        given |= {n: own for n in needed if (own := source.own(n)) is not None}
        given = {n: given[n] for n in (*formula.arguments, *given) if n in given}
        row = self.add(source.label(name), formula, **given)
        source.rows[formula.function.__name__] = row
        return row

    def take(self, row: Requirement) -> None:
        """Add a row of another sheet."""
        self.rows[row.name] = row
        self.sections[-1].rows.append(row)

    def once(self, name: str, formula: Formula[...], /, **given: Given) -> Requirement:
        """The row of this name, which is added where there is none yet."""
        return self[name] if name in self else self.add(name, formula, **given)

    def aside(self, name: str, formula: Formula[...], /, **given: Given) -> Requirement:
        """Compute a requirement from the sheet that is no row of it.

        given: arguments of the formula, each as a key of the plan, a row, or an input; what it
        needs besides is what it usually is, and then all stand in the formula's order.
        TypeError: an argument is missing or unknown, or a setting is no number.
        """
        missing = [n for n, needed in formula.arguments.items() if needed and n not in given]
        usual = {n: of for n in missing if (of := self._usual(n)) is not None}
        if usual:
            given |= usual
            given = {n: given[n] for n in (*formula.arguments, *given) if n in given}
        return formula.requirement(name, [self.input(arg, of) for arg, of in given.items()])

    def _usual(self, argument: str) -> Given | None:
        if argument in self._of_several:
            return self._of_several[argument]()
        if argument in USUAL:
            return USUAL[argument] if "." in USUAL[argument] else self[USUAL[argument]]
        if len(self._of_formula[argument]) == 1:
            return self._of_formula[argument][0]
        return SETTINGS.get(argument)

    def stated(self, key: str) -> bool:
        """Whether the plan states this setting."""
        return self.plan.stated(key)

    def assume(self, value: float, *, unit: str, source: str, key: str | None = None) -> Input:
        """A figure that is no setting of the plan, or that stands in for one.

        Its name is that of the argument that it will be.

        source: says so itself where it is not verified, ending in "(unverified)".
        key: of the setting that takes its place.
        """
        return Input(
            name="",
            value=value,
            unit=unit,
            measured=False,
            source=source,
            verified="unverified" not in source,
            key=key,
        )

    def cell(
        self, row: Row, column: str, unit: str, *, chosen: str = "", key: str | None = None
    ) -> Input:
        """A cell of a table's row; chosen: the plan's key that names it.  key: as of `assume`."""
        why = f"{self.plan.source(chosen)}; " if chosen else ""
        source = f"{why}{row.source_of(column)}"
        return self.assume(getattr(row, column), unit=unit, source=source, key=key)

    def accelerator(self, column: str) -> Input:
        """A figure of the accelerator, the plan's or the table's; PlanError: neither has one."""
        found = self.accelerator_if_known(column)
        if found is None:
            setting = _SETTING.get(column, column)
            raise PlanError(
                f"cluster.accelerator {self.plan.cluster.accelerator!r} has no {column} in the"
                f" table; give cluster.{setting}"
            )
        return found

    def accelerator_if_known(self, column: str) -> Input | None:
        """As `accelerator`, or None where neither the plan nor the table has a figure."""
        setting = _SETTING.get(column, column)
        key = f"cluster.{setting}" if hasattr(self.plan.cluster, setting) else None
        if key is not None and self.plan.value(key) is not None:
            return self.plan.input(key, name=column)
        row = self.accelerator_row
        if row is None or getattr(row, column) is None:
            return None
        unit = _UNITS.get(column, "ratio")
        return self.cell(row, column, unit, chosen="cluster.accelerator", key=key)

    def redundancy(self) -> Input:
        """Raw bytes for each usable byte, shown as the plan writes it."""
        factor = redundancy_factor(self.plan.storage.redundancy)
        return self.plan.input("storage.redundancy", value=factor)

    def replicas(self) -> Given:
        """Copies of the weights that train side by side: as many as stated, else as have room.

        Where the memory of an accelerator is not known either, one a node.
        """
        stated, rule = "training.data_parallel", "Bekman, Machine Learning Engineering"
        if self.plan.value(stated) is not None:
            return stated
        if self.accelerator_if_known("hbm_bytes") is None:
            return self["nodes"]
        return self.once(
            "replicas of the weights",
            memory.fitting_replicas,
            nodes=self["nodes"],
            bytes_per_param="training.memory_bytes_per_param",
            overhead=self.assume(memory.OVERHEAD, unit="ratio", source=rule),
        )

    def why_not(self) -> list[str]:
        """Why nothing should be bought by it, of each of its jobs."""
        named = (
            {"": self} if not self.jobs else {f"{n}: ": own for n, (_, own) in self.jobs.items()}
        )
        return [f"{of}{why}" for of, own in named.items() for why in own.obstacles]

    def node_accelerators(self) -> Given:
        """Accelerators of a node that work in the job: all of them, or the few that the job has."""
        per_node = self.accelerator("per_node")
        return "cluster.count" if self.plan.cluster.count < per_node.value else per_node

    @property
    def accelerator_row(self) -> AcceleratorRow | None:
        """The table's row; None for one that the plan gives by its figures alone."""
        try:
            return ACCELERATORS.find(self.plan.cluster.accelerator, self.plan.accelerators)
        except PlanError:  # a plan of an unknown name is refused unless it gives its figures
            return None

    def __getitem__(self, name: str) -> Requirement:
        """The row of this name; KeyError where there is none."""
        return self.rows[name]

    def __contains__(self, name: object) -> bool:
        return name in self.rows

    def __iter__(self) -> Iterator[Requirement]:
        return iter(self.rows.values())

    def input(self, name: str, given: Given) -> Input:
        """A key of the plan, a row or an input as the argument `name` of a formula."""
        if isinstance(given, str):
            return self.plan.input(given, name=name)
        if isinstance(given, Requirement):
            return given.as_input(name)
        return given if given.name == name else replace(given, name=name)


# column of the table -> setting of the cluster, where they differ
_SETTING = {"hbm_bytes": "hbm", "fp8_flops_per_s": "dense_flops_per_s"}
_UNITS = {
    "dense_flops_per_s": "FLOP/s",
    "fp8_flops_per_s": "FLOP/s",
    "hbm_bytes": "bytes",
    "scale_out_bits_per_s": "bits/s",
    "per_node": "accelerators",
    "matmul_frac": "fraction",
}
