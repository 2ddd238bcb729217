"""datatrove: its filters, readers, MinHash in four stages, n-gram filter and tokens."""

import contextlib
import json
import os
import sys

import numpy as np
from datatrove.data import Document
from datatrove.pipeline.decont.n_grams import NGramsDecontConfig, NGramsDecontFilter
from datatrove.pipeline.dedup.minhash import (
    MinhashConfig,
    MinhashDedupBuckets,
    MinhashDedupCluster,
    MinhashDedupFilter,
    MinhashDedupSignature,
)
from datatrove.pipeline.filters import (
    C4QualityFilter,
    FineWebQualityFilter,
    GopherQualityFilter,
    GopherRepetitionFilter,
)
from datatrove.pipeline.formatters.pii import PIIFormatter
from datatrove.pipeline.readers import JsonlReader, ParquetReader
from datatrove.pipeline.tokens import DocumentTokenizer
from datatrove.utils.hashing import create_hash_func
from datatrove.utils.logging import logger
from datatrove.utils.text import ngrams, simplify_text
from datatrove.utils.word_tokenizers import WordTokenizer, load_word_tokenizer

logger.remove()
logger.add(sys.stderr, level="ERROR")


class Whitespace(WordTokenizer):
    """`str.split()`: datatrove takes it in place of a language."""

    def word_tokenize(self, text):
        return text.split()

    def sent_tokenize(self, text):
        return [text[a:b] for a, b in self.span_tokenize(text)]

    def span_tokenize(self, text):
        ends = [i + 1 for i, c in enumerate(text) if c in ".!?"]
        ends += [] if ends[-1:] == [len(text)] else [len(text)]
        return list(zip([0, *ends[:-1]], ends, strict=True))


WORDS = {"spacy": "eng", "whitespace": Whitespace()}
FILTERS = {
    "c4": C4QualityFilter,
    "gopher_quality": GopherQualityFilter,
    "gopher_repetition": GopherRepetitionFilter,
    "fineweb": FineWebQualityFilter,
}
WORD_FILTERS = ("gopher_repetition", "gopher_quality", "fineweb")
MINHASH = MinhashConfig(n_grams=5, num_buckets=14, hashes_per_bucket=8)
NGRAMS = NGramsDecontConfig(n_grams=13)


def documents(part):
    return [
        Document(text=d["text"], id=d["id"])
        for d in map(json.loads, (part / "docs.jsonl").open(encoding="utf-8"))
    ]


def drained(steps, rank=0):
    """Run steps one behind the other, as an executor of one task does; count what comes out."""
    data = None
    for step in steps:
        data = step.run(data, rank, 1) if data is not None else step.run(rank=rank, world_size=1)
    return sum(1 for _ in data) if data is not None else 0


def read_jsonl(part, scratch):
    reader = JsonlReader(str(part), glob_pattern="docs.jsonl.gz", compression="gzip")
    return lambda: {"docs": drained([reader])}


def read_parquet(part, scratch):
    reader = ParquetReader(str(part), glob_pattern="docs.parquet")
    return lambda: {"docs": drained([reader])}


def filtered(words, *names):
    def make(part, scratch):
        chain = [FILTERS[name](language=WORDS[words]) for name in names]
        found = documents(part)

        def work():
            data = iter(found)
            for step in chain:
                data = step.run(data)
            return {"docs": len(found), "kept": sum(1 for _ in data)}

        return work

    return make


def masked(part, scratch):
    found = documents(part)

    def work():
        return {"docs": sum(1 for _ in PIIFormatter().run(iter(found)))}

    return work


def signed(documents, folder, words):
    step = MinhashDedupSignature(str(folder), config=MINHASH, language=WORDS[words])
    step.run(iter(documents))


def sign(words):
    def make(part, scratch):
        found = documents(part)

        def work():
            signed(found, scratch / "signatures", words)
            return {"docs": len(found)}

        return work

    return make


def grouped(scratch):
    """Stages two and three: buckets and clusters."""
    for bucket in range(MINHASH.num_buckets):
        MinhashDedupBuckets(
            str(scratch / "signatures"), str(scratch / "buckets"), config=MINHASH
        ).run(rank=bucket, world_size=MINHASH.num_buckets)
    MinhashDedupCluster(str(scratch / "buckets"), str(scratch / "remove"), config=MINHASH).run()


def group(part, scratch):
    lines = (part / "short.txt").read_text("utf-8").split("\n")
    lines = lines[: len(lines) // (50 if scratch.name == "warm" else 5)]
    found = [Document(text=line, id=str(i)) for i, line in enumerate(lines)]
    signed(found, scratch / "signatures", "whitespace")

    def work():
        grouped(scratch)
        return {"docs": len(found)}

    return work


def decontamination(part, scratch, words, config):
    """The index is written as its indexer would, which needs another package for its tasks."""
    split = load_word_tokenizer(WORDS[words]).word_tokenize
    hash_of = create_hash_func(config.hash_config)
    hashes = set()
    for line in (part / "benchmark.jsonl").open(encoding="utf-8"):
        tokens = split(simplify_text(json.loads(line)["question"], config.norm_config))
        hashes |= {hash_of(" ".join(gram)) for gram in ngrams(tokens, config.n_grams)}
    kind = np.dtype(config.hash_config.np_descr)
    np.array(sorted(hashes), kind).tofile(scratch / "items.index.hashes")
    return NGramsDecontFilter(str(scratch), config=config, language=WORDS[words])


def overlap(words):
    def make(part, scratch):
        step = decontamination(part, scratch, words, NGRAMS)
        found = documents(part)

        def work():
            kept = sum(1 for _ in step.run(iter(found)))
            return {"docs": len(found), "removed": len(found) - kept}

        return work

    return make


def found(ngram):
    """Which documents it drops, with whitespace words."""

    def make(part, scratch):
        config = NGramsDecontConfig(n_grams=ngram)
        step = decontamination(part, scratch, "whitespace", config)
        given = documents(part)

        def work():
            kept = {document.id for document in step.run(iter(given))}
            return {"told": [i for i, d in enumerate(given) if d.id not in kept]}

        return work

    return make


def tokenizer(folder):
    step = DocumentTokenizer(
        str(folder),
        tokenizer_name_or_path=os.environ["BENCH_TOKENIZER"],
        eos_token=os.environ["BENCH_EOS"],
        shuffle_documents=False,
    )
    step.tokenizer.get_vocab_size()  # loads it, which is not what is measured
    return step


def tokenize(part, scratch):
    found = documents(part)
    step = tokenizer(scratch / "tokens")

    def work():
        step.run(iter(found))
        return {"tokens": stat(step, "tokens")}

    return work


def stat(step, name):
    with contextlib.suppress(KeyError, AttributeError):
        return int(step.stats.stats[name].total)
    return None


def whole(words):
    """Filters and signatures; buckets; clusters; then what they leave, to tokens."""

    def make(part, scratch):
        reader = {"glob_pattern": "docs.jsonl.gz", "compression": "gzip"}
        step = tokenizer(scratch / "tokens")

        def chain():
            filters = [FILTERS[name](language=WORDS[words]) for name in WORD_FILTERS]
            data = JsonlReader(str(part), **reader).run()
            for each in filters:
                data = each.run(data)
            return data

        def work():
            kept = list(chain())  # its examples write them to disk and read them again
            signed(kept, scratch / "signatures", words)
            grouped(scratch)
            left = MinhashDedupFilter(str(scratch / "remove")).run(iter(kept), 0, 1)
            step.run(left)
            return {"kept before duplicates": len(kept), "tokens": stat(step, "tokens")}

        return work

    return make


def for_words(words):
    name = f"({words})"
    return {
        **{f"{key} {name}": filtered(words, key) for key in FILTERS},
        f"word filters {name}": filtered(words, *WORD_FILTERS),
        f"sign {name}": sign(words),
        f"overlap {name}": overlap(words),
        f"run {name}": whole(words),
    }


STEPS = {
    "read jsonl.gz": read_jsonl,
    "read parquet": read_parquet,
    "pii": masked,
    "group": group,
    "tokenize": tokenize,
    "found 13": found(13),
    "found 8": found(8),
    **for_words("spacy"),
    **for_words("whitespace"),
}
