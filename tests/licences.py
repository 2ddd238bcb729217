"""The page LICENSES.md: under which licence each dependency is, by what needs it.

    python -m tests.licences > LICENSES.md

Distributions are walked from tokenmill's own requirements, of a run and of each extra, as they are
installed here. A licence is the expression of a distribution's metadata, else its classifiers, else
the first line of its field. Exits with 1 where one is not compatible with ours.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PAGE = Path(__file__).parents[1] / "LICENSES.md"
COMPATIBLE = (  # of parts of expressions
    # permissive
    r"MIT|MIT-0|MIT-CMU|ISC|0BSD|BSD(-[23]-Clause)?|Zlib|Unlicense|CC0-1\.0|PSF-2\.0|CNRI-Python"
    r"|Apache-2\.0( WITH LLVM-exception)?|Artistic-1\.0"
    # copyleft of its own files, or of a library that is used as it is and can be replaced
    r"|MPL-2\.0|LGPL-2\.1-or-later"
)
SPDX = (  # what metadata says in words
    (r"^MIT\b.*|^Expat.*", "MIT"),
    (r".*Apache.*", "Apache-2.0"),
    (r".*(3-Clause|New) BSD.*|.*BSD[- ]3.*|.*Modified BSD.*", "BSD-3-Clause"),
    (r".*BSD.*2.*", "BSD-2-Clause"),
    (r".*BSD.*", "BSD"),
    (r".*Mozilla Public License 2\.0.*|^MPL[ -v]*2\.0", "MPL-2.0"),
    (r".*Python Software Foundation.*|^PSF.*", "PSF-2.0"),
    (r".*ISC.*", "ISC"),
    (r"Artistic License", "Artistic-1.0"),
    (r"GNU General Public License \(GPL\)", "GPL"),
    (r".*General Public License v2 or later.*", "GPL-2.0-or-later"),
)
VAGUE = ("OSI Approved", "DFSG approved")
READ = {"kenlm": "LGPL-2.1-or-later"}  # in files of the distribution, whose metadata says nothing
HEAD = """# Licences

tokenmill is under Apache-2.0. These are the licences of what it needs, as the metadata of installed
distributions tell them (`python -m tests.licences > LICENSES.md`, with all extras installed): of
every run, then of each extra, and of tests, what none above needs. Of `A OR B` one may be chosen.
All are compatible with Apache-2.0 for dependencies that are used as they are: nearly all are
permissive; MPL-2.0 and LGPL ask that changes of their own files, or of the library, stay under
them, and we change none. None is under the GPL alone.

| needed by | licence | distributions |
| --- | --- | --- |"""


def needed(name: str, extra: str, seen: dict[str, None]) -> None:
    """All distributions that `name[extra]` asks for, and what these ask for."""
    for line in requires(name) or ():
        asked = Requirement(line)
        if asked.marker is not None and not asked.marker.evaluate({"extra": extra}):
            continue
        if extra and asked.marker is not None and asked.marker.evaluate({"extra": ""}):
            continue  # of the distribution itself
        other = canonicalize_name(asked.name)
        for one in ("", *sorted(asked.extras)):
            key = f"{other}[{one}]" if one else other
            if key not in seen:
                seen[key] = None
                needed(other, one, seen)


def compatible(licence: str) -> bool:
    """Whether each of what is asked together has an alternative that is."""
    return all(
        any(re.fullmatch(COMPATIBLE, one.strip(" ()")) for one in part.split(" OR "))
        for part in licence.split(" AND ")
    )


def licence_of(name: str) -> str:
    facts = distribution(name).metadata
    told = facts.get("License-Expression") or READ.get(name)
    if told:
        return told
    classes = [
        c.rpartition(" :: ")[2]
        for c in facts.get_all("Classifier") or ()
        if c.startswith("License :: ") and c.rpartition(" :: ")[2] not in VAGUE
    ]
    field = (facts.get("License") or "").strip().split("\n")[0]
    return " OR ".join(dict.fromkeys(in_words(c) for c in classes)) or in_words(field) or "unknown"


def in_words(told: str) -> str:
    return next((spdx for pattern, spdx in SPDX if re.match(pattern, told, re.I)), told)


def groups() -> Iterator[tuple[str, list[str]]]:
    """What needs it, and the distributions that nothing above needs."""
    known: set[str] = set()
    extras = sorted(distribution("tokenmill").metadata.get_all("Provides-Extra") or ())
    for extra in ["", *(e for e in extras if e != "dev"), "dev"]:
        seen: dict[str, None] = {}
        try:
            needed("tokenmill", extra, seen)
        except PackageNotFoundError as e:
            sys.exit(f"[{extra}]: {e.name} is not installed here")
        names = sorted({key.partition("[")[0] for key in seen} - known)
        known.update(names)
        yield {"": "every run", "dev": "tests"}.get(extra, f"`[{extra}]`"), names


def rows() -> tuple[list[str], list[str]]:
    """Rows of the table, and those that are not compatible."""
    made, apart = [], []
    for who, names in groups():
        by_licence: dict[str, list[str]] = defaultdict(list)
        for name in names:
            licence = licence_of(name)
            by_licence[licence].append(name)
            if not compatible(licence):
                apart.append(f"{name}: {licence}")
        made += [
            f"| {who} | {licence} | {' '.join(by_licence[licence])} |"
            for licence in sorted(by_licence)
        ]
    return made, apart


def main() -> int:
    made, apart = rows()
    print(HEAD, *made, sep="\n")
    sys.stderr.writelines(f"not known to be compatible: {one}\n" for one in apart)
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
