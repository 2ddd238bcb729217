"""The counts of a search in the words that every table of them uses, and what they ask for.

Everything here takes the data of `summarize`, or of several benchmarks in it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from tokenmill.sizing.document.section import count

Data: TypeAlias = Mapping[str, Any]

# the columns of a table of benchmarks, those first that a reader on a narrow screen should see
COUNTED = {
    "items": "items",
    "dirty": "dirty",
    "dirty_frac": "dirty share",
    "edited": "edited copies",
    "docs": "docs",
    "widespread": "widespread",
    "edited_docs": "docs with edited copies",
    "clean": "clean",
    "untestable": "too short",
    "found_whole": "short, found",
    "only_ignored": "only boilerplate",
    "ngram": "N",
}
ALWAYS = ("items", "dirty", "dirty_frac", "clean", "ngram")  # though they were 0 in every row


def counted(benchmarks: Sequence[Data]) -> dict[str, str]:
    """The columns that tell something of these benchmarks: labels by name."""
    return {
        name: label
        for name, label in COUNTED.items()
        if name in ALWAYS or any(b.get(name) for b in benchmarks)
    }


def found_items(benchmarks: Iterable[Data]) -> int:
    """Items of which anything that counts stands in the corpus."""
    return sum(b["dirty"] + b["found_whole"] for b in benchmarks)


def found_documents(data: Data) -> int:
    """Documents that have any of them."""
    return sum(source["docs"] for source in data["sources"])


def edited_documents(data: Data) -> int:
    """Documents that have an edited copy of an item; they may have other items too."""
    return total(data["sources"], "edited_docs")


def total(rows: Iterable[Data], name: str) -> int:
    """Of all benchmarks, or sources; 0 in data of a search that did not count it."""
    return sum(row.get(name, 0) for row in rows)


def found_in_short(data: Data, read: str) -> list[str]:
    """Sentences: how many items are in the corpus, and how many could not be looked for.

    read: what was searched, such as "4,733 documents".
    """
    benchmarks = data["benchmarks"]
    items, short = found_items(benchmarks), total(benchmarks, "untestable")
    of_benchmarks = f"of {count(len(benchmarks), 'benchmark')}"
    if items:
        verb = "is" if items == 1 else "are"
        sentence = (
            f"Of {count(total(benchmarks, 'items'), 'item')} {of_benchmarks} {items:,} {verb} in"
            f" the corpus, whole or in part: in {found_documents(data):,} of {read}"
        )
    else:
        tested = count(total(benchmarks, "clean") + total(benchmarks, "dirty"), "item")
        able = f" that can be tested, {of_benchmarks}," if short else f" {of_benchmarks}"
        sentence = f"None of {tested}{able} was found by n-grams in {read}"
    if short:
        sentence += f"; {short:,} {'is' if short == 1 else 'are'} too short to test"
    return [f"{sentence}.", *_edited(data)]


def _edited(data: Data) -> list[str]:
    n = total(data["benchmarks"], "edited")
    if not n:
        return []
    return [
        f"Edited copies of {count(n, 'other item')} stand in"
        f" {count(edited_documents(data), 'document')}: the step"
        " decontaminate cuts n-gram overlaps and leaves these (check its output again with"
        " --containment none to see what else is left)."
    ]


def warnings(data: Data) -> list[str]:
    """Sentences on items that are in no count of what was found, though nothing clears them."""
    return [*_widespread(data), *_untested(data["benchmarks"]), *_uncounted(data["benchmarks"])]


def _widespread(data: Data) -> list[str]:
    n, most_docs = total(data["benchmarks"], "widespread"), data["settings"]["most_docs"]
    if not n:
        return []
    told = (
        f"{count(n, 'item')} {'stands' if n == 1 else 'stand'} in more than"
        f" {count(most_docs, 'document')}{'' if n == 1 else ' each'}"
    )
    if "action" in data["settings"]:
        return [
            f"{told} and {'was' if n == 1 else 'were'} kept: put exact or near before"
            " decontaminate, or set most_docs."
        ]
    return [
        f"{told}: not dirty by the published rule, and not cut by decontaminate; remove duplicates"
        " first, or set --most-docs."
    ]


def _uncounted(benchmarks: Sequence[Data]) -> list[str]:
    n = total(benchmarks, "uncounted")
    if not n:
        return []
    return [
        f"{count(n, 'item')} {'has' if n == 1 else 'have'} no n-gram that counts, since many items"
        " share each or it has no letter: told as clean, whatever the corpus holds."
    ]


def _untested(benchmarks: Sequence[Data]) -> list[str]:
    names = [b["name"] for b in benchmarks if b["clean"] + b["dirty"] == 0]
    if not names:
        return []
    return [f"No item of {', '.join(names)} is long enough to be tested by n-grams."]
