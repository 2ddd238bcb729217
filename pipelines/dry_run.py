"""What a run would do, before it does anything: inputs, shards, steps, disk needed and free."""

import shutil
from pathlib import Path
from typing import Any

from pipelines.passes import duplicate_finders, passes
from pipelines.prepare import plan_run
from pipelines.recipe import Recipe, step_name
from pipelines.tokenize import load_engine

# Assumptions, each on the safe side; `tokenmill measure` replaces them by measurements.
TEXT_BYTES_PER_TOKEN = 3.0  # English text: 4 to 5; code and other languages: 2 to 4
BYTES_PER_DOC = 1000  # web and documentation text: 2,000 to 10,000
SCRATCH_BYTES_PER_DOC = 700  # digest 16, signature 448, band keys 112, edges and receipts
FILTERED_FRAC = 1.0  # of the text: lz4 about halves it, unless it does not compress


def dry_run(recipe: Recipe, out: Path) -> dict[str, Any]:
    """The plan of a run as JSON data; nothing is written.

    Raises:
        ConfigError: as the run itself would.
    """
    plan = plan_run(recipe)
    engine = load_engine(recipe.tokenizer, recipe.output.dtype)
    parts = passes(recipe.steps)
    text = sum(shard.bytes for shard in plan.shards)
    token_bytes = text / TEXT_BYTES_PER_TOKEN * engine.dtype.itemsize
    scratch = sum(
        text * FILTERED_FRAC
        + (text / BYTES_PER_DOC * SCRATCH_BYTES_PER_DOC if duplicate_finders(part.after) else 0)
        for part in parts[:-1]
    )
    need = {
        "intermediates": round(scratch),
        "token shards": round(token_bytes),
        "dataset": round(token_bytes),
    }
    return {
        "name": recipe.name,
        "files": [{"path": f.path, "bytes": f.bytes} for f in plan.files],
        "failed_inputs": [f.to_json() for f in plan.failed],
        "skipped": list(plan.skipped),
        "shards": len(plan.shards),
        "text_bytes": text,
        "steps": [step_name(step) for step in recipe.steps],
        "passes": len(parts),
        "tokenizer": {"path": recipe.tokenizer.path, "dtype": engine.dtype.name},
        "disk_needed_bytes": need,
        "disk_needed_total_bytes": sum(need.values()),
        "disk_free_bytes": shutil.disk_usage(_existing(out)).free,
        "assumptions": {
            "text_bytes_per_token": TEXT_BYTES_PER_TOKEN,
            "bytes_per_doc": BYTES_PER_DOC,
            "scratch_bytes_per_doc": SCRATCH_BYTES_PER_DOC,
        },
    }


def _existing(path: Path) -> Path:
    """The nearest folder that exists: where the run directory would be made."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path
