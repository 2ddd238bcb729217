"""What a search for benchmark items found: in numbers, and items and documents side by side.

    BenchmarkIndex, Analysis, GramCounts, perhaps Tiers ─ summarize ─► Summary

    item_passages   the text of an item with the n-grams that a match in a document has
    copy_passage    the words that an item and an edited copy of it have in common
    differences     case, punctuation or white space in which the same words are written otherwise

Gram words are blind to these three (`dedup.text.gram_words`): a difference is named if the
stretches would still differ with the other two made alike.
"""

import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from string import punctuation
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from tokenmill.dedup.arrays import I64, Bools
from tokenmill.dedup.overlap.counts import GramCounts, frequent, ignored_passages, shared
from tokenmill.dedup.text.fold import Folding, fold, names_of
from tokenmill.dedup.text.unicode import PUNCT, flags_of, lower_of
from tokenmill.pipelines.contamination import model
from tokenmill.pipelines.contamination.analysis import Analysis, SourceCounts, best_of
from tokenmill.pipelines.contamination.copies import Copies, CopyAnalysis
from tokenmill.pipelines.contamination.found import located
from tokenmill.pipelines.contamination.index import BenchmarkIndex
from tokenmill.pipelines.contamination.paraphrases import Paraphrasing, agreeing_words, siblings
from tokenmill.pipelines.contamination.shares import Shares

CONTAMINATION_VERSION = "2"
MOST_EXAMPLES = 20  # of a benchmark
MOST_IGNORED = 100
MOST_CHARS = 2000  # of a match, and of an item
MOST_COPY_CHARS = 4000  # of an edited copy, and of its item
LEAD_CHARS = 300  # of an item in front of its first match, if that begins far behind

Span: TypeAlias = tuple[int, int]  # characters (code points) from and to
Change: TypeAlias = Callable[[str], str]


class Match(NamedTuple):
    """A stretch of a document that has n-grams of an item, and the text around it."""

    item: int
    before: str
    match: str
    after: str


class ItemPassage(NamedTuple):
    """A text of an item.  spans: where it has the match; ascending, disjoint."""

    text: str
    spans: tuple[Span, ...]


class Tiers(NamedTuple):
    """What was found besides n-grams, and from what on; None where it was not looked for.

    copies, least: edited copies.
    others, paraphrasing: items in other words.
    """

    copies: CopyAnalysis
    least: Copies | None
    others: CopyAnalysis
    paraphrasing: Paraphrasing | None


def summarize(
    index: BenchmarkIndex,
    analysis: Analysis,
    counts: GramCounts,
    tiers: Tiers | None = None,
    *,
    most_examples: int = MOST_EXAMPLES,
    most_ignored: int = MOST_IGNORED,
) -> model.Summary:
    """Say what was looked for, how, and what was found.

    index: what `analysis` was made with.
    analysis, tiers: of the whole corpus; None says nothing of what is no n-gram.
    counts: documents of the corpus that have each n-gram.
    """
    reasons = _reasons(index, counts, analysis)
    in_corpus = np.zeros(len(index.ngrams.hashes), bool)
    in_corpus[counts.grams] = True
    widespread: tuple[model.NgramExample, ...] = ()
    if analysis.frequent is not None:
        wanted = analysis.widespread()
        widespread = _examples(index, analysis.frequent, most_examples, wanted)
    settings = index.matching.model_dump(mode="json", exclude={"benchmarks"})
    settings["verdict"] = "gpt3" if analysis.shares is None else analysis.shares.threshold
    sources, of_copies = analysis.sources, {}
    if tiers is not None:
        copies, least, others, paraphrasing = tiers
        settings["copies"] = least and least.model_dump()
        sources = {name: SourceCounts() for name in copies.sources} | sources
        of_copies = {
            "n_edited": int(copies.edited().sum()),
            "edited": edited_examples(index, copies, most_examples),
            "worst_edited": tuple(model.WorstEdited(**row) for row in copies.worst.to_pylist()),
        }
        if paraphrasing is not None:
            settings["paraphrases"] = paraphrasing.score
            of_copies |= {
                "n_paraphrased": int(others.edited().sum()),
                "paraphrases": paraphrase_examples(index, others, most_examples),
            }
    by_pairs = sorted(sources.items(), key=lambda s: (-s[1].pairs, s[0]))
    return model.Summary(
        contamination=CONTAMINATION_VERSION,
        settings=model.Settings(**settings),
        benchmarks=_benchmarks(index, analysis, tiers),
        examples=_examples(index, analysis, most_examples),
        widespread=widespread,
        worst=tuple(model.WorstDocument(**row) for row in analysis.worst.to_pylist()),
        sources=tuple(
            model.SourceSummary(
                source=name, **vars(n), edited_docs=tiers and tiers.copies.sources[name]
            )
            for name, n in by_pairs
        ),
        **_contexts(index, analysis.shares, most_examples),
        ignored=_ignored(index, counts, reasons, most_ignored),
        n_ignored={name: int((mask & in_corpus).sum()) for name, mask in reasons.items()},
        **of_copies,
    )


def _benchmarks(
    index: BenchmarkIndex, analysis: Analysis, tiers: Tiers | None
) -> tuple[model.BenchmarkSummary, ...]:
    summaries = []
    all_counts = analysis.counts(tiers.copies.edited() if tiers and tiers.least else None)
    for n, (indexed, counts) in enumerate(zip(index.benchmarks, all_counts, strict=True)):
        found = {} if tiers is None else _of_tiers(index, tiers, n)
        tested = counts.clean + counts.some + counts.dirty + found.get("edited", 0)
        summaries.append(
            model.BenchmarkSummary(
                name=indexed["benchmark"]["name"],
                path=indexed["benchmark"]["path"],
                fields=tuple(indexed["fields"]),
                md5=indexed["md5"],
                items=indexed["items"],
                dirty_frac=counts.dirty / tested if tested else None,
                **found,
                **vars(counts),
            )
        )
    return tuple(summaries)


def _of_tiers(index: BenchmarkIndex, tiers: Tiers, benchmark: int) -> dict[str, int]:
    """Items and documents of a benchmark that were found, but not by n-grams."""
    which = index.texts.benchmarks_of(np.arange(len(index.texts.lengths))) == benchmark
    copies, _, others, paraphrasing = tiers
    counts = {
        "edited": int(copies.edited()[which].sum()),
        "edited_docs": int(copies.benchmark_docs[benchmark]),
    }
    if paraphrasing is not None:
        best, other = others.examples, others.edited() & which
        mine = best.filter(pa.array(other[np.asarray(best["item"])]))
        counts |= {"paraphrased": mine.num_rows, "siblings": int(siblings(mine).sum())}
    return counts


def _examples(
    index: BenchmarkIndex, analysis: Analysis, most: int, wanted: Bools | None = None
) -> tuple[model.NgramExample, ...]:
    """Of each benchmark the items of which a document has most, the best first.

    most: examples of a benchmark.
    wanted: (n_items,) bool, only these items; None is all.
    """
    examples = analysis.examples
    if wanted is not None:
        examples = examples.filter(pa.array(wanted[np.asarray(examples["item"])]))
    rows = _best(index, examples, most)
    matches = [Match(*(row[k] for k in Match._fields)) for row in rows]
    passages = item_passages(index, matches)
    return tuple(
        model.NgramExample(
            **_placed(row, index, analysis.item_docs),
            **{name: row[name] for name in ("found_frac", "ngrams", "spans")},
            **_written(match, passage, index),
            before=match.before,
            match=_shortened(match.match),
            after=match.after,
            item_text=_window(passage),
        )
        for row, match, passage in zip(rows, matches, passages, strict=True)
    )


def _best(index: BenchmarkIndex, examples: pa.Table, most: int) -> list[dict[str, Any]]:
    """Rows of schema EXAMPLE, one an item."""
    items, first = np.unique(np.asarray(examples["item"]), return_index=True)
    best = examples.take(pa.array(first))
    shares, ngrams = (np.asarray(best[name]) for name in ("found_frac", "ngrams"))
    which = index.texts.benchmarks_of(items)
    rows: list[dict[str, Any]] = best.take(
        pa.array(best_of(which, shares, -ngrams, most))
    ).to_pylist()
    return rows


def _placed(row: dict[str, Any], index: BenchmarkIndex, item_docs: I64) -> dict[str, Any]:
    """What examples of both kinds say of the item and the document; row: of either schema."""
    (name,) = index.names_of(np.array([row["item"]]))
    return {
        "benchmark": name.partition(":")[0],
        "item": name,
        "documents": int(item_docs[row["item"]]),
        "foldings": names_of(row["foldings"]),
        **{key: row[key] for key in ("doc_id", "id", "source", "start_byte", "end_byte")},
    }


def _written(match: Match, passage: ItemPassage, index: BenchmarkIndex) -> dict[str, Any]:
    """How the match differs from the longest stretch of the item."""
    start, end = max(passage.spans, key=lambda span: span[1] - span[0], default=(0, 0))
    stretch = passage.text[start:end]
    return {
        "as_written": stretch == match.match,
        "differences": differences(stretch, match.match, index.folding),
    }


def _shortened(text: str) -> str:
    """A long text without its middle."""
    if len(text) <= MOST_CHARS:
        return text
    half = MOST_CHARS // 2
    return f"{text[:half]} […{len(text) - 2 * half:,} characters…] {text[-half:]}"


def _window(passage: ItemPassage) -> model.ItemText:
    """The text of an item around its first span, if it is long."""
    text, spans = passage
    first = spans[0][0] if spans else 0
    start = first - LEAD_CHARS if first > 2 * LEAD_CHARS else 0
    end = min(start + MOST_CHARS, len(text))
    return model.ItemText(
        text=text[start:end],
        spans=tuple((a - start, min(b, end) - start) for a, b in spans if a < end),
        chars_before=start,
        chars_behind=len(text) - end,
    )


def _reasons(index: BenchmarkIndex, counts: GramCounts, analysis: Analysis) -> dict[str, Bools]:
    """(n_grams,) bool by reason: the n-grams that are ignored for it and for none before it."""
    grams = index.ngrams
    of_items = shared(grams, index.texts.starts, len(index.texts.lengths))
    letterless, never = index.ignored & ~of_items, index.ignored
    if analysis.shares is not None:
        never = analysis.shares.units.ignored
        of_items = never & ~letterless
    in_documents = frequent(counts, grams, most_docs=index.matching.most_docs)
    return {"shared": of_items, "letterless": letterless, "frequent": in_documents & ~never}


def _contexts(index: BenchmarkIndex, shares: Shares | None, most: int) -> dict[str, Any]:
    """The contexts that were found, those of most items first; most: of all benchmarks."""
    if shares is None:
        return {}
    units, found = shares.units, shares.found_contexts
    n_items = np.diff(units.items_of.offsets)[found]
    shown = found[np.lexsort((found, -shares.best_unit[found], -n_items))][:most]
    rows = []
    for unit in shown.tolist():
        first, end = units.items_of.offsets[unit : unit + 2].tolist()
        (name,) = index.names_of(units.items_of.values[first : first + 1])
        text = index.texts.texts[int(units.firsts[unit])].as_py()
        rows.append(
            model.FoundContext(
                benchmark=name.partition(":")[0],
                items=end - first,
                item=name,
                text=text[:LEAD_CHARS],
                found_frac=float(shares.best_unit[unit]),
                documents=int(shares.unit_docs[unit]),
                doc_id=int(shares.unit_doc[unit]),
            )
        )
    return {"contexts": tuple(rows), "n_contexts": len(found)}


def _ignored(
    index: BenchmarkIndex, counts: GramCounts, reasons: dict[str, Bools], most: int
) -> tuple[model.IgnoredPassage, ...]:
    """Of as many documents those first that may be items rather than numbers or prompts."""
    folded = fold(index.texts.texts, index.folding).text
    table = ignored_passages(reasons, counts, index.ngrams, folded, index.texts.items, most=most)
    passages = (model.IgnoredPassage(**row) for row in table.to_pylist())
    return tuple(sorted(passages, key=lambda p: (-p.documents, "frequent" not in p.reason)))


def edited_examples(
    index: BenchmarkIndex, copies: CopyAnalysis, most: int
) -> tuple[model.EditedExample, ...]:
    """Edited items beside the document with the best copy; `most` a benchmark, the best first."""
    rows = _best_copies(index, copies, "containment", most).to_pylist()
    return tuple(_side_by_side(row, index, copies) for row in rows)


def _best_copies(index: BenchmarkIndex, copies: CopyAnalysis, share: str, most: int) -> pa.Table:
    """Of each benchmark the copies of edited items with the greatest of a column."""
    table = copies.examples
    some = table.filter(pa.array(copies.edited()[np.asarray(table["item"])]))
    which = index.texts.benchmarks_of(np.asarray(some["item"]))
    best = best_of(which, np.asarray(some[share]), np.asarray(some["doc_id"]), most)
    return some.take(pa.array(best))


def _side_by_side(
    row: dict[str, Any], index: BenchmarkIndex, copies: CopyAnalysis
) -> model.EditedExample:
    """row: of schema COPY.  The bytes are of `match`, which may reach farther than the row's."""
    text = index.texts.texts[row["text"]].as_py()[:MOST_COPY_CHARS]
    match = row["match"][:MOST_COPY_CHARS]
    shown = copy_passage(text, row["before"], match, row["after"], index.folding)
    return model.EditedExample(
        **_placed(row, index, copies.item_docs)
        | {
            "start_byte": row["start_byte"] - _lost_bytes(row["before"], shown.before),
            "end_byte": row["end_byte"] + _lost_bytes(row["after"], shown.after),
        },
        containment=row["containment"],
        before=shown.before,
        match=shown.match,
        after=shown.after,
        item_text=model.ItemText(text=text, spans=shown.spans),
    )


def paraphrase_examples(
    index: BenchmarkIndex, others: CopyAnalysis, most: int
) -> tuple[model.ParaphraseExample, ...]:
    """Items maybe in other words, `most` a benchmark, beside the document that has most of each."""
    some = _best_copies(index, others, "score", most)
    return tuple(
        _in_other_words(row, index, others, sibling)
        for row, sibling in zip(some.to_pylist(), siblings(some).tolist(), strict=True)
    )


def _in_other_words(
    row: dict[str, Any], index: BenchmarkIndex, others: CopyAnalysis, sibling: bool
) -> model.ParaphraseExample:
    """row: of schema PARAPHRASE."""
    text = index.texts.texts[row["text"]].as_py()[:MOST_COPY_CHARS]
    match = row["match"][:MOST_COPY_CHARS]
    of_item, of_match = agreeing_words(_words(text, index.folding), _words(match, index.folding))
    return model.ParaphraseExample(
        **_placed(row, index, others.item_docs),
        **{name: row[name] for name in ("score", "numbers", "agreeing", "before", "after")},
        share=row["containment"],
        sibling=sibling,
        match=match,
        spans=of_match,
        item_text=model.ItemText(text=text, spans=of_item),
    )


def _lost_bytes(whole: str, part: str) -> int:
    return len(whole.encode()) - len(part.encode())


def item_passages(index: BenchmarkIndex, matches: Sequence[Match]) -> list[ItemPassage]:
    """Of the item of each match the text that has most of the match, and where.

    Of two texts that have as much it is the shorter: a question rather than all fields together.
    """
    texts, items = index.texts.texts, index.texts.items
    rows = np.flatnonzero(np.isin(items, [m.item for m in matches]))
    some, owners = texts.take(pa.array(rows)), items[rows]
    hits, _ = located(fold(some, index.folding), index)
    bounds = np.searchsorted(hits.docs, np.arange(len(rows) + 1)).tolist()
    chosen = []
    for match, grams in zip(matches, _grams_of(matches, index), strict=True):
        passages = []
        for row in np.flatnonzero(owners == match.item).tolist():
            a, b = bounds[row : row + 2]
            wanted = np.isin(hits.grams[a:b], grams)
            spans = zip(hits.starts[a:b][wanted], hits.ends[a:b][wanted], strict=True)
            passages.append(_passage(some[row].as_py(), sorted((int(s), int(e)) for s, e in spans)))
        chosen.append(max(passages, key=lambda p: (sum(e - s for s, e in p.spans), -len(p.text))))
    return chosen


def _grams_of(matches: Sequence[Match], index: BenchmarkIndex) -> list[I64]:
    """The n-grams of each match, those of other items among them."""
    if not matches:
        return []
    texts = pa.array(["".join(m[1:]) for m in matches], pa.large_string())
    hits, _ = located(fold(texts, index.folding), index)
    starts = np.array([len(m.before.encode()) for m in matches])
    ends = starts + np.array([len(m.match.encode()) for m in matches])
    inside = (hits.starts >= starts[hits.docs]) & (hits.ends <= ends[hits.docs])
    hits = hits.only(inside)
    bounds = np.searchsorted(hits.docs, np.arange(len(matches) + 1))
    return [hits.grams[a:b] for a, b in pairwise(bounds.tolist())]


def _passage(text: str, windows: Sequence[tuple[int, int]]) -> ItemPassage:
    """windows: bytes of the text, ascending; those that overlap are one span."""
    merged: list[tuple[int, int]] = []
    for start, end in windows:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    data = text.encode()
    return ItemPassage(
        text, tuple((len(data[:a].decode()), len(data[:b].decode())) for a, b in merged)
    )


def differences(item: str, document: str, folding: Folding) -> tuple[str, ...]:
    """Names of "case", "punctuation" and "white space" in which two stretches differ.

    Empty if they are not the same words.

    >>> differences("Is it well-known?", "IS IT  wellknown", Folding())
    ('case', 'punctuation', 'white space')
    """
    folded = fold(pa.array([item, document], pa.large_string()), folding).text.to_pylist()
    changes: dict[str, Change] = {
        "case": _lowered,
        "punctuation": _without_punctuation,
        "white space": lambda text: " ".join(text.split()),
    }
    if not _alike(folded, [*changes.values()]):
        return ()
    return tuple(
        name
        for name in changes
        if not _alike(folded, [change for other, change in changes.items() if other != name])
    )


def bare(text: str) -> str:
    """Text in lower case and without punctuation, as gram words are compared."""
    return _lowered(_without_punctuation(text))


def _alike(texts: list[str], changes: list[Change]) -> bool:
    """Whether two texts are the same once all of the changes have been made."""
    for change in changes:
        texts = [change(text) for text in texts]
    return texts[0] == texts[1]


def _lowered(text: str) -> str:
    return "".join(chr(lower_of(ord(c))) for c in text)


def _without_punctuation(text: str) -> str:
    """Without punctuation; a word of nothing else goes with the white space behind it."""
    words = re.split(r"(\s+)", text)
    kept = []
    for word, space in zip(words[::2], [*words[1::2], ""], strict=True):
        left = "".join(c for c in word if c not in punctuation and not flags_of(ord(c)) & PUNCT)
        kept += [left, space] if left or not word else []
    return "".join(kept)


class Word(NamedTuple):
    """A word of a text: where it stands, and what it is compared by."""

    start: int
    end: int
    bare: str


class CopyPassage(NamedTuple):
    """A copy in a document beside its item.

    before, match, after: of the document; `match` reaches from the first word that the item has
        too, in its place, to the last.
    spans: of the item, the words that stand in the copy; ascending, disjoint.
    """

    before: str
    match: str
    after: str
    spans: tuple[Span, ...]


def copy_passage(item: str, before: str, match: str, after: str, folding: Folding) -> CopyPassage:
    """Find the words that an item and a copy have in common, in the order of the item.

    match: the stretch of the document that has most of the item's pairs of words; a word that
        stands alone at its end, behind one that was replaced, is in the text after it.
    """
    words, copied = _words(item, folding), _words(match, folding)
    shared = _shared(words, copied)
    if not shared:
        return CopyPassage(before, match, after, ())
    left, right = _words(before, folding), _words(after, folding)
    ahead, behind = words[: shared[0]][::-1], words[shared[-1] + 1 :]
    # a word on either side is shared if it stands as far away as in the item
    n_ahead, n_behind = _last_alike(ahead, left[::-1]), _last_alike(behind, right)
    start = left[-n_ahead].start if n_ahead else len(before)
    end = right[n_behind - 1].end if n_behind else 0
    shared = _shared(words, [*left[len(left) - n_ahead :], *copied, *right[:n_behind]])
    return CopyPassage(
        before[:start], f"{before[start:]}{match}{after[:end]}", after[end:], _spans(words, shared)
    )


def _words(text: str, folding: Folding) -> list[Word]:
    """The words of a text that are more than punctuation."""
    matches = list(re.finditer(r"\S+", text))
    folded = fold(pa.array([m[0] for m in matches], pa.large_string()), folding).text.to_pylist()
    words = [Word(m.start(), m.end(), bare(f)) for m, f in zip(matches, folded, strict=True)]
    return [word for word in words if word.bare]


def _shared(item: Sequence[Word], copied: Sequence[Word]) -> list[int]:
    """Which words of the item the copy has, ascending."""
    matcher = SequenceMatcher(
        None, [w.bare for w in item], [w.bare for w in copied], autojunk=False
    )
    return [block.a + n for block in matcher.get_matching_blocks() for n in range(block.size)]


def _last_alike(item: Sequence[Word], others: Sequence[Word]) -> int:
    """How many words there are up to the last that is the same in both at its place."""
    alike = [n for n, (a, b) in enumerate(zip(item, others, strict=False), 1) if a.bare == b.bare]
    return alike[-1] if alike else 0


def _spans(words: Sequence[Word], shared: Sequence[int]) -> tuple[Span, ...]:
    """Words that follow one another are one span."""
    spans: list[Span] = []
    for last, n in zip([-2, *shared], shared, strict=False):
        start = spans.pop()[0] if n == last + 1 else words[n].start
        spans.append((start, words[n].end))
    return tuple(spans)
