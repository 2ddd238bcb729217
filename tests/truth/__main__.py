"""Every table of quality on README's pages made anew, and what the pages claim held to it.

    python -m tests.truth --out FOLDER [--corpora FOLDER] [--again PART …] [PART …]

    corpora.txt ── fetched or linked ──► FOLDER/corpora ──┐
    parts.yaml ── commands, what is read of them, goals ──┴─► FOLDER/parts/PART.json ──► truth.md

Repositories are those of --corpora that have the commits (OWNER+NAME/repo, a git directory), else
they are fetched from GitHub. What else lies in --corpora is linked too: packages of Debian's
(NAME, by `dpkg-deb -x`) with images. A part whose corpora or environment are not there is skipped,
with a line. What a part printed is kept, and the part not run again unless its command or a commit
of its corpora is another, it ended with an error, or --again names it: whoever ends the command may
give it again. Exit code: 0 all claims hold, 1 one does not, 3 parts were skipped.
"""

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.conftest import SHARED_DATA

ROOT = Path(__file__).parents[2]
GITHUB = "https://github.com"
HOLDS, FAILS = "pass", "FAIL"
NUMBER = re.compile(r"\d[\d,]*\.?\d*|\.\d+")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What parts.yaml says of a figure."""

    what: str
    said: str
    pattern: str = ""
    row: str = ""
    cell: int = 1
    least: float | None = None
    most: float | None = None

    def numbers(self, printed: str) -> list[float]:
        """All that the pattern finds."""
        cells = rf"^\| (?:{self.row}) \|(?:[^|\n]*\|){{{self.cell - 1}}}([^|\n]*)\|"
        values: list[float] = []
        for match in re.finditer(self.pattern or cells, printed, re.MULTILINE):
            named = {n: float(t.replace(",", "")) for n, t in match.groupdict().items()}
            told = [named["n"] / named["of"]] if named else NUMBER.findall(match[1])
            values += [float(str(t).replace(",", "")) for t in told]
        return values

    def told(self, printed: str) -> tuple[str, str, str]:
        """The worst number, the goal, and whether it is met."""
        values = self.numbers(printed)
        if self.most is not None:
            worst, goal = max(values, default=None), f"at most {self.most:.6g}"
            holds = worst is not None and worst <= self.most
        else:
            worst, goal = min(values, default=None), f"at least {self.least:.6g}"
            holds = worst is not None and worst >= (self.least or 0.0)
        value = "not found" if worst is None else f"{worst:.6g}"
        return value, goal, HOLDS if holds else FAILS


@dataclass(frozen=True, kw_only=True)
class Part:
    """What parts.yaml says of one command."""

    name: str
    page: str
    command: str
    needs: list[str] = field(default_factory=list)
    files: dict[str, list[str]] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)


def parts() -> list[Part]:
    """Those of parts.yaml."""
    rows = yaml.safe_load(Path(__file__).with_name("parts.yaml").read_text("utf-8"))
    return [
        Part(**{**row, "claims": [Claim(**claim) for claim in row.get("claims", ())]})
        for row in rows
    ]


def commits() -> dict[str, list[str]]:
    """Of each repository of corpora.txt its commits, that of HEAD first."""
    lines = Path(__file__).with_name("corpora.txt").read_text("utf-8").splitlines()
    return {n: of for n, *of in (line.split() for line in lines if not line.startswith("#"))}


# corpora


def git(place: Path, *command: str) -> subprocess.CompletedProcess[str]:
    folder = place / ".git" if (place / ".git").exists() else place
    return subprocess.run(
        ["git", f"--git-dir={folder}", *command], capture_output=True, text=True, check=False
    )


def there(place: Path, wanted: list[str]) -> bool:
    """Whether a clone has the commits, and HEAD is the first."""
    head = git(place, "rev-parse", "HEAD").stdout.strip()
    return head == wanted[0] and all(not git(place, "cat-file", "-e", c).returncode for c in wanted)


def provided(name: str, wanted: list[str], corpora: Path) -> str | None:
    """See to it that a repository is in the folder; or why it is not."""
    place = corpora / name.replace("/", "+") / "repo"
    if there(place, wanted):
        return None
    if place.parent.is_symlink():
        return (
            f"{name} of --corpora has not HEAD {wanted[0][:12]}, or not all commits of corpora.txt"
        )
    is_new = not place.exists()
    place.mkdir(parents=True, exist_ok=True)
    for step in (
        ("init", "--quiet", "--bare"),
        ("fetch", "--quiet", "--depth", "1", f"{GITHUB}/{name}", *wanted),
        ("update-ref", "--no-deref", "HEAD", wanted[0]),
    ):
        done = git(place, *step)
        if done.returncode:
            if is_new:
                shutil.rmtree(place.parent)  # not to be taken for one that is there
            return f"{name}: {' '.join(done.stderr.split())[:120]}"
    return None


def extracted(name: str, paths: list[str], out: Path) -> str:
    """A folder with these files of a repository's HEAD."""
    folder = out / "files" / name.replace("/", "+")
    if not folder.exists():
        made = folder.with_suffix(".part")
        place = out / "corpora" / name.replace("/", "+") / "repo"
        place = place / ".git" if (place / ".git").exists() else place
        packed = subprocess.Popen(
            ["git", f"--git-dir={place}", "archive", "HEAD", "--", *paths], stdout=subprocess.PIPE
        )
        with tarfile.open(fileobj=packed.stdout, mode="r|") as tar:
            tar.extractall(made, filter="data")
        if packed.wait():
            raise OSError(f"git archive of {name} ended with {packed.returncode}")
        made.rename(folder)
    return str(folder)


# parts


def lacking(part: Part, out: Path, known: dict[str, list[str]]) -> str | None:
    """Why a part cannot be run here."""
    for name in [*part.needs, *part.files]:
        if name in known:
            why = provided(name, known[name], out / "corpora")
        elif name.startswith("."):
            why = None if (ROOT / name).exists() else f"no {name}: make it first"
        else:
            why = None if (out / "corpora" / name).exists() else f"no {name} in --corpora"
        if why:
            return why
    return None


def command_of(part: Part, out: Path) -> list[str]:
    places = {"corpora": str(out / "corpora"), "shared": str(SHARED_DATA)}
    files = {f"files:{name}": extracted(name, paths, out) for name, paths in part.files.items()}
    command, *rest = shlex.split(part.command)
    for name, place in {**places, **files}.items():
        rest = [word.replace(f"{{{name}}}", place) for word in rest]
    return [sys.executable if command == "python" else command, *rest]


def result_of(part: Part, out: Path, again: bool, known: dict[str, list[str]]) -> dict[str, Any]:
    """What the part printed, as kept, or now."""
    kept = out / "parts" / f"{part.name}.json"
    asked = {
        "command": part.command,
        "commits": {n: known[n] for n in [*part.needs, *part.files] if n in known},
    }
    result = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    if not again and result.get("asked") == asked and not result["ended"]:
        return result
    begun = time.time()
    done = subprocess.run(
        command_of(part, out), cwd=ROOT, capture_output=True, text=True, check=False
    )
    commit = git(ROOT, "rev-parse", "HEAD").stdout.strip()
    result = {
        "asked": asked,
        "commit": commit,
        "ended": done.returncode,
        "seconds": round(time.time() - begun),
        "printed": done.stdout,
        "errors": done.stderr[-4000:],
    }
    kept.parent.mkdir(parents=True, exist_ok=True)
    made = kept.with_suffix(".part")
    made.write_text(json.dumps(result, indent=1), encoding="utf-8")
    made.rename(kept)
    return result


def rows_of(part: Part, result: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    ended = result["ended"]
    yield part.name, "exit code", f"{ended}", "0", FAILS if ended else HOLDS
    for claim in part.claims:
        yield part.name, claim.what, *claim.told(result["printed"])


def main() -> int:
    every = parts()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--corpora", type=Path)
    parser.add_argument("--again", nargs="+", default=[], choices=[p.name for p in every])
    parser.add_argument("parts", nargs="*", metavar="PART", help="; ".join(p.name for p in every))
    asked = parser.parse_args()
    out, known = asked.out.resolve(), commits()
    (out / "corpora").mkdir(parents=True, exist_ok=True)
    for place in asked.corpora.resolve().iterdir() if asked.corpora else ():
        if not (out / "corpora" / place.name).exists():
            (out / "corpora" / place.name).symlink_to(place)
    rows, skipped = [], []
    for part in every:
        if asked.parts and part.name not in asked.parts:
            continue
        why = lacking(part, out, known)
        if why:
            skipped.append(f"{part.name}: skipped, {why}")
            print(skipped[-1], flush=True)
            continue
        result = result_of(part, out, part.name in asked.again, known)
        told = list(rows_of(part, result))
        rows += told
        failed = sum(row[-1] == FAILS for row in told)
        print(
            f"{part.name}: {len(told) - failed} of {len(told)} claims hold, {result['seconds']} s,"
            f" exit code {result['ended']}, commit {result['commit'][:12]}",
            flush=True,
        )
    table = [("part", "claim", "value", "goal", ""), ("---",) * 5, *rows]
    page = "\n".join([*(f"| {' | '.join(row)} |" for row in table), "", *skipped, ""])
    (out / "truth.md").write_text(page, encoding="utf-8")
    print(page, end="")
    if any(row[-1] == FAILS for row in rows):
        return 1
    return 3 if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
