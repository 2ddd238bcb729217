"""What a sheet is made from: a plan by its path or name, and the corpora that it points to."""

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tokenmill.sizing.corpus import CorpusMeasurement, load_corpus
from tokenmill.sizing.errors import PlanError
from tokenmill.sizing.plan.load import load_plan
from tokenmill.sizing.plan.plan import Plan
from tokenmill.sizing.requirements import requirement_sheet
from tokenmill.sizing.sheet import Sheet

EXAMPLES = Path(__file__).parent / "examples"


def size(
    plan: str | None = None,
    *,
    corpus: Path | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Sheet:
    """The sheet of a plan.

    plan: a file, or the name of an example that ships; without one every default is assumed.
    corpus: in place of the plan's corpus.path.
    changes: settings by key, as "model.params", in place of the plan's.

    Raises:
        PlanError: the plan or a corpus cannot be read, or says something impossible.
    """
    path = None if plan is None else find_plan(plan)
    read = load_plan(path, changes=changes)
    folder = Path() if path is None else path.parent
    measured = _measurements(read, folder, corpus)
    try:
        return requirement_sheet(read, measured)
    except PlanError as e:
        raise PlanError(f"{path or 'plan'}: {e}") from e


def example_names() -> tuple[str, ...]:
    """The example plans that ship, by the names that `size` takes."""
    return tuple(sorted(path.stem for path in EXAMPLES.glob("*.yaml")))


def find_plan(name: str) -> Path:
    """The file of this path, or the example of this name.

    Raises:
        PlanError: there is neither.
    """
    path, shipped = Path(name), EXAMPLES / f"{name}.yaml"
    if path.exists():
        return path
    if name in example_names():
        return shipped
    near = get_close_matches(name, example_names(), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"examples: {', '.join(example_names())}"
    raise PlanError(f"{name}: no such plan file, and no example of this name; {hint}")


def _measurements(plan: Plan, folder: Path, corpus: Path | None) -> dict[str, CorpusMeasurement]:
    """Of every corpus that was measured; paths in a plan are relative to its folder."""
    paths = {s.name: folder / s.path for s in plan.sources if s.path is not None}
    if corpus is not None:
        paths["corpus"] = corpus
    elif plan.corpus.path is not None:
        paths["corpus"] = folder / plan.corpus.path
    return {name: load_corpus(path) for name, path in paths.items()}
