"""What was found of benchmarks, as sections of a report: of a search, or of preparing a corpus.

Every function takes the data of `summarize`; all text in it may be anyone's.

How items were looked for, and what such a search cannot see.

The counts of a search in the words that every table of them uses, and what they ask for.

Everything here takes the data of `summarize`, or of several benchmarks in it.

Items beside documents that have them, as a section of a report.

The page of a search for benchmark items: its sections, with shares of benchmarks drawn.

The report of a search for benchmark items, on disk: as data, as Markdown and as a page.

data of `summarize` and of the run ─┬─ contamination.json
                                    └─ sections ─┬─ contamination.md
                                                 └─ contamination.html, with plots
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from tokenmill.dedup.fold import FOLDINGS
from tokenmill.dedup.ngram_index import MIN_WORDS
from tokenmill.pipelines.contamination.index import LEAST_NGRAM, LEAST_WHOLE, MOST_NGRAM, PERCENTILE
from tokenmill.pipelines.runs.finished import Failures
from tokenmill.pipelines.runs.report import failed_in_short, failure_blocks, failure_figures
from tokenmill.pipelines.storage.files import write_json, write_text
from tokenmill.sizing.document import charts
from tokenmill.sizing.document.charts import Bar
from tokenmill.sizing.document.markdown import markdown
from tokenmill.sizing.document.page import KeyFigure, figure, page
from tokenmill.sizing.document.section import (
    NONE,
    Comparison,
    Comparisons,
    Passage,
    Piece,
    Section,
    Table,
    count,
    table,
)
from tokenmill.sizing.document.svg import Axis
from tokenmill.sizing.units import format_bytes

Data: TypeAlias = Mapping[str, Any]

SOURCE = "Brown et al. 2020, arXiv:2005.14165, appendix C"

# of texts with one word in so many replaced, those that n-grams show, and those that containment
# does with its default thresholds (tests/pipelines/contamination/test_report_method.py)
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


def method_section(data: Data) -> Section:
    """settings: as of `summarize`."""
    settings = data["settings"]
    return Section(
        key="method",
        title="Method, and what it cannot see",
        blocks=(
            _method(settings),
            "Dirty is not yet leaked: a quotation, a source that item and document both draw on,"
            " or a common phrase is an overlap too. The examples are there to be read. Clean means"
            " that nothing was found by this method.",
            table("What is not seen", ("what", "why"), [*UNSEEN, _edited(settings)]),
            table("Settings", ("setting", "value", "meaning"), _settings(settings), folded=True),
        ),
    )


def _method(settings: Data) -> str:
    """The procedure in a paragraph."""
    ngram, most_docs = settings["ngram"], settings["most_docs"]
    chosen = f"N is {ngram} for every benchmark, as set"
    if ngram == "auto":
        chosen = (
            f"N of a benchmark is the {PERCENTILE}th percentile of its items' lengths in words,"
            f" at least {LEAST_NGRAM} and at most {MOST_NGRAM}"
        )
    frequent = "" if most_docs is None else f" stands in more than {most_docs:,} documents,"
    copies = "" if settings.get("copies") is None else COPIES
    return (
        f"The method is the overlap analysis of GPT-3 ({SOURCE}): words in lower case, without"
        f" punctuation, split at white space; {chosen}. An item is dirty if any document has any"
        " of its n-grams, clean otherwise. Beyond the paper, documents and items are first freed"
        " of disguises (see the settings), and the fields of an item are looked for each by itself"
        f" and all together. An n-gram counts for nothing that{frequent} is shared by many items of"
        " its benchmark or has no letter. N-grams are compared by 64-bit hashes."
        f"{copies}"
    )


def _edited(settings: Data) -> tuple[str, str]:
    """How much of what was edited is seen."""
    copies = settings.get("copies")
    left = "N words in a row"
    if copies is not None:
        left = (
            f"{100 * copies['threshold']:g} % of the item's word pairs in one place, of short items"
            f" {100 * copies['short_threshold']:g} %"
        )
    seen = " and ".join(
        f"{100 * fracs[copies is not None]:.0f} % of texts with one word in {one_in} replaced"
        for one_in, fracs in EDITED_FRAC.items()
    )
    return (
        "edited copies",
        f"only those are seen that still have {left}: in a test on six benchmarks, with the"
        f" settings that are the default, {seen}",
    )


def _settings(settings: Data) -> list[tuple[str, str, str]]:
    most_docs = settings["most_docs"]
    return [
        ("ngram", str(settings["ngram"]), "words in an n-gram, N"),
        (
            "most_docs",
            "no limit" if most_docs is None else f"{most_docs:,}",
            "documents that an n-gram that counts may stand in",
        ),
        *(
            (f"folding: {name}", "on" if on else "off", FOLDING_WORDS.get(name, ""))
            for name, on in settings["folding"].items()
        ),
        *(
            (f"copies: {name}", f"{100 * share:g} %", "word pairs of an item that a copy has")
            for name, share in (settings.get("copies") or {}).items()
        ),
    ]


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
    return [f"{sentence}.", *_edited_rows(data)]


def _edited_rows(data: Data) -> list[str]:
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


MOST_OPEN = 5  # of a benchmark


def examples_section(data: Data) -> Section:
    """Of each benchmark the items of which a document has most, the best first."""
    n_found = {b["name"]: b["dirty"] + b["found_whole"] for b in data["benchmarks"]}
    note = (
        "Items of which a document has most, each beside the document that has most of it. Marked:"
        " the longest stretch of the document that repeats the item, and its n-grams in the item."
        " Characters that cannot be seen stand by their names."
    )
    blocks = _blocks(data["examples"], n_found)
    return Section(key="examples", title="Side by side", blocks=(note, *blocks) if blocks else ())


def widespread_section(data: Data) -> Section:
    """Items in too many documents to be dirty, each beside one of these."""
    n_found = {b["name"]: b.get("widespread", 0) for b in data["benchmarks"]}
    note = (
        f"Items in more than {count(data['settings']['most_docs'] or 0, 'document')}: their n-grams"
        " count for nothing, as common phrases do, and they are no dirty items by the published"
        " rule. If these are questions rather than phrases, the corpus has them many times over."
    )
    blocks = _blocks(data.get("widespread", ()), n_found)
    title = "Widespread items"
    return Section(key="widespread", title=title, blocks=(note, *blocks) if blocks else ())


def edited_section(data: Data) -> Section:
    """Items that no n-gram shows, beside the best of their copies; none if not looked for."""
    n_found = {b["name"]: b.get("edited", 0) for b in data["benchmarks"]}
    note = (
        "Items without an n-gram in the corpus that counts, of which a document has an edited copy"
        " all the same. Marked: the stretch of the document that has most of the item's word"
        " pairs, and the words of the item that it has."
    )
    blocks = _blocks(data.get("edited", ()), n_found)
    return Section(key="edited", title="Edited copies", blocks=(note, *blocks) if blocks else ())


def _blocks(examples: Sequence[Data], n_found: Mapping[str, int]) -> list[Comparisons]:
    """By benchmark.  n_found: items of each that there are examples of."""
    made = []
    for name, n in n_found.items():
        rows = tuple(_comparison(e) for e in examples if e["benchmark"] == name)
        if rows:
            block = Comparisons(caption=name, rows=rows, n_open=MOST_OPEN, n_all=n, noun="item")
            made.append(block)
    return made


def _comparison(example: Data) -> Comparison:
    return Comparison(
        title=example["item"],
        facts=tuple(_facts(example)),
        sides=(_item(example["item_text"]), _document(example)),
    )


def _facts(example: Data) -> list[str]:
    """How much of the item, in how many documents, and how it is written there."""
    facts = [_share(example), f"in {count(example['documents'], 'document')}"]
    if example.get("as_written"):
        return [*facts, "written as in the item"]
    if example["foldings"]:
        facts.append(f"seen through {', '.join(example['foldings'])}")
    if example.get("differences"):
        facts.append(f"differs in {', '.join(example['differences'])}")
    return facts


def _share(example: Data) -> str:
    if "containment" in example:
        return f"{100 * example['containment']:.0f} % of its word pairs"
    ngrams, share = example["ngrams"], example["found_frac"]
    return f"{ngrams:,} of {count(round(ngrams / share), 'n-gram')} ({100 * share:.0f} %)"


def _item(text: Data) -> Passage:
    pieces, at, shown = [], 0, text["text"]
    for start, end in text["spans"]:
        pieces += [Piece(shown[at:start]), Piece(shown[start:end], marked=True)]
        at = end
    return Passage(
        "item",
        (
            *_left_out(text.get("chars_before", 0)),
            *pieces,
            Piece(shown[at:]),
            *_left_out(text.get("chars_behind", 0)),
        ),
    )


def _left_out(chars: int) -> tuple[Piece, ...]:
    return (Piece(f" […{count(chars, 'character')}…] "),) if chars else ()


def _document(example: Data) -> Passage:
    where = f"bytes {example['start_byte']:,} to {example['end_byte']:,}"
    n = example.get("spans", 1)
    spans = f", the longest of {n:,} stretches" if n > 1 else ""
    pieces = (
        Piece(example["before"]),
        Piece(example["match"], marked=True),
        Piece(example["after"]),
    )
    name = f"document {example['id']} (doc_id {example['doc_id']}) of {example['source']}"
    return Passage(f"{name}, {where}{spans}", pieces)


MOST_ROWS = 30
MEANINGS = {
    "widespread": "Widespread: clean by the published rule, but at least half of its n-grams stand"
    " in too many documents to count.",
    "edited": "Edited copies: items of which no n-gram that counts was found, but a copy.",
    "untestable": "Too short: under 8 words, looked for as a whole only.",
    "found_whole": "Short, found: those of them that stand in a document.",
    "only_ignored": "Only boilerplate: other clean items of which n-grams stand in the corpus that"
    " count for nothing.",
}
OF_SOURCE = {
    "docs": ">documents with items",
    "pairs": ">pairs of document and item",
    "edited_docs": ">documents with edited copies",
}
NO_SUM = ("dirty_frac", "docs", "edited_docs", "ngram")
REASONS = {
    "frequent": "in too many documents",
    "shared": "of many items of a benchmark",
    "letterless": "without a letter",
}


def found_sections(data: Data) -> list[Section]:
    """By benchmark, side by side, by document, by source, and what counted for nothing."""
    return [
        Section(key="benchmarks", title="By benchmark", blocks=tuple(_benchmarks(data))),
        examples_section(data),
        widespread_section(data),
        edited_section(data),
        Section(key="documents", title="Documents with most items", blocks=tuple(_worst(data))),
        Section(key="sources", title="By source", blocks=tuple(_sources(data))),
        Section(key="ignored", title="What counted for nothing", blocks=tuple(_ignored(data))),
    ]


def percent(frac: float | None) -> str:
    """A share as a person reads it; some is never shown as none, nor nearly all as all.

    >>> percent(0.1234), percent(0.0), percent(0.0001), percent(0.9999), percent(None)
    ('12.3 %', '0 %', '< 0.1 %', '> 99.9 %', '—')
    """
    if frac is None:
        return NONE
    if 0 < frac < 0.001:
        return "< 0.1 %"
    if 0.999 < frac < 1:
        return "> 99.9 %"
    return f"{100 * frac:.1f} %" if frac % 1 else f"{100 * frac:.0f} %"


def _benchmarks(data: Data) -> list[str | Table]:
    benchmarks = data["benchmarks"]
    shown = counted(benchmarks)
    rows = [(b["name"], *_counts(b, shown)) for b in benchmarks]
    if len(rows) > 1:
        rows.append(("all", *_counts(_sums(data, shown), shown)))
    meanings = " ".join(MEANINGS[name] for name in MEANINGS if name in shown)
    return [
        "Every item is clean, dirty or too short to test. The dirty share is of those that can be"
        f" tested. {meanings}".strip(),
        table(
            "Items",
            ("benchmark", *(f">{label}" for label in shown.values())),
            rows,
            sums=len(rows) > 1,
        ),
        *_foldings(benchmarks),
        table(
            "Benchmarks",
            ("benchmark", "`path", "fields", "`md5"),
            [(b["name"], b["path"], ", ".join(b["fields"]), b["md5"]) for b in benchmarks],
            folded=True,
        ),
    ]


def _sums(data: Data, names: Iterable[str]) -> Data:
    """Of all benchmarks together; a document may have items of several."""
    benchmarks = data["benchmarks"]
    sums = {name: total(benchmarks, name) for name in names if name not in NO_SUM}
    tested = sums["clean"] + sums["dirty"]
    return sums | {
        "dirty_frac": sums["dirty"] / tested if tested else None,
        "docs": found_documents(data),
        "edited_docs": edited_documents(data),
    }


def _counts(row: Data, names: Iterable[str]) -> list[str]:
    return [
        percent(row[k]) if k == "dirty_frac" else f"{row[k]:,}" if k in row else "" for k in names
    ]


def _foldings(benchmarks: Sequence[Data]) -> list[Table]:
    """Which disguises had to be seen through; only those that were."""
    needed = [name for name in FOLDINGS if any(b["foldings"].get(name) for b in benchmarks)]
    rows = [
        (b["name"], *(f"{b['foldings'].get(name, 0):,}" for name in needed))
        for b in benchmarks
        if b["foldings"]
    ]
    caption = "Items that would be clean without a folding"
    columns = ("benchmark", *(f">{name}" for name in needed))
    return [table(caption, columns, rows)] if rows else []


def _worst(data: Data) -> list[str | Table]:
    rows = [
        (
            row["id"],
            str(row["doc_id"]),
            row["source"],
            f"{row['items']:,}",
            f"{row['overlap_bytes']:,}",
            percent(row["overlap_bytes"] / row["text_bytes"]),
            format_bytes(row["text_bytes"]),
        )
        for row in data["worst"][:MOST_ROWS]
    ]
    columns = ("`id", "`doc_id", "source", ">items", ">bytes of them", ">share of text", ">text")
    shown = _shown("Documents", len(rows), found_documents(data))
    tables = [table(shown, columns, rows)] if rows else []
    return [*(() if rows else ["No document has an item."]), *tables, *_worst_edited(data)]


def _worst_edited(data: Data) -> list[Table]:
    names = ("id", "doc_id", "source", "items")
    rows = [
        (*(str(row[name]) for name in names), percent(row["containment"]))
        for row in data.get("worst_edited", ())[:MOST_ROWS]
    ]
    columns = ("`id", "`doc_id", "source", ">edited items", ">word pairs of the best copy")
    caption = _shown("Documents with edited copies", len(rows), edited_documents(data))
    return [table(caption, columns, rows)] if rows else []


def _sources(data: Data) -> list[str | Table]:
    sources = data["sources"]
    names = ["docs", "pairs", *(["edited_docs"] if edited_documents(data) else [])]
    rows = [(s["source"], *(f"{s[name]:,}" for name in names)) for s in sources[:MOST_ROWS]]
    if not rows:
        return ["No source has a document with an item."]
    columns = ("source", *(OF_SOURCE[name] for name in names))
    return [table(_shown("Sources", len(rows), len(sources)), columns, rows)]


def _ignored(data: Data) -> list[str | Table]:
    totals = data["n_ignored"]
    n_all = sum(totals.values())
    if not n_all:
        return ["No n-gram of the corpus was left out of account."]
    parts = ", ".join(f"{n:,} {REASONS[name]}" for name, n in totals.items() if n)
    rows = [
        (
            row["passage"],
            *(f"{row[name]:,}" for name in ("ngrams", "documents", "items")),
            ", ".join(REASONS[name] for name in row["reason"].split(", ")),
        )
        for row in data["ignored"][:MOST_ROWS]
    ]
    columns = ("`words", ">n-grams", ">documents", ">items", "why")
    return [
        f"Of the items' n-grams that stand in the corpus {n_all:,} make no item dirty: {parts}."
        " An item is dirty if it has another n-gram in the corpus.",
        table(_shown("Passages", len(rows), len(data["ignored"])), columns, rows),
    ]


def _shown(what: str, n: int, n_all: int) -> str:
    """A caption that says how many are not shown."""
    return what if n == n_all else f"{what}: {n:,} of {n_all:,} shown, those with most first"


SHARE = Axis("dirty share of the items that can be tested, %", lambda p: percent(p / 100))


def contamination_page(title: str, sections: Sequence[Section], data: Data) -> str:
    """The document as HTML, with plots."""
    return page(
        title,
        sections,
        key_figures=[*key_figures(data), *failure_figures(Failures.of(data), "inputs")],
        plots=found_plots(data),
        footer="The same figures as data: contamination.json; as text: contamination.md.",
    )


def key_figures(data: Data) -> list[KeyFigure]:
    """The figures that matter first."""
    benchmarks = data["benchmarks"]
    touched = sum(found_items([b]) > 0 for b in benchmarks)
    read = data["documents"]["read"]
    widespread, edited = (total(benchmarks, name) for name in ("widespread", "edited"))
    in_copies = f"in {count(edited_documents(data), 'document')}"
    return [
        KeyFigure(
            "items in the corpus",
            f"{found_items(benchmarks):,}",
            f"of {sum(b['items'] for b in benchmarks):,}",
        ),
        KeyFigure("benchmarks with such items", f"{touched:,}", f"of {len(benchmarks):,}"),
        KeyFigure("documents with items", f"{found_documents(data):,}", f"of {read:,}"),
        *([KeyFigure("widespread items", f"{widespread:,}")] if widespread else []),
        *([KeyFigure("other items as edited copies", f"{edited:,}", in_copies)] if edited else []),
        KeyFigure("items too short to test", f"{total(benchmarks, 'untestable'):,}"),
    ]


def found_plots(data: Data) -> dict[str, list[str]]:
    """By the sections of `found_sections` that they belong to; none where nothing was found."""
    shares = [Bar(b["name"], 100 * (b["dirty_frac"] or 0)) for b in data["benchmarks"]]
    if not any(bar.value for bar in shares):
        return {}
    drawn = charts.bars("dirty-shares", "Dirty share", SHARE, shares)
    return {"benchmarks": [figure("Dirty share", "of each benchmark", drawn)]}


TITLE = "Benchmark items in the corpus"
NAME = "contamination"


def write_report(out: Path, data: Data) -> list[Path]:
    """Write contamination.json, .md and .html into `out`, each atomically; return the files.

    data: of `summarize`, and of the run: inputs (files, bytes, shards, skipped), documents
        (read, text_bytes, failed by cause), failed_inputs, failed_shards, damaged_shards, and
        files (names by what they hold), if there are others beside these.
    """
    files = [out / f"{NAME}{suffix}" for suffix in (".json", ".md", ".html")]
    parts = sections(data)
    write_json(files[0], data)
    write_text(files[1], markdown(TITLE, parts))
    write_text(files[2], contamination_page(TITLE, parts, data))
    return files


def sections(data: Data) -> list[Section]:
    """What a researcher wants to know, in the order in which it is asked."""
    return [
        Section(key="summary", title="In short", blocks=(headline(data),)),
        *found_sections(data),
        method_section(data),
        Section(key="inputs", title="What was read", blocks=tuple(_inputs(data))),
    ]


def headline(data: Data) -> str:
    """How many items are in the corpus, where most; what failed."""
    documents = data["documents"]
    sentences = found_in_short(data, count(documents["read"], "document"))
    worst = max(data["benchmarks"], key=lambda b: b["dirty_frac"] or 0)
    if worst["dirty"] and len(data["benchmarks"]) > 1:
        tested = worst["clean"] + worst["dirty"]
        greatest = (
            f"The greatest share is that of {worst['name']}: {worst['dirty']:,} of {tested:,}"
            f" items that can be tested are dirty ({percent(worst['dirty_frac'])})."
        )
        sentences.insert(1, greatest)
    failed = failed_in_short(Failures.of(data), sum(documents["failed"].values()))
    return " ".join([*sentences, *warnings(data), failed])


def _inputs(data: Data) -> list[str | Table]:
    inputs, documents = data["inputs"], data["documents"]
    causes = sorted(documents["failed"].items(), key=lambda c: (-c[1], c[0]))
    files = [(what, name) for what, name in data.get("files", {}).items() if what != "report"]
    return [
        f"Read: {count(documents['read'], 'document')} with {format_bytes(documents['text_bytes'])}"
        f" of text, from {count(inputs['files'], 'input file')} ({format_bytes(inputs['bytes'])},"
        f" {count(inputs['shards'], 'shard')}).",
        *_listed(
            "Documents that failed", ("cause", ">documents"), [(c, f"{n:,}") for c, n in causes]
        ),
        *_listed("Files skipped", ("`path",), [(path,) for path in inputs["skipped"]]),
        *failure_blocks(Failures.of(data)),
        *_listed("All of it, as files beside this one", ("what", "`file"), files),
    ]


def _listed(caption: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[Table]:
    return [table(caption, columns, rows)] if rows else []
