"""Which small mistakes in the product's code no test would notice: `make mutants`.

    python -m tests.mutants [--number 300] [--seed 1] [--least 0.9] [--minutes M] [--again]

Draws places over all product code, changes each in a copy of the project (one operator, constant,
condition or statement), and runs the tests that may notice: of the module's own test file and the
examples in its docstrings, then, once all places have been asked so, of those that import it or
stand beside it and of runs of all steps, those that run the changed lines, the quickest first.
Which lines a test runs is measured once, when it is first asked, and must pass. One that ends its
process, or never ends, is run on the unchanged copy too.
A table of the places is printed, and the share that something noticed; the exit code is 1 below
--least. Changes that no test can see, since the code means the same, are listed with the reason in
equivalent.txt; those drawn of it don't count.

What was found is kept in --folder, and is not asked again unless the changed file has been edited,
or the test file that noticed; --again asks once more of what survived. Places are drawn by the
digest of their text and the seed, so that an edit elsewhere leaves them, in an order by chance: the
first of them are a sample too.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from tests.mutants import copies
from tests.mutants.copies import PROJECT
from tests.mutants.nearest import Place, chosen, python_files, read_once, stages
from tests.mutants.places import Change, changes_of
from tests.mutants.seen import PRODUCT, is_measured, seen

EQUIVALENT = Path(__file__).with_name("equivalent.txt")
KEPT = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tokenmill-mutants"
A_STAGE_S = 20.0  # of CPU that the tests of a stage take, when they were measured
# What a stage may take before it counts as one that never ends: kernels are compiled in it.
LEAST_CPU_S, LEAST_WALL_S, TIMES = 90.0, 600.0, 4
# Nearest tests of all places first: what they measured is asked at once by places that need more.
FIRST, REST = slice(1), slice(1, None)
LEFT = "left: its tests must be measured first"


class Found(NamedTuple):
    """by: the test that noticed, or "" where none did; digests: of the file, and of that test's.

    measuring_s: CPU seconds of tests asked for the first time, which cpu_s is without.
    """

    key: str
    by: str
    cpu_s: float
    measuring_s: float
    wall_s: float
    digests: tuple[str, str]

    def stands(self) -> bool:
        return self.digests == _digests(self.key, self.by)


class First:
    """Runs these tests alone, in this order; tells the first that fails."""

    def __init__(self, tests: list[str], told: Path) -> None:
        self.order = {test: i for i, test in enumerate(tests)}
        self.told = told

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if item.nodeid in self.order]
        items.sort(key=lambda item: self.order[item.nodeid])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.told.write_text(nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.told.write_text(report.nodeid)


def main() -> int:
    args = _arguments()
    copies.warm()
    read_once()
    drawn = list(_drawn(args.number, args.seed, args.only))
    home = copies.base(args.folder)
    state = args.folder / "found.jsonl"
    found = {one.key: one for one in _kept(state)}
    todo = [
        (key, change)
        for key, change in drawn
        if key not in found or not found[key].stands() or (args.again and not found[key].by)
    ]
    todo = [(key, change) for key, change in todo if key not in set(_equivalent())]
    until = time.monotonic() + 60 * args.minutes
    for part in FIRST, REST:
        noticed = {one.key for one in _kept(state) if one.by and one.stands()}
        _each([one for one in todo if one[0] not in noticed], part, until, args, home, state)
    found = {one.key: one for one in _kept(state)}
    return _told([key for key, _ in drawn], found, args.least)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--number", type=int, default=300, help="places to draw")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--least", type=float, default=0.9, metavar="FRACTION")
    parser.add_argument("--workers", type=int, default=2, help="copies at work at once")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no place after these")
    parser.add_argument(
        "--measuring", type=float, default=1e9, metavar="S", help="leave places that need more"
    )
    parser.add_argument("--again", action="store_true", help="ask again of what survived")
    parser.add_argument("--only", nargs="+", default=PRODUCT, metavar="PATH")
    parser.add_argument("--folder", type=Path, default=KEPT, help="of what is kept between runs")
    return parser.parse_args()


def _drawn(number: int, seed: int, only: tuple[str, ...]) -> Iterator[tuple[str, Change]]:
    """Changes by what names them: the file, its line's text, what becomes of it, and which of
    several it is that read alike."""
    all_of_them: dict[str, Change] = {}
    for path in (path for top in only for path in python_files(PROJECT / top)):
        source = path.read_bytes()
        lines = source.splitlines()
        for change in changes_of(path.relative_to(PROJECT), source):
            line, old = lines[change.line - 1].decode().strip(), " ".join(change.old.split())
            key, which = f"{change.path}: {line} | {old} -> {change.new}", 1
            while key in all_of_them:
                which += 1
                key = f"{key.removesuffix(f' ({which - 1})')} ({which})"
            all_of_them[key] = change
    order = sorted(all_of_them, key=lambda key: sha256(f"{seed} {key}".encode()).digest())
    yield from ((key, all_of_them[key]) for key in order[:number])


def _kept(state: Path) -> Iterator[Found]:
    for line in state.read_text().splitlines() if state.exists() else ():
        key, by, cpu_s, measuring_s, wall_s, digests = json.loads(line)
        yield Found(key, by, cpu_s, measuring_s, wall_s, (digests[0], digests[1]))


def _equivalent() -> Iterator[str]:
    """Keys of equivalent.txt: a key a line, its reason indented below."""
    for line in EQUIVALENT.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith((" ", "#")):
            yield line


def _each(
    todo: list[tuple[str, Change]],
    part: slice,
    until: float,
    args: argparse.Namespace,
    home: Path,
    state: Path,
) -> None:
    """Each place in a process of its own, so many at once; what it found is added to the state."""
    at_work = 0
    for key, change in todo:
        if time.monotonic() > until:
            break
        if at_work == args.workers:
            os.wait()
            at_work -= 1
        at_work += 1
        if not os.fork():
            os._exit(_asked(key, change, part, home, state, args.measuring))
    for _ in range(at_work):
        os.wait()


def _asked(key: str, change: Change, part: slice, home: Path, state: Path, most_s: float) -> int:
    began = time.monotonic()
    source = change.applied((home / change.path).read_bytes())
    by, measuring_s = _noticed_by(Place(change), source, part, home, most_s)
    if not by and part == FIRST:
        print(f"{key}  not noticed by the nearest tests", flush=True)
        return 0
    wall_s, digests = time.monotonic() - began, _digests(key, by)
    cpu_s = sum(os.times()[:4]) - measuring_s
    one = Found(key, by, round(cpu_s, 1), round(measuring_s, 1), round(wall_s, 1), digests)
    if by == LEFT:
        print(f"{key}  {LEFT}", flush=True)
        return 0
    with state.open("a") as file:
        file.write(f"{json.dumps(one)}\n")
    print(f"{key}  {_verdict(one)}  {one.cpu_s} s of CPU, {one.wall_s} s", flush=True)
    return 0


def _noticed_by(
    place: Place, source: bytes, part: slice, home: Path, most_s: float
) -> tuple[str, float]:
    """Each group is asked in a copy of its own, which has what measuring it compiled."""
    kept, measuring_s = home.parent / "seen", 0.0
    for names in list(stages(place.path))[part]:
        for group in _groups(names, kept):
            if measuring_s > most_s and not is_measured(kept, group[0]):
                return LEFT, measuring_s
            measuring_s -= sum(os.times()[:4])
            measured = [seen(home, kept, name) for name in group]
            measuring_s += sum(os.times()[:4])
            tests = [(t, one.seconds[t]) for one in measured for t in chosen(place, one)]
            within, total = [], 0.0
            for test, seconds in tests:
                if total + seconds <= A_STAGE_S:
                    within.append(test)
                    total += seconds
            if within:
                with copies.changed(home, place.path, source) as copy:
                    by = _noticing(copy, home, within, total)
                if by:
                    return by, measuring_s
    return "", measuring_s


def _groups(names: tuple[str, ...], kept: Path) -> list[list[str]]:
    """Files measured already, together; then each that first must be."""
    there = [name for name in names if is_measured(kept, name)]
    return ([there] if there else []) + [[name] for name in names if name not in there]


def _noticing(copy: Path, home: Path, tests: list[str], seconds: float) -> str:
    """The first of these that fails in the copy; the base is asked too, of one that did not end."""
    while tests:
        by, how = _first(copy, tests, seconds, copy.parent)
        if not how or not _first(home, [by], seconds, copy.parent)[0]:
            return by + how
        tests = [test for test in tests if not test.startswith(by)]
    return ""


def _first(of: Path, tests: list[str], seconds: float, folder: Path) -> tuple[str, str]:
    """The first of these that fails, or is at work when the process ends or time is up; and how."""
    told = folder / "told"
    told.write_text("")
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    cpu_s, wall_s = LEAST_CPU_S + TIMES * seconds, LEAST_WALL_S + 2 * TIMES * seconds
    code = copies.run(of, files, First(tests, told), cpu_s, wall_s)
    if code in (0, 5):  # 5: none of them is to be run
        return "", ""
    return told.read_text() or files[0], "" if code in (1, 2) else f" (exit code {code})"


def _digests(key: str, by: str) -> tuple[str, str]:
    return _digest(key.partition(":")[0]), _digest(by.partition("::")[0].partition(" (")[0])


@cache
def _digest(name: str) -> str:
    path = PROJECT / name
    return sha256(path.read_bytes()).hexdigest()[:16] if name and path.is_file() else ""


def _verdict(one: Found) -> str:
    return f"noticed by {one.by}" if one.by else "SURVIVED"


def _told(drawn: list[str], found: dict[str, Found], least: float) -> int:
    same = set(_equivalent())
    asked = [found[key] for key in drawn if key in found and key not in same]
    print("\nplace | mistake | verdict")
    for key in drawn:
        verdict = "means the same" if key in same else _verdict(found[key]) if key in found else ""
        if verdict:
            print(f"{key} | {verdict}")
    noticed, number = sum(bool(one.by) for one in asked), max(len(asked), 1)
    low, high = _wilson(noticed, number)
    cpu_s, wall_s = (sum(one[i] for one in asked) / number for i in (2, 4))  # type: ignore[misc]
    equal = sum(key in same for key in drawn)
    print(f"\n{len(asked):,} of {len(drawn):,} places were asked, {equal:,} more mean the same;")
    print(f"{cpu_s:.1f} s of CPU a place, {wall_s:.1f} s by the clock")
    share = noticed / number
    print(f"{noticed:,} changes were noticed ({share:.1%}; 95 %: {low:.1%} to {high:.1%})")
    return 0 if share >= least else 1


def _wilson(noticed: int, number: int) -> tuple[float, float]:
    """95 % interval of a share (Wilson 1927)."""
    z2 = 1.96**2
    middle = (noticed + z2 / 2) / (number + z2)
    half = (1.96 / (number + z2)) * (noticed * (1 - noticed / number) + z2 / 4) ** 0.5
    return middle - half, middle + half


if __name__ == "__main__":
    sys.exit(main())
