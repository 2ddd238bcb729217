"""Jobs handed to SLURM, and what it says of those it does not take. Needs `sbatch`, and no more."""

import shutil
import subprocess
from pathlib import Path

from tokenmill.pipelines.core.errors import ConfigError

MARKS = ("sbatch: error: ", "sbatch: fatal: ", "Batch job submission failed: ")
CALL_S = 60.0


def check_sbatch(runner: str) -> None:
    """ConfigError where no jobs can be submitted here, for want of `sbatch`."""
    if shutil.which("sbatch") is None:
        raise ConfigError(
            f"run.runner: {runner} needs sbatch, and there is none here; start the run on a login"
            " node"
        )


def submit(script: Path) -> str:
    """The id of the job that SLURM makes of a script; ConfigError where it takes none, and why."""
    ended = _called("sbatch", "--parsable", str(script))
    if ended.returncode:
        raise ConfigError(f"sbatch takes no job: {refusal(ended.stderr)}; see run.slurm")
    return ended.stdout.strip().partition(";")[0]


def jobs_named(name: str, told: str = "%i") -> list[str] | None:
    """Ids, or what a squeue format tells, of jobs that wait or run; None if SLURM is silent."""
    ended = _called("squeue", "--noheader", "--array-unique", "--name", name, "--format", told)
    return None if ended.returncode else [line.strip() for line in ended.stdout.splitlines()]


def jobs_here() -> set[str] | None:
    """Ids of this user's jobs that wait or run; None where SLURM does not say."""
    ended = _called("squeue", "--noheader", "--me", "--format", "%i")
    return None if ended.returncode else set(ended.stdout.split())


def _called(*command: str) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=CALL_S)
    except (OSError, subprocess.TimeoutExpired) as e:
        return subprocess.CompletedProcess(command, 1, "", str(e))


def refusal(told: str) -> str:
    r"""What sbatch says is wrong, of all that is told about a call of it.

    >>> refusal("Command:\nsbatch x.sh\nstderr:\nsbatch: error: invalid partition specified: cpu\n")
    'invalid partition specified: cpu'
    """
    said = [line for line in told.splitlines() if line.startswith("sbatch: ")] or [told.strip()]
    for mark in MARKS:
        said = [line.removeprefix(mark) for line in said]
    return "; ".join(dict.fromkeys(said))
