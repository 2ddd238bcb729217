"""What was found of benchmarks: sections of a report, and the sentences that sum it up.

The report may be of a search or of preparing a corpus; all text in it is untrusted.
"""

from collections.abc import Iterable, Mapping, Sequence

from tokenmill.dedup.overlap.containment_index import LONG_WORDS
from tokenmill.dedup.text.fold import FOLDINGS
from tokenmill.pipelines.contamination.model import (
    AnyExample,
    BenchmarkSummary,
    EditedExample,
    NgramExample,
    ParaphraseExample,
    Settings,
    Summary,
)
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
from tokenmill.sizing.units import format_bytes

# the columns of a table of benchmarks, those first that a reader on a narrow screen should see
COUNTED = {
    "items": "items",
    "dirty": "dirty",
    "whole": "of it whole",
    "dirty_frac": "dirty share",
    "edited": "edited copies",
    "some": "in part",
    "paraphrased": "paraphrase or sibling",
    "siblings": "of it siblings",
    "context_found": "context found",
    "docs": "docs",
    "widespread": "widespread",
    "edited_docs": "docs with edited copies",
    "clean": "clean",
    "untestable": "not testable",
    "only_context": "only with context",
    "verbatim": "only verbatim",
    "found_whole": "short, found",
    "only_ignored": "only boilerplate",
    "repeated": "repeated rows",
    "ngram": "N",
}
ALWAYS = ("items", "dirty", "dirty_frac", "edited", "clean", "ngram")  # though 0 in every row
PAGE_ONLY = ("edited_docs", "only_ignored", "repeated")  # not on a terminal, which is narrow
NO_SUM = ("dirty_frac", "docs", "edited_docs", "ngram")
MEANINGS = {
    "widespread": "Widespread: clean by the published rule, but at least half of its n-grams stand"
    " in too many documents to count.",
    "edited": "Edited copies: items, neither dirty, found whole nor widespread, of which a copy was"
    " found; none of them counts as in part, clean or not testable.",
    "some": "In part: less than the threshold was found in any document, and no edited copy.",
    "paraphrased": "Paraphrase or sibling: other items most of whose words stand together in a"
    " document, in any order; siblings, where fewer than half of the numbers agree. Some stand so"
    " by chance: read them.",
    "context_found": "Context found: items that are not dirty, but whose passage, or another field"
    " that items share, was found, as it is or edited, without what they ask.",
    "untestable": "Not testable: under 8 words, and looked for as a whole only, or without an"
    " n-gram that counts, as others share each or it has no letter.",
    "only_context": "Only with context: the question is under 8 words, and is found together with"
    " what stands around it in the item, or not at all; nothing of that was.",
    "verbatim": "Only verbatim: clean, but no words tell what it asks from what others do; that is"
    " found as it is, with every sign, or not at all.",
    "repeated": "Repeated rows: word by word an earlier item; searched once, told with it.",
    "found_whole": "Short, found: those of the short that stand in a document.",
    "only_ignored": "Only boilerplate: other clean items of which n-grams stand in the corpus that"
    " count for nothing.",
}
OF_SOURCE = {
    "docs": ">documents with items",
    "pairs": ">pairs of document and item",
    "edited_docs": ">documents with edited copies",
}
SIDE_BY_SIDE = {  # titles of sections, and what is said above their examples
    "examples": (
        "Side by side",
        "Items of which a document has most, each beside the document that has most of it. Marked:"
        " the longest stretch of the document that repeats the item, and its n-grams in the item."
        " Characters that cannot be seen stand by their names.",
    ),
    "widespread": (
        "Widespread items",
        "Items in more than {many}: their n-grams count for nothing, as common phrases do, and they"
        " are no dirty items by the published rule. If these are questions rather than phrases, the"
        " corpus has them many times over.",
    ),
    "edited": (
        "Edited copies",
        "Items that are neither dirty nor widespread, of which a document has an edited copy."
        " Marked: the stretch of the document that has most of the item's word pairs, and the"
        " words of the item that it has.",
    ),
    "paraphrases": (
        "Paraphrases or siblings",
        "Items found in no other way, most of whose words a document has in one place, in any"
        " order: in other words, by a sibling of the same template, or by chance. They make no item"
        " dirty. Marked: the words that agree, by their first letters, and the numbers.",
    ),
}
REASONS = {
    "frequent": "in too many documents",
    "shared": "of many items of a benchmark",
    "letterless": "without a letter",
}
MOST_ROWS = 30
LINES_BEFORE = 3
MOST_OPEN = 5  # examples of a benchmark that are shown unfolded


def found_sections(summary: Summary, most: int = MOST_ROWS) -> list[Section]:
    """By benchmark, side by side, document, source, and ignored n-grams; most: rows of a list."""
    return [
        Section("benchmarks", "By benchmark", _benchmarks(summary)),
        _side_by_side(summary, "examples", "found_items"),
        _side_by_side(summary, "widespread", "widespread"),
        _side_by_side(summary, "edited", "edited"),
        _side_by_side(summary, "paraphrases", "paraphrased"),
        Section("documents", "Documents with most items", _worst(summary, most)),
        Section("sources", "By source", _sources(summary, most)),
        Section("contexts", "Passages that were found", _contexts(summary, most)),
        Section("ignored", "What counted for nothing", _ignored(summary, most)),
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


def columns_of(benchmarks: Sequence[BenchmarkSummary]) -> dict[str, str]:
    """The columns of a table of these benchmarks that are not empty: labels by name."""
    return {
        name: label
        for name, label in COUNTED.items()
        if name in ALWAYS or any(getattr(b, name) for b in benchmarks)
    }


def items_table(summary: Summary, caption: str, without: Sequence[str] = ()) -> Table:
    """Numbers of items, but for share, documents and N; no empty columns, and none of `without`."""
    columns = {k: v for k, v in columns_of(summary.benchmarks).items() if k not in without}
    counts = [(b.name, vars(b)) for b in summary.benchmarks]
    if len(counts) > 1:
        counts.append(("all", _sums(summary)))
    rows = [(name, *_cells(of, columns, summary.settings)) for name, of in counts]
    labels = (f">{label}" for label in columns.values())
    return table(caption, ("benchmark", *labels), rows, sums=len(rows) > 1)


def _benchmarks(summary: Summary) -> list[str | Table]:
    benchmarks = summary.benchmarks
    columns = columns_of(benchmarks)
    meanings = " ".join(MEANINGS[name] for name in MEANINGS if name in columns)
    return [
        f"{dirty_means(summary.settings)} The dirty share is of the items that can be tested, and"
        f" not with their context only. {meanings}".strip(),
        items_table(summary, "Items"),
        *_foldings(benchmarks),
        table(
            "Benchmarks",
            ("benchmark", "`path", "fields", "`md5"),
            [(b.name, b.path, ", ".join(b.fields), b.md5) for b in benchmarks],
            folded=True,
        ),
    ]


def _sums(summary: Summary) -> dict[str, float | None]:
    """All benchmarks together; a document may have items of several."""
    sums = {name: summary.total(name) for name in COUNTED if name not in NO_SUM}
    tested = summary.total("tested")
    return sums | {
        "dirty_frac": sums["dirty"] / tested if tested else None,
        "docs": summary.found_docs,
        "edited_docs": summary.edited_docs,
    }


def _cells(
    counts: Mapping[str, float | None], columns: Iterable[str], settings: Settings
) -> list[str]:
    cells = {k: f"{counts[k]:,}" for k in columns if counts.get(k) is not None}
    if settings.copies is None:
        cells["edited"] = "not looked for"
    return [percent(counts[k]) if k == "dirty_frac" else cells.get(k, "") for k in columns]


def _foldings(benchmarks: Sequence[BenchmarkSummary]) -> list[Table]:
    """The disguises that items were found in, if there are any."""
    needed = [name for name in FOLDINGS if any(b.foldings.get(name) for b in benchmarks)]
    rows = [
        (b.name, *(f"{b.foldings.get(name, 0):,}" for name in needed))
        for b in benchmarks
        if b.foldings
    ]
    caption = "Items that would be clean without a folding"
    columns = ("benchmark", *(f">{name}" for name in needed))
    return [table(caption, columns, rows)] if rows else []


def _side_by_side(summary: Summary, name: str, counted: str) -> Section:
    """Examples by benchmark of `name` in the summary, behind a note of how many are `counted`."""
    title, note = SIDE_BY_SIDE[name]
    examples: Sequence[AnyExample] = getattr(summary, name) or ()
    blocks = []
    for of, n_all in {b.name: getattr(b, counted) or 0 for b in summary.benchmarks}.items():
        rows = tuple(_comparison(e) for e in examples if e.benchmark == of)
        if rows:
            block = Comparisons(caption=of, rows=rows, n_open=MOST_OPEN, n_all=n_all, noun="item")
            blocks.append(block)
    many = count(summary.settings.most_docs or 0, "document")
    return Section(name, title, [note.format(many=many), *blocks] if blocks else [])


def _comparison(example: AnyExample) -> Comparison:
    shown, document = example.item_text, _document(example)
    before, behind = _left_out(shown.chars_before), _left_out(shown.chars_behind)
    return Comparison(
        title=example.item,
        facts=tuple(_facts(example)),
        sides=(Passage("item", (*before, *_marked(shown.text, shown.spans), *behind)), document),
    )


def _facts(example: AnyExample) -> list[str]:
    """How much of the item, in how many documents, and how it is written there."""
    documents = f"in {count(example.documents, 'document')}"
    foldings = [f"seen through {', '.join(example.foldings)}"] if example.foldings else []
    if isinstance(example, EditedExample):
        return [
            f"{100 * example.containment:.0f} % of its words, in pairs or in place",
            documents,
            *foldings,
        ]
    if isinstance(example, ParaphraseExample):
        kind = "sibling" if example.sibling else "paraphrase"
        agree = f"{example.agreeing} of {count(example.numbers, 'number')} agree"
        facts = [f"{kind}: {100 * example.share:.0f} % of its words by weight", documents]
        return [*facts, *([agree] if example.numbers else []), *foldings]
    n_all, share = round(example.ngrams / example.found_frac), 100 * example.found_frac
    facts = [f"{example.ngrams:,} of {count(n_all, 'n-gram')} ({share:.0f} %)", documents]
    if example.as_written:
        return [*facts, "written as in the item"]
    differences = example.differences
    return [*facts, *foldings, *([f"differs in {', '.join(differences)}"] if differences else [])]


def _marked(text: str, spans: Iterable[tuple[int, int]]) -> list[Piece]:
    pieces, at = [], 0
    for start, end in spans:
        pieces += [Piece(text[at:start]), Piece(text[start:end], marked=True)]
        at = end
    return [*pieces, Piece(text[at:])]


def _left_out(chars: int | None) -> tuple[Piece, ...]:
    return (Piece(f" […{count(chars, 'character')}…] "),) if chars else ()


def _document(example: AnyExample) -> Passage:
    name = f"document {example.id} (doc_id {example.doc_id}) of {example.source}"
    where = f"bytes {example.start_byte:,} to {example.end_byte:,}"
    if isinstance(example, NgramExample) and example.spans > 1:
        where += f", the longest of {example.spans:,} stretches"
    # of many short lines before it, only so many that what is marked is seen without scrolling
    before = Piece("\n".join(example.before.split("\n")[-LINES_BEFORE:]))
    marked = [Piece(example.match, marked=True)]
    if isinstance(example, ParaphraseExample):
        marked = _marked(example.match, example.spans)
    return Passage(f"{name}, {where}", (before, *marked, Piece(example.after)))


def _worst(summary: Summary, most: int) -> list[str | Table]:
    rows = [
        (
            row.id,
            str(row.doc_id),
            row.source,
            f"{row.items:,}",
            f"{row.overlap_bytes:,}",
            percent(row.overlap_bytes / row.text_bytes),
            format_bytes(row.text_bytes),
        )
        for row in summary.worst[:most]
    ]
    edited = [
        (row.id, str(row.doc_id), row.source, str(row.items), percent(row.containment))
        for row in (summary.worst_edited or ())[:most]
    ]
    columns = ("`id", "`doc_id", "source", ">items", ">bytes of them", ">share of text", ">text")
    of_edited = ("`id", "`doc_id", "source", ">edited items", ">share of the best copy")
    tables = (
        table(_shown("Documents", len(rows), summary.found_docs), columns, rows),
        table(
            _shown("Documents with edited copies", len(edited), summary.edited_docs),
            of_edited,
            edited,
        ),
    )
    return [*(() if rows else ["No document has an item."]), *(t for t in tables if t.rows)]


def _sources(summary: Summary, most: int) -> list[str | Table]:
    sources = summary.sources
    if not sources:
        return ["No source has a document with an item."]
    names = [name for name in OF_SOURCE if name != "edited_docs" or summary.edited_docs]
    rows = [(s.source, *(f"{getattr(s, name):,}" for name in names)) for s in sources[:most]]
    columns = ("source", *(OF_SOURCE[name] for name in names))
    return [table(_shown("Sources", len(rows), len(sources)), columns, rows)]


def _contexts(summary: Summary, most: int) -> list[str | Table]:
    rows = [
        (
            row.text,
            row.item,
            f"{row.items:,}",
            percent(row.found_frac),
            f"{row.documents:,}",
            str(row.doc_id),
        )
        for row in summary.contexts[:most]
    ]
    if not rows:
        return []
    columns = ("`text", "first item", ">items", ">found", ">documents", "`doc_id")
    return [
        "Passages that are asked about, and other fields that items share, each searched once. They"
        " make no item dirty by themselves.",
        table(_shown("Passages", len(rows), summary.n_contexts), columns, rows),
    ]


def dirty_means(settings: Settings) -> str:
    """A sentence: what makes an item dirty."""
    if settings.verdict == "gpt3":
        return "An item is dirty if the corpus has one of its n-grams that count."
    return (
        f"An item is dirty if a document has {100 * settings.verdict:g} % or more of the n-grams"
        " that no other item of its benchmark has."
    )


def _ignored(summary: Summary, most: int) -> list[str | Table]:
    n_all = sum(summary.n_ignored.values())
    if not n_all:
        return ["No n-gram of the corpus was left out of account."]
    parts = ", ".join(f"{n:,} {REASONS[name]}" for name, n in summary.n_ignored.items() if n)
    rows = [
        (
            row.passage,
            *(f"{n:,}" for n in (row.ngrams, row.documents, row.items)),
            ", ".join(REASONS[name] for name in row.reason.split(", ")),
        )
        for row in summary.ignored[:most]
    ]
    columns = ("`words", ">n-grams", ">documents", ">items", "why")
    return [
        f"Of the items' n-grams that stand in the corpus {n_all:,} make no item dirty: {parts}.",
        table(_shown("Passages", len(rows), len(summary.ignored)), columns, rows),
    ]


def _shown(what: str, n: int, n_all: int) -> str:
    """A caption that says how many are not shown."""
    return what if n == n_all else f"{what}: {n:,} of {n_all:,} shown, those with most first"


def found_in_short(summary: Summary, read: str) -> list[str]:
    """Sentences: how many items stand in what was `read`, and how many could not be looked for."""
    items = summary.total("found_items")
    of_benchmarks = f"of {count(len(summary.benchmarks), 'benchmark')}"
    if items:
        verb = "is" if items == 1 else "are"
        sentence = (
            f"Of {count(summary.total('items'), 'item')} {of_benchmarks} {items:,} {verb} in"
            f" the corpus{_how_much(summary)}: in {summary.found_docs:,} of {read}"
        )
    else:
        tested = summary.total("tested")
        able = f" that can be tested, {of_benchmarks}," if _untold(summary) else f" {of_benchmarks}"
        verdict = summary.settings.verdict
        less = summary.total("some") + summary.total("edited")  # of these there may be n-grams
        to = f" to {100 * verdict:g} % or more" if verdict != "gpt3" and less else ""
        sentence = f"None of {count(tested, 'item')}{able} was found{to} by n-grams in {read}"
    rest = "; ".join([sentence, *_untold(summary)])
    return [f"{rest}.", *_others(summary)]


def _how_much(summary: Summary) -> str:
    verdict = summary.settings.verdict
    if verdict == "gpt3":
        return ", whole or in part"
    whole = summary.total("whole") + summary.total("found_whole")
    return f", {100 * verdict:g} % or more of what is their own, {whole:,} whole"


def _untold(summary: Summary) -> list[str]:
    """What nothing clears: items that could not be looked for."""
    short = summary.total("untestable")
    only, verbatim = summary.total("only_context"), summary.total("verbatim")
    by_shares = summary.settings.verdict != "gpt3"
    what = "not testable" if by_shares else "too short to test"
    return [
        *([f"{short:,} {'is' if short == 1 else 'are'} {what}"] if short else []),
        *([f"{only:,} could be found only with the context of the question"] if only else []),
        *([f"{verbatim:,} could be found only with every sign as it is"] if verbatim else []),
    ]


def _others(summary: Summary) -> list[str]:
    """Sentences on what was found of items that are not dirty."""
    edited, some = summary.total("edited"), summary.total("some")
    sentences = []
    if some:
        stand = "stands" if some == 1 else "stand"
        items = "other item" if summary.total("found_items") else "item"
        sentences.append(f"{count(some, items)} {stand} there with less than that.")
    n = summary.total("context_found")
    if n and not summary.n_contexts:
        sentences.append(f"Edited copies of the passages of {count(n, 'item')} stand there.")
    if summary.n_contexts:
        stand = "stands" if summary.n_contexts == 1 else "stand"
        clean = (
            f", and {count(n, 'item')} whose passage does, as it is or edited,"
            f" {'is' if n == 1 else 'are'} not dirty"
        )
        sentences.append(
            f"{count(summary.n_contexts, 'passage')} {stand} in the corpus{clean if n else ''}."
        )
    if edited:
        sentences.append(
            f"Edited copies of {count(edited, 'other item')} stand in"
            f" {count(summary.edited_docs, 'document')}: the step"
            " decontaminate takes these out only with edited: cut or edited: document."
        )
    short, copies = sum(b.short_clean or 0 for b in summary.benchmarks), summary.settings.copies
    if short and copies:
        least = 100 * copies["short_threshold"]
        sentences.append(
            f"{count(short, 'clean item')} {'has' if short == 1 else 'have'} under"
            f" {LONG_WORDS} words: an edited copy of one is seen only where it has {least:g} % of"
            " its word pairs."
        )
    if summary.n_paraphrased:
        n = summary.n_paraphrased
        siblings = summary.total("siblings")
        other = f", {siblings:,} of them with other numbers" if siblings else ""
        sentences.append(
            f"Most words of {count(n, 'other item')} stand together in a document{other}:"
            " paraphrases, siblings of one template, or chance; the report shows them side by side."
        )
    return sentences


def warnings(summary: Summary) -> list[str]:
    """Sentences on items that no count of found items has, though nothing clears them."""
    sentences = []
    if n := summary.total("widespread"):
        stand = (
            f"{count(n, 'item')} {'stands' if n == 1 else 'stand'} in more than"
            f" {count(summary.settings.most_docs or 0, 'document')}{'' if n == 1 else ' each'}"
        )
        sentences.append(
            f"{stand}: not dirty by the published rule, and not cut by decontaminate; remove"
            " duplicates first, or set --most-docs."
            if summary.settings.action is None
            else f"{stand} and {'was' if n == 1 else 'were'} kept: put exact or near before"
            " decontaminate, or set most_docs."
        )
    if untested := [b for b in summary.benchmarks if b.untestable == b.items]:
        names = ", ".join(b.name for b in untested)
        own = " and has words of its own" if any(b.uncounted for b in untested) else ""
        sentences.append(f"No item of {names} is long enough{own} to be tested by n-grams.")
    if summary.settings.verdict == "gpt3" and (n := summary.total("uncounted")):
        sentences.append(
            f"{count(n, 'item')} {'has' if n == 1 else 'have'} no n-gram that counts, since many"
            " items share each or it has no letter: told as clean, whatever the corpus holds."
        )
    return sentences
