"""What a step is: settings with a name; and a stage, a step that is called with one batch.

    read -> normalize -> filter ... -> tokenize -> write
             \\____________ stages ___________/

A stage takes a record batch and returns one, its removals and its account. It does no I/O, keeps no
state and knows no orchestrator. Whatever needs more than one batch (duplicates to cluster) is no
stage. Filters measure documents, and rules make a verdict of what they measured: the first rule
that fails decides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple, Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tokenmill.dedup.arrays import F64, I64, U8, Bools, text_buffers
from tokenmill.pipelines.core.config import Config
from tokenmill.pipelines.core.errors import ConfigError, LedgerError
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.core.plugins import Registry
from tokenmill.pipelines.core.schema import REMOVED, rows_of, with_column


class Step(Config):
    """The settings of one step.

    name: of the step, in recipes, receipts and reports.
    needs_images: it can only stand in a recipe with images.
    corpus_wide: it needs something of all documents before it knows what leaves: such a step is a
        `corpus.step.CorpusStep`. Every other one is called with a batch (`Stage`).
    edits_texts: it changes the text of documents that stay, each by itself.
    makes_pieces: it cuts documents into pieces, each a document of its own (`core.pieces`).
    copies: the column of the dataset that counts, of a document that stays, those that left for
        it, where it is corpus-wide, has keys and removes whole documents; "" if none does.
    """

    name: ClassVar[str]
    needs_images: ClassVar[bool] = False
    corpus_wide: ClassVar[bool] = False
    edits_texts: ClassVar[bool] = False
    makes_pieces: ClassVar[bool] = False
    copies: ClassVar[str] = ""

    @property
    def needs_dates(self) -> bool:
        """Whether documents must have a column `date`."""
        return False

    @property
    def cuts_text(self) -> bool:
        """Whether it cuts stretches out of a text, so that images lose their places in it."""
        return False

    @property
    def changes_text(self) -> bool:
        """Whether documents that stay may have another text behind it."""
        return self.edits_texts or self.cuts_text

    @property
    def without_cutting(self) -> str:
        """The setting by which it cuts nothing, as "action: document"; "" if there is none."""
        return ""

    @property
    def speaks(self) -> str:
        """What of it is English alone, as "stop words"; "" if nothing is."""
        return ""

    @property
    def asks_urls(self) -> bool:
        """Whether it finds nothing of documents that have no URL."""
        return False

    def hint(self, reason: str) -> str:
        """What to know where most documents left for a reason; "" if it says all."""
        named = self.speaks and self.speaks.replace(" ", "_") in reason
        return f"its {self.speaks} are English" if named else ""

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that it keeps alone; none if it asks for no language."""
        return ()

    @property
    def stage_name(self) -> str:
        """What accounts and removed rows call it: its name, where it can stand but once."""
        return self.name

    def annotations(self) -> tuple[pa.Field, ...]:
        """What it adds to each document that it passes on: columns of their own names."""
        return ()

    @property
    def asks_for(self) -> tuple[str, ...]:
        """Columns of documents that it needs besides their own."""
        return ()

    def check_columns(self, documents: pa.Schema) -> None:
        """Compare with the documents that come to it; ValueError: no such column, or type."""

    def versions(self) -> dict[str, str]:
        """Of libraries, or of its own method, that decide its verdicts."""
        return {}


STEPS: Registry[type[Step]] = Registry("step", own=("tokenmill.pipelines.prepare.steps",))
AnyStep = TypeVar("AnyStep", bound=type[Step])


def register(step: AnyStep) -> AnyStep:
    """Let recipes name a step, also as a decorator; ConfigError: it has another's name, or none."""
    if not hasattr(step, "name"):
        raise ConfigError(f'{step.__name__} has no name; give it name: ClassVar[str] = "mine"')
    STEPS.register(step.name, step)
    return step


KEEP = 0


class StageResult(NamedTuple):
    """kept: documents passed on.  removed: a row of schema REMOVED for each other one.

    images: a row of schema REMOVED_IMAGE for each image that the stage took out of a document,
    kept or not; None for a stage that knows nothing of images.
    notes: what else the stage counted, by name.
    """

    kept: pa.RecordBatch
    removed: pa.RecordBatch
    stats: StageStats
    images: pa.RecordBatch | None = None
    notes: Mapping[str, int] | None = None


class Stage(Protocol):
    @property
    def name(self) -> str: ...

    def __call__(self, batch: pa.RecordBatch) -> StageResult: ...


def passed(step: Step, batch: pa.RecordBatch) -> StageResult:
    """What a stage makes of a batch; errors name the step.

    TypeError: it returns no StageResult.
    LedgerError: of its documents one is neither passed on, once and in order, nor removed, or its
        account, or its columns, are not of what it returns.
    """
    try:
        result: object = cast(Stage, step)(batch)
    except Exception as e:
        e.add_note(f"in step {step.stage_name}")
        raise
    return _checked(step, batch, result)


def _checked(step: Step, batch: pa.RecordBatch, result: object) -> StageResult:
    which = f"step {step.stage_name} of {type(step).__module__}"
    kinds = pa.RecordBatch, pa.RecordBatch, StageStats
    if not isinstance(result, StageResult) or not all(map(isinstance, result, kinds)):
        raise TypeError(
            f"{which} returned {type(result).__name__}, and must return a StageResult of"
            " two RecordBatches and StageStats, as decide and keep_where make it"
        )
    kept, stats = result.kept, result.stats.check(which)
    columns = [*batch.schema.names, *(field.name for field in step.annotations())]
    if kept.schema.names != columns:
        raise LedgerError(
            f"{which} passes on columns {', '.join(kept.schema.names)}, not {', '.join(columns)};"
            " what it adds, its annotations() tells"
        )
    ids, left, gone = (np.asarray(of["doc_id"]) for of in (batch, kept, result.removed))
    n_gone = sum(stats.removed.values()) + sum(stats.failed.values())
    told = stats.docs_in, stats.docs_out, stats.bytes_out, n_gone
    made = len(ids), len(left), int(text_buffers(kept["text"]).lengths.sum()), len(gone)
    if told != made or not np.array_equal(ids[np.isin(ids, gone, invert=True)], left):
        raise LedgerError(
            f"{which} was given {made[0]} documents, passes on {made[1]} of {made[2]} bytes and"
            f" removes {made[3]}, by its account {told[1]} of {told[2]} and"
            f" {told[3]} of {told[0]}: each one stays, in order, or has a row"
            " in removed, as keep_where makes it, and edited text is put in by with_text"
        )
    return result


def keep_where(
    stage: str,
    batch: pa.RecordBatch,
    verdicts: U8,
    reasons: Sequence[str],
    *,
    values: F64 | None = None,
    details: pa.Array | None = None,
    duplicate_of: pa.Array | None = None,
    similarity: pa.Array | None = None,
) -> StageResult:
    """Keep the documents whose verdict is `KEEP`; give the others a row each, counted by reason.

    verdicts: (n_docs,) uint8; 0 keeps, k removes for `reasons[k - 1]`.
    values: (n_docs,) float64, the measured quantity that decided; NaN where there is none.
    details: (n_docs,) string, what else a reader of the removed row needs.
    duplicate_of: (n_docs,) uint64, the document kept in place of one that leaves.
    similarity: (n_docs,) float32, to that document.
    ValueError: a verdict has no reason, or there is not one verdict for each document.
    """
    if len(verdicts) != batch.num_rows:
        raise ValueError(f"{stage}: {len(verdicts)} verdicts on {batch.num_rows} documents")
    if len(verdicts) and int(verdicts.max()) > len(reasons):
        raise ValueError(f"{stage}: verdict {int(verdicts.max())} of {len(reasons)} reasons")
    lengths = text_buffers(batch["text"]).lengths
    gone = np.flatnonzero(verdicts != KEEP)
    kept = batch if len(gone) == 0 else batch.filter(pa.array(verdicts == KEEP))
    removed = removed_rows(
        stage,
        batch.take(pa.array(gone)),
        [reasons[v - 1] for v in verdicts[gone]],
        text_bytes=lengths[gone],
        values=None if values is None else values[gone],
        details=_taken(details, gone),
        duplicate_of=_taken(duplicate_of, gone),
        similarity=_taken(similarity, gone),
    )
    counts = np.bincount(verdicts, minlength=len(reasons) + 1)[1:]
    bytes_in, bytes_removed = int(lengths.sum()), int(lengths[gone].sum())
    stats = StageStats(
        docs_in=batch.num_rows,
        docs_out=kept.num_rows,
        removed={r: int(n) for r, n in sorted(zip(reasons, counts, strict=True)) if n},
        bytes_in=bytes_in,
        bytes_out=bytes_in - bytes_removed,
        bytes_removed=bytes_removed,
    )
    return StageResult(kept, removed, stats)


def with_text(result: StageResult, text: pa.Array) -> StageResult:
    """Put edited text, (kept.num_rows,), in the kept documents' place, and account for bytes."""
    kept = with_column(result.kept, "text", text.cast(result.kept["text"].type))
    bytes_out = int(text_buffers(text).lengths.sum())
    stats = replace(
        result.stats,
        bytes_out=bytes_out,
        bytes_edited=result.stats.bytes_edited + result.stats.bytes_out - bytes_out,
    )
    return result._replace(kept=kept, stats=stats)


def with_texts(documents: pa.RecordBatch, rows: I64, texts: pa.Array) -> pa.RecordBatch:
    """The documents, those of some rows, ascending, with another text each."""
    is_other = np.zeros(documents.num_rows, np.bool_)
    is_other[rows] = True
    made = pc.replace_with_mask(documents["text"], pa.array(is_other), texts)
    return with_column(documents, "text", made)


def removed_rows(
    stage: str,
    documents: pa.RecordBatch,
    reasons: Sequence[str],
    *,
    text_bytes: I64,
    values: F64 | None = None,
    details: pa.Array | None = None,
    duplicate_of: pa.Array | None = None,
    similarity: pa.Array | None = None,
) -> pa.RecordBatch:
    """A row (schema REMOVED) for each of `documents`, which left at `stage`; NaN becomes null."""
    n = documents.num_rows
    columns = {
        "doc_id": documents["doc_id"],
        "id": documents["id"],
        "outcome": pa.repeat("removed", n),
        "stage": pa.repeat(stage, n),
        "reason": pa.array(reasons, pa.string()),
        "value": None if values is None else pa.array(values, pa.float64(), from_pandas=True),
        "detail": details,
        "text_bytes": pa.array(text_bytes, pa.int64()),
        "duplicate_of": duplicate_of,
        "similarity": similarity,
        "url": documents["url"] if "url" in documents.schema.names else None,
    }
    return rows_of(REMOVED, columns, n)


def _taken(column: pa.Array | None, rows: I64) -> pa.Array | None:
    return None if column is None else column.take(pa.array(rows))


class Rule(NamedTuple):
    """reason: of removal.  value: (n_docs,) float64, measured.  fails: (n_docs,) bool."""

    reason: str
    value: F64
    fails: Bools


def below(reason: str, value: F64, least: float | None) -> Rule:
    """Fail where the quantity is less than `least`; `None` is off. NaN, of nothing, passes."""
    return Rule(reason, value, value < (np.nan if least is None else least))


def above(reason: str, value: F64, most: float | None) -> Rule:
    """Fail where the quantity is more than `most`; `None` is off. NaN, of nothing, passes."""
    return Rule(reason, value, value > (np.nan if most is None else most))


def without_value(reason: str, fails: Bools) -> Rule:
    """Fail where nothing was measured that could be told."""
    return Rule(reason, np.full(len(fails), np.nan), fails)


def ratio(part: npt.ArrayLike, whole: npt.ArrayLike) -> F64:
    """Part / whole; NaN where the whole is 0."""
    p, w = np.asarray(part, np.float64), np.asarray(whole, np.float64)
    out = np.full(p.shape, np.nan)
    np.divide(p, w, out=out, where=w != 0)
    return out


def first_failing(rules: Sequence[Rule], n_docs: int) -> tuple[U8, F64]:
    """(n_docs,) uint8, the 1-based place of the first rule that fails or KEEP; its value or NaN."""
    verdicts = np.full(n_docs, KEEP, np.uint8)
    values = np.full(n_docs, np.nan)
    for place, rule in reversed(list(enumerate(rules, start=1))):
        verdicts[rule.fails] = place
        values[rule.fails] = rule.value[rule.fails]
    return verdicts, values


def decide(stage: str, batch: pa.RecordBatch, rules: Sequence[Rule]) -> StageResult:
    """Remove each document that fails a rule, for the first one it fails."""
    verdicts, values = first_failing(rules, batch.num_rows)
    return keep_where(stage, batch, verdicts, [r.reason for r in rules], values=values)
