"""The report of a search for benchmark items, on disk: as data, as Markdown and as a page.

Report ─┬─ contamination.json
└─ sections ─┬─ contamination.md
└─ contamination.html, with plots

The section of a report that says how items were looked for, and what such a search misses.
"""

from pathlib import Path

from tokenmill.dedup.overlap.containment import MIDDLE_THRESHOLD
from tokenmill.dedup.overlap.containment_index import LONG_WORDS
from tokenmill.dedup.overlap.index import MIN_WORDS
from tokenmill.pipelines.contamination.index import (
    LEAST_NGRAM,
    LEAST_WHOLE,
    MOST_NGRAM,
    MOST_OF_CLUSTERS,
    PERCENTILE,
)
from tokenmill.pipelines.contamination.model import Report, Settings
from tokenmill.pipelines.contamination.report_found import (
    dirty_means,
    found_in_short,
    found_sections,
    percent,
    warnings,
)
from tokenmill.pipelines.runs.report import (
    failed_counts,
    failure_blocks,
    failure_figures,
    texts_table,
)
from tokenmill.pipelines.storage.atomic import write_json, write_text
from tokenmill.sizing.document import charts
from tokenmill.sizing.document.charts import Bar
from tokenmill.sizing.document.markdown import markdown
from tokenmill.sizing.document.page import KeyFigure, figure, page
from tokenmill.sizing.document.section import NONE, Section, Table, count, table
from tokenmill.sizing.document.svg import Axis
from tokenmill.sizing.units import format_bytes

TITLE = "Benchmark items in the corpus"
NAME = "contamination"
SHARE = Axis("dirty share of the items that can be tested, %", lambda p: percent(p / 100))


def write_report(out: Path, report: Report) -> list[Path]:
    """Write contamination.json, .md and .html into `out`, each atomically; return the files."""
    files = [out / f"{NAME}{suffix}" for suffix in (".json", ".md", ".html")]
    parts = sections(report)
    html = page(
        TITLE,
        parts,
        key_figures=[
            *_key_figures(report),
            *failure_figures(report, sum(report.documents.failed.values()), "inputs"),
        ],
        plots=_plots(report),
        footer="The same figures as data: contamination.json; as text: contamination.md.",
    )
    write_json(files[0], report.to_json())
    write_text(files[1], markdown(TITLE, parts))
    write_text(files[2], html)
    return files


def sections(report: Report) -> list[Section]:
    """What a researcher wants to know, in the order in which it is asked."""
    return [
        Section("summary", "In short", (headline(report),)),
        *found_sections(report),
        method_section(report.settings),
        Section("inputs", "What was read", tuple(_inputs(report))),
    ]


def headline(report: Report) -> str:
    """How many items are in the corpus, where most; what failed."""
    documents = report.documents
    sentences = found_in_short(report, count(documents.read, "document"))
    worst = max(report.benchmarks, key=lambda b: b.dirty_frac or 0)
    if worst.dirty and len(report.benchmarks) > 1:
        greatest = (
            f"The greatest share is that of {worst.name}: {worst.dirty:,} of"
            f" {worst.tested:,} items that can be tested are dirty"
            f" ({percent(worst.dirty_frac)})."
        )
        sentences.insert(1, greatest)
    lost = unsearched(report)
    sentences[1:1] = lost
    return " ".join([*sentences, *warnings(report), *([] if lost else ["Nothing failed."])])


def unsearched(report: Report) -> list[str]:
    """A sentence on what of the corpus was not searched, so that nothing clears it; or none."""
    lost = failed_counts(report, sum(report.documents.failed.values()))
    lost["skipped file"] = len(report.inputs.skipped)
    told = ", ".join(count(n, noun) for noun, n in lost.items() if n)
    return [f"Not searched, so that nothing is known of it: {told}."] if told else []


def _inputs(report: Report) -> list[str | Table]:
    inputs, documents = report.inputs, report.documents
    causes = sorted(documents.failed.items(), key=lambda c: (-c[1], c[0]))
    files = [(what, name) for what, name in report.files.items() if what != "report"]
    first = documents.first_failed or {}
    failed = table(
        "Documents that failed",
        ("cause", ">documents", "`the first of them"),
        [(c, f"{n:,}", first.get(c, NONE)) for c, n in causes],
    )
    skipped = table("Files skipped", ("`path",), [(path,) for path in inputs.skipped])
    beside = table("All of it, as files beside this one", ("what", "`file"), files)
    return [
        f"Read: {count(documents.read, 'document')} with {format_bytes(documents.text_bytes)}"
        f" of text, from {count(inputs.files, 'input file')} ({format_bytes(inputs.bytes)},"
        f" {count(inputs.shards, 'shard')}).",
        *(listed for listed in (texts_table(inputs), failed, skipped) if listed.rows),
        *failure_blocks(report),
        *([beside] if files else []),
    ]


def _key_figures(report: Report) -> list[KeyFigure]:
    benchmarks = report.benchmarks
    touched, total = sum(b.found_items > 0 for b in benchmarks), report.total
    in_copies = f"in {count(report.edited_docs, 'document')}"
    always = (
        ("items in the corpus", total("found_items"), f"of {total('items'):,}"),
        ("benchmarks with such items", touched, f"of {len(benchmarks):,}"),
        ("documents with items", report.found_docs, f"of {report.documents.read:,}"),
    )
    untestable = ("items that cannot be tested", total("untestable"), "")
    where_there_are = (
        ("widespread items", total("widespread"), ""),
        ("other items as edited copies", total("edited"), in_copies),
        ("other items in part", total("some"), ""),
        ("paraphrases or siblings", report.n_paraphrased or 0, ""),
        ("passages found", report.n_contexts, ""),
        untestable,
        ("items found only with context", total("only_context"), ""),
    )
    shown = (*always, *(row for row in where_there_are if row[1] or row is untestable))
    return [KeyFigure(name, f"{n:,}", note) for name, n, note in shown]


def _plots(report: Report) -> dict[str, list[str]]:
    """By the section that they belong to; none where nothing was found."""
    shares = [Bar(b.name, 100 * (b.dirty_frac or 0)) for b in report.benchmarks]
    if not any(bar.value for bar in shares):
        return {}
    drawn = charts.bars("dirty-shares", "Dirty share", SHARE, shares)
    return {"benchmarks": [figure("Dirty share", "of each benchmark", drawn)]}


SOURCE = "Brown et al. 2020, arXiv:2005.14165, appendix C"

# shares of the texts with one word in so many replaced that n-grams show, and that containment
# shows with its default thresholds (tests/pipelines/contamination/test_report_method.py)
EDITED_FRAC = {"ten": (0.70, 1.00), "six": (0.44, 0.99)}

FOLDING_WORDS = {
    "entities": "HTML character references (&quot;, &#39;)",
    "line_breaks": "a word broken by a hyphen at the end of a line",
    "compat": "full-width and mathematical letters, ligatures, superscripts",
    "invisible": "soft hyphens, zero-width characters, bidirectional marks",
    "signs": "signs that stand for ASCII punctuation: acute accent for apostrophe, minus sign for"
    " hyphen",
    "marks": "accents and other diacritics",
    "confusables": "letters of other alphabets that look Latin",
    "markup": "HTML tags and LaTeX commands (<b>, \\text{})",
}

COPIES = (
    " Edited copies are looked for by containment (Broder 1997): a stretch of a document that has"
    " many of the pairs of words that stand side by side in the item, or of its words at their"
    " places. They make no item dirty, and the step decontaminate leaves them unless its edited"
    " says otherwise."
)

PARAPHRASES = (
    " Items in other words are looked for by the stems of their words, weighed by how rare they"
    " are: a window of a document that has many of them, in any order, and the numbers. By chance"
    " 8 of 46,442 windows of 100 words of English news, documentation and Wikipedia were like one"
    " of 11,304 items. They make no item dirty."
)

UNSEEN = (
    ("translations", "words of another language are other words"),
    ("paraphrases", "the same said in other words is looked for by --paraphrases alone"),
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
        "of items made from one template that which has most is told, and where a copy is edited"
        " that may be another",
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
    unseen = [row for row in UNSEEN if settings.paraphrases is None or row[0] != "paraphrases"]
    return Section(
        "method",
        "Method, and what it cannot see",
        (
            _procedure(settings),
            "Dirty is not yet leaked: a quotation, a source that item and document both draw on,"
            " or a common phrase is an overlap too. The examples are there to be read. Clean means"
            " that nothing was found by this method.",
            table("What is not seen", ("what", "why"), [*unseen, _edited(settings)]),
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
    words = "split at white space"
    if settings.words == "scripts":
        words += ", characters or grapheme clusters where a script sets none: two stand for a word"
        if settings.ngram == "auto" and settings.verdict != "gpt3":
            words += (
                f", but an n-gram is {2 * LEAST_NGRAM} of Han and Kana, {2 * LEAST_NGRAM} to"
                f" {2 * MOST_OF_CLUSTERS} clusters"
            )
    frequent = "" if most_docs is None else f" stands in more than {most_docs:,} documents,"
    copies = "" if settings.copies is None else COPIES
    copies += "" if settings.paraphrases is None else PARAPHRASES
    return (
        f"The method is the overlap analysis of GPT-3 ({SOURCE}): words in lower case, without"
        f" punctuation, {words}; {chosen}. {dirty_means(settings)}"
        " Beyond the paper, documents and items are first freed of disguises (see the"
        " settings), and the fields of an item are looked for each by itself"
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
            f"{100 * copies['threshold']:g} % of the item's word pairs in one place, of items under"
            f" {LONG_WORDS} words {100 * copies['short_threshold']:g} %, and a little above"
            f" {100 * MIDDLE_THRESHOLD:g} % at least"
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
    limit = "no limit" if most_docs is None else f"{most_docs:,}"
    dirty = "share of an item that makes it dirty; gpt3: one n-gram"
    rows = [
        ("ngram", str(settings.ngram), "words in an n-gram, N"),
        ("verdict", str(settings.verdict), dirty),
        ("most_docs", limit, "documents that an n-gram that counts may stand in"),
    ]
    for name, on in settings.folding.items():
        rows.append((f"folding: {name}", "on" if on else "off", FOLDING_WORDS.get(name, "")))
    if settings.paraphrases is not None:
        of_window = "score of a window; see the method"
        rows.append(("paraphrases", f"{settings.paraphrases:g}", of_window))
    for name, share in (settings.copies or {}).items():
        meaning = "word pairs of an item that a copy has"
        rows.append((f"copies: {name}", f"{100 * share:g} %", meaning))
    return rows
