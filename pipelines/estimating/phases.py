"""The phases of predicting a run.

scan     the parts of the inputs that are read, once; sampled ones to the end of the recipe
probe    documents drawn, and what is like them, from keys alone; where duplicates are looked for
"""

from dataclasses import dataclass, field

from tokenmill.pipelines.drive import Finished, Phases, do_phase
from tokenmill.pipelines.estimating.copies import count_copies
from tokenmill.pipelines.estimating.job import MeasureJob
from tokenmill.pipelines.estimating.sample import Sample
from tokenmill.pipelines.estimating.scan import scan_part
from tokenmill.pipelines.job import Phase, Work
from tokenmill.pipelines.receipt import Receipt, digest_of

SCAN, PROBE = "scan", "probe"


@dataclass(kw_only=True)
class Measured(Finished):
    """What was counted: the receipts of the parts by key, and of the probes."""

    parts: dict[str, Receipt] = field(default_factory=dict)
    probed: Receipt | None = None


def phases(job: MeasureJob, sample: Sample) -> Phases[Measured]:
    """Yield the phases of the job in order."""
    finished = Measured(shards=sample.plan.shards)
    works = tuple(
        Work(
            step=SCAN,
            key=part.key,
            inputs=digest_of([job.identity, repr(part.to_json())]),
            call=scan_part,
            args=(part, bool(drawn)),
            chain=part.chain,
        )
        for part, drawn, read in zip(sample.plan.shards, sample.drawn, sample.read, strict=True)
        if read
    )
    finished.parts = yield from do_phase(Phase(name=SCAN, works=works), finished)
    read = [
        (part.key, int(unit))
        for part, unit in zip(sample.plan.shards, sample.units, strict=True)
        if part.key in finished.parts
    ]
    keys, units = tuple(key for key, _ in read), tuple(unit for _, unit in read)
    if job.is_probed and keys:
        inputs = digest_of([job.identity, *(finished.parts[key].digest for key in keys)])
        probe = Work(
            step=PROBE,
            key="all",
            inputs=inputs,
            call=count_copies,
            args=(keys, units, sample.read_frac),
        )
        made = yield from do_phase(Phase(name=PROBE, works=(probe,), whole=True), finished)
        finished.probed = made["all"]
    return finished
