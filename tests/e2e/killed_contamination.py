"""Look for benchmark items, and be killed at a chosen moment; see `tests.e2e.killed`.

python -m tests.e2e.killed_contamination CHECK.json OUT MOMENT N
"""

import sys
from pathlib import Path

from tests.e2e.fatal import arm, named
from tests.running import one_by_one
from tokenmill.pipelines.contamination import check as phases
from tokenmill.pipelines.contamination import check as run
from tokenmill.pipelines.contamination.check import Check
from tokenmill.pipelines.runs import work as job
from tokenmill.pipelines.storage import atomic

MOMENTS = {
    "partial": (atomic, "_fsync", {"when": named("found/part-")}),
    "renamed": (job, "save_receipt", {}),
    "counted": (phases, "save_counts", {"after": True}),
    "analysing": (phases, "overlap_rows", {"after": True}),
    # everything is done, the report is not written
    "reporting": (run, "write_report", {}),
}


def main(check: str, out: str, moment: str, number: str) -> None:
    if moment != "never":
        module, name, how = MOMENTS[moment]
        arm(module, name, int(number), **how)
    settings = Check.model_validate_json(Path(check).read_text())
    run.check_contamination(settings, Path(out), one_by_one)


if __name__ == "__main__":
    main(*sys.argv[1:])
