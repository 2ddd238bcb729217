"""Runs of the real command line, each in its own process, and what they leave behind."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.dask_cluster import DaskCluster
from tests.cluster.processes import ROOT, Program, environment
from tests.cluster.slurm import Slurm
from tests.receipts import receipts

TOKENMILL = Path(sys.executable).with_name("tokenmill")
# the folders of a run that must be the same, byte for byte
MADE = ("dataset", "removed", "removed-paragraphs", "removed-spans")
SMALL = {"shard_bytes": "25kB", "run": {"task_seconds": 0.5}}  # few bytes, many works and tasks
RUN_S = 600  # of a machine that does much else
GIVEN_UP_S = 300  # a store that does not answer, by then; half a minute on a quiet machine


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, its standard output and its standard error."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        return json.loads(self.out)

    @property
    def errors(self) -> list[str]:
        """The lines of its standard error."""
        return [line for line in self.err.splitlines() if line.strip()]


def command(recipe: Path, out: Path | str, *options: str) -> list[str]:
    return [str(TOKENMILL), "prepare", str(recipe), "--out", str(out), "--json", *options]


def prepare(
    recipe: Path, out: Path | str, *options: str, env: Mapping[str, str] | None = None
) -> Ended:
    """Run `tokenmill prepare` to its end."""
    ended = subprocess.run(
        command(recipe, out, *options),
        cwd=ROOT,
        env=environment(**(env or {})),
        capture_output=True,
        text=True,
        timeout=RUN_S,
        start_new_session=True,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def prepared(
    recipe: Path, out: Path | str, *options: str, env: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Run `tokenmill prepare`, which must succeed; returns the report that it prints."""
    ended = prepare(recipe, out, *options, env=env)
    assert ended.code == 0, ended.err
    return ended.report


def begun(
    recipe: Path,
    out: Path | str,
    *options: str,
    log: Path,
    env: Mapping[str, str] | None = None,
    until: Callable[[], Any],
) -> Program:
    """Start `tokenmill prepare`; returns once `until` is true, while it runs."""
    program = Program(command(recipe, out, *options), log=log, env=env)
    program.wait_until(until, within_s=RUN_S)
    return program


def n_done(out: Path) -> int:
    """Works that were done so far."""
    return len(receipts(out))


def last_step(out: Path) -> str | None:
    """The step whose receipts were the last to change; None where there are none."""
    folders = (path for path in (out / "receipts").glob("*") if path.is_dir())
    return max(folders, key=lambda p: p.stat().st_mtime_ns, default=Path()).name or None


def on_dask(cluster: DaskCluster) -> tuple[str, ...]:
    """Options of a run on a cluster that is there."""
    return "--runner", "dask", "--address", cluster.address


def on_slurm(slurm: Slurm, *, least: int = 0, most: int = 2) -> tuple[str, ...]:
    """Options of a run whose workers are jobs of SLURM, as many as are needed up to `most`."""
    settings = {
        "queue": slurm.partition,
        "interface": "lo",
        "memory": "1GB",
        "walltime": "'00:10:00'",
        "minimum": least,
        "maximum": most,
    }
    told = [("--set", f"run.slurm.{name}={value}") for name, value in settings.items()]
    return "--runner", "slurm", *(word for pair in told for word in pair)


def on_array(slurm: Slurm, most: int = 2) -> tuple[str, ...]:
    """Options of a run by job arrays."""
    settings = {"queue": slurm.partition, "memory": "1GB", "maximum": most}
    told = [("--set", f"run.slurm.{name}={value}") for name, value in settings.items()]
    return "--runner", "array", *(word for pair in told for word in pair)


def contents(out: Path) -> dict[str, str]:
    """Digest of each file that a run makes, by name."""
    return {
        path.relative_to(out).as_posix(): hashlib.md5(path.read_bytes()).hexdigest()
        for folder in MADE
        for path in sorted((out / folder).rglob("*"))
        if path.is_file()
    }


def unbalanced(out: Path) -> list[str]:
    """What the report of a finished run does not account for; empty is as it must be."""
    manifest = json.loads((out / "manifest.json").read_text())
    if manifest["status"] != "complete":
        return [f"status is {manifest['status']}"]
    ledger, wrong = manifest["report"]["ledger"], []
    for before, row in zip([None, *ledger], ledger, strict=False):
        gone = sum(row["removed"].values()) + sum(row["failed"].values())
        if row["docs_in"] + row["docs_created"] != row["docs_out"] + gone:
            wrong.append(f"{row['stage']}: {row}")
        if before and before["docs_out"] != row["docs_in"]:
            wrong.append(
                f"{before['stage']} hands on {before['docs_out']}, {row['stage']} got less"
            )
    kept = sum(s["docs"] for s in manifest["report"]["dataset"]["splits"].values())
    if kept != ledger[-1]["docs_out"]:
        wrong.append(f"the dataset has {kept} documents, the ledger {ledger[-1]['docs_out']}")
    return wrong
