"""The overlap analysis, slowly: every item of a benchmark looked for in every document."""

from tests.reference.overlap import gram_words, hits, item_index


def analysis(docs, texts, items, ngram, n_items, ignored=()):
    """Of each item: its status, the share of its n-grams found, and {doc: share} of documents.

    texts, items: texts to match and the item of each; one benchmark.
    ignored: n-grams that count for nothing.
    """
    made = []
    for item in range(n_items):
        own = [t for t, i in zip(texts, items, strict=True) if i == item]
        lengths = [len(gram_words(t)) for t in own]
        longest = max(lengths, default=0)
        least = [8] * len(own)
        if 0 < longest < 8:
            least[lengths.index(longest)] = 3
        grams = item_index(own, [0] * len(own), [ngram] * len(own), least).keys() - ignored
        by_doc = {}
        for d, doc in enumerate(docs):
            found = {hit[1] for hit in hits([doc], dict.fromkeys(grams))}
            if found:
                by_doc[d] = found
        shares = {d: len(found) / len(grams) for d, found in by_doc.items()}
        frac = len(set().union(*by_doc.values())) / len(grams) if grams else 0.0
        status = "untestable" if longest < min(ngram, 8) else "dirty" if by_doc else "clean"
        made.append((status, frac, shares))
    return made


def shares(docs, rows, ngram):
    """Of each item its greatest share in a document: of its own n-grams, or of all it has.

    rows: of one benchmark, (question, other field) each; no text is a context, none under 8 words.
    """
    texts = [[question, other, f"{question}\n{other}"] for question, other in rows]
    found = []
    for fields in texts:
        shares_of = []
        for kind, text in enumerate(fields):
            alike = {t[k] for t in texts for k in ([2] if kind == 2 else [0, 1])}
            grams = _grams(text, ngram)
            have = {g: sum(g in _grams(t, ngram) for t in alike) for g in grams}
            own = {g for g, n in have.items() if n == 1} or {g for g, n in have.items() if n <= 10}
            is_alike = all(n > 1 for n in have.values())
            for doc in docs:
                share = len(own & _grams(doc, ngram)) / len(own) if own else 0.0
                shares_of.append(float(share == 1) if is_alike else share)
        found.append(max(shares_of, default=0.0))
    return found


def best_explained(copies, benchmark_of, dirty, passage_of=None):
    """The copies of which no half is a better one of another item of the benchmark.

    copies: (document, item, containment, start, end).  dirty: items that win of equal ones.
    passage_of: of items that are mostly a passage which one it is, where all of both is copied.
    """
    passage_of = passage_of or {}

    def explains(other, copy):
        common = min(other[4], copy[4]) - max(other[3], copy[3])
        better = (other[2], other[1] in dirty) > (copy[2], copy[1] in dirty)
        if copy[1] in passage_of and passage_of[copy[1]] == passage_of.get(other[1]):
            return False
        return better and 2 * common >= copy[4] - copy[3]

    def place(copy):
        return copy[0], benchmark_of(copy[1])

    return [c for c in copies if not any(place(o) == place(c) and explains(o, c) for o in copies)]


def _grams(text, ngram):
    words = [w.text for w in gram_words(text)]
    return {tuple(words[i : i + ngram]) for i in range(len(words) - ngram + 1)}
