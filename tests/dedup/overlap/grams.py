"""N-grams of an index as words, to be compared with those of a reference."""

from tokenmill.dedup.overlap.find import find


def gram_texts(grams, index, texts):
    """The words of each n-gram where it first stands in the texts, with single spaces."""
    hits, sources, words = find(texts, index), texts.to_pylist(), {}
    for doc, gram, start, end in zip(hits.docs, hits.grams, hits.starts, hits.ends, strict=True):
        part = sources[doc].encode()[start:end].decode()
        words.setdefault(int(gram), " ".join(part.split()))
    return [words[int(gram)] for gram in grams]
