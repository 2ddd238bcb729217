"""The section of a report that says how items were looked for, and what such a search misses."""

from tokenmill.dedup.overlap.index import MIN_WORDS
from tokenmill.pipelines.contamination.index import LEAST_NGRAM, LEAST_WHOLE, MOST_NGRAM, PERCENTILE
from tokenmill.pipelines.contamination.model import Settings
from tokenmill.sizing.document.section import Section, table

SOURCE = "Brown et al. 2020, arXiv:2005.14165, appendix C"

# shares of the texts with one word in so many replaced that n-grams show, and that containment
# shows with its default thresholds (tests/pipelines/contamination/test_report_method.py)
EDITED_FRAC = {"ten": (0.70, 0.99), "six": (0.44, 0.95)}

FOLDING_WORDS = {
    "entities": "HTML character references (&quot;, &#39;)",
    "line_breaks": "a word broken by a hyphen at the end of a line",
    "compat": "full-width and mathematical letters, ligatures, superscripts",
    "invisible": "soft hyphens, zero-width characters, bidirectional marks",
    "signs": "signs that stand for ASCII punctuation: acute accent for apostrophe, minus sign for"
    " hyphen",
    "marks": "accents and other diacritics",
    "confusables": "letters of other alphabets that look Latin",
}

COPIES = (
    " Edited copies are looked for by containment (Broder 1997): a stretch of a document that has"
    " many of the pairs of words that stand side by side in the item; they make no item dirty, and"
    " the step decontaminate, which cuts n-gram overlaps, leaves them."
)

UNSEEN = (
    ("translations", "words of another language are other words"),
    ("paraphrases", "the same said in other words has no n-gram in common"),
    (
        "short items",
        f"under {MIN_WORDS} words an item is looked for as a whole, and under {LEAST_WHOLE} not"
        " at all",
    ),
    (
        "short fields",
        f"a field alone, say a question of 8 words where N is 13 by question and choices together,"
        f" is looked for as a whole, and only from {MIN_WORDS} words on",
    ),
    (
        "which sibling",
        "items made from one template are told as copies of one another: which of them it was is"
        " not seen",
    ),
    ("images and sound", "only text is searched, and of a document only its text column"),
    (
        "other fields",
        "of an item only the fields are looked for that are listed with its benchmark",
    ),
    ("codes", "letters replaced by digits, misspellings, base64, ROT13"),
)


def method_section(settings: Settings) -> Section:
    """The procedure in a paragraph, what it does not see, and every setting."""
    return Section(
        key="method",
        title="Method, and what it cannot see",
        blocks=(
            _procedure(settings),
            "Dirty is not yet leaked: a quotation, a source that item and document both draw on,"
            " or a common phrase is an overlap too. The examples are there to be read. Clean means"
            " that nothing was found by this method.",
            table("What is not seen", ("what", "why"), [*UNSEEN, _edited(settings)]),
            table("Settings", ("setting", "value", "meaning"), _settings(settings), folded=True),
        ),
    )


def _procedure(settings: Settings) -> str:
    most_docs = settings.most_docs
    chosen = f"N is {settings.ngram} for every benchmark, as set"
    if settings.ngram == "auto":
        chosen = (
            f"N of a benchmark is the {PERCENTILE}th percentile of its items' lengths in words,"
            f" at least {LEAST_NGRAM} and at most {MOST_NGRAM}"
        )
    frequent = "" if most_docs is None else f" stands in more than {most_docs:,} documents,"
    copies = "" if settings.copies is None else COPIES
    return (
        f"The method is the overlap analysis of GPT-3 ({SOURCE}): words in lower case, without"
        f" punctuation, split at white space; {chosen}. An item is dirty if any document has any"
        " of its n-grams, clean otherwise. Beyond the paper, documents and items are first freed"
        " of disguises (see the settings), and the fields of an item are looked for each by itself"
        f" and all together. An n-gram counts for nothing that{frequent} is shared by many items of"
        " its benchmark or has no letter. N-grams are compared by 64-bit hashes."
        f"{copies}"
    )


def _edited(settings: Settings) -> tuple[str, str]:
    """How much of the edited texts is seen."""
    copies = settings.copies
    kept = "N words in a row"
    if copies is not None:
        kept = (
            f"{100 * copies['threshold']:g} % of the item's word pairs in one place, of short items"
            f" {100 * copies['short_threshold']:g} %"
        )
    seen = " and ".join(
        f"{100 * fracs[copies is not None]:.0f} % of texts with one word in {one_in} replaced"
        for one_in, fracs in EDITED_FRAC.items()
    )
    return (
        "edited copies",
        f"only those are seen that still have {kept}: in a test on six benchmarks, with the"
        f" settings that are the default, {seen}",
    )


def _settings(settings: Settings) -> list[tuple[str, str, str]]:
    most_docs = settings.most_docs
    return [
        ("ngram", str(settings.ngram), "words in an n-gram, N"),
        (
            "most_docs",
            "no limit" if most_docs is None else f"{most_docs:,}",
            "documents that an n-gram that counts may stand in",
        ),
        *(
            (f"folding: {name}", "on" if on else "off", FOLDING_WORDS.get(name, ""))
            for name, on in settings.folding.items()
        ),
        *(
            (f"copies: {name}", f"{100 * share:g} %", "word pairs of an item that a copy has")
            for name, share in (settings.copies or {}).items()
        ),
    ]
