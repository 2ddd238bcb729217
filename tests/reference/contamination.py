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
