"""datasketch, rensa and daft: MinHash and LSH; and the fastest chain wired of such parts."""

import os
from functools import cache

import awkward as ak
import daft
import datasketch
import gigatoken
import isal.igzip
import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import rensa
from daft.functions import minhash

PERMUTATIONS, NGRAM, BANDS, ROWS = 112, 5, 14, 8
THRESHOLD = 0.7
CHUNK_DOCS = 4096


def texts_of(part):
    return pq.read_table(part / "docs.parquet")["text"].to_pylist()


def short_of(part, scratch, share=1):
    lines = (part / "short.txt").read_text("utf-8").split("\n")
    return lines[: len(lines) // (100 if scratch.name == "warm" else share)]


def shingles(text):
    words = text.lower().split()
    return {" ".join(words[i : i + NGRAM]) for i in range(max(len(words) - NGRAM + 1, 1))}


def with_datasketch(texts):
    made = []
    for text in texts:
        one = datasketch.MinHash(num_perm=PERMUTATIONS, scheme="affine32")
        one.update_batch([s.encode() for s in shingles(text)])
        made.append(one)
    return made


def with_rensa(texts):
    sets = [shingles(text) for text in texts]
    return rensa.RMinHash.digest_matrix_from_token_sets(sets, PERMUTATIONS, 1)


def with_daft(column):
    """(n_docs, PERMUTATIONS) uint32 of a pyarrow column, lower-cased and split at spaces."""
    frame = daft.from_arrow(pa.table({"text": column}))
    made = frame.select(
        minhash(
            daft.col("text").lower(),
            num_hashes=PERMUTATIONS,
            ngram_size=NGRAM,
            hash_function="xxhash",
        )
    ).to_arrow()
    slots = made.column(0).combine_chunks().flatten()
    return slots.to_numpy(zero_copy_only=False).reshape(-1, PERMUTATIONS)


def sign_datasketch(part, scratch):
    texts = texts_of(part)
    return lambda: {"docs": len(with_datasketch(texts))}


def sign_rensa(part, scratch):
    texts = texts_of(part)

    def work():
        for at in range(0, len(texts), CHUNK_DOCS):
            with_rensa(texts[at : at + CHUNK_DOCS])
        return {"docs": len(texts)}

    return work


def sign_daft(part, scratch):
    column = pq.read_table(part / "docs.parquet")["text"]
    return lambda: {"docs": len(with_daft(column))}


def group_datasketch(part, scratch):
    made = with_datasketch(short_of(part, scratch, 5))

    def work():
        index = datasketch.MinHashLSH(num_perm=PERMUTATIONS, params=(BANDS, ROWS))
        kept = 0
        for i, one in enumerate(made):
            kept += not index.query(one)
            index.insert(i, one)
        return {"docs": len(made), "kept": kept}

    return work


def group_rensa(part, scratch):
    lines = short_of(part, scratch)
    matrix = with_rensa(lines)

    def work():
        index = rensa.RMinHashLSH(THRESHOLD, PERMUTATIONS, BANDS)
        flags = index.insert_matrix_and_query_duplicate_flags(matrix)
        return {"docs": len(lines), "kept": len(lines) - sum(flags)}

    return work


class Firsts:
    """Which documents are the first with each of their bands: no clusters, no check of pairs."""

    def __init__(self):
        self.seen = [set() for _ in range(BANDS)]

    def keep(self, signed):
        rows = np.ascontiguousarray(signed[:, : BANDS * ROWS]).reshape(-1, BANDS, ROWS)
        kept = np.ones(len(signed), bool)
        for band, seen in enumerate(self.seen):
            keys = np.ascontiguousarray(rows[:, band]).view(f"V{ROWS * 4}")[:, 0].tolist()
            for i, key in enumerate(keys):
                if key in seen:
                    kept[i] = False
                else:
                    seen.add(key)
        return kept


@cache
def loaded(path):
    return gigatoken.Tokenizer(path)


def chain(sign):
    """JSONL.gz, MinHash, first of each band, gigatoken, Arrow stream; a chunk at a time."""

    def make(part, scratch):
        tokenizer = loaded(os.environ["BENCH_TOKENIZER"])
        end = int(os.environ["BENCH_EOS_ID"])
        schema = pa.schema([("input_ids", pa.large_list(pa.uint16())), ("id", pa.string())])

        def work():
            counts = {"docs": 0, "kept": 0, "tokens": 0}
            firsts = Firsts()
            with pa.ipc.new_stream(str(scratch / "ids.arrow"), schema) as out:
                for ids, texts in chunks(part / "docs.jsonl.gz"):
                    keep = pa.array(firsts.keep(sign(texts)))
                    kept = texts.filter(keep)
                    lists = encoded(tokenizer, kept, end)
                    out.write_batch(pa.record_batch([lists, ids.filter(keep)], schema=schema))
                    counts["docs"] += len(texts)
                    counts["kept"] += len(kept)
                    counts["tokens"] += len(lists.values)
            return counts

        return work

    return make


def chunks(path):
    with isal.igzip.open(path) as lines:
        rows = []
        for line in lines:
            rows.append(orjson.loads(line))
            if len(rows) == CHUNK_DOCS:
                yield columns(rows)
                rows = []
        if rows:
            yield columns(rows)


def columns(rows):
    texts = pa.array([r["text"] for r in rows], pa.large_string())
    return pa.array([r["id"] for r in rows]), texts


def encoded(tokenizer, texts, end):
    """Lists of uint16 ids, each with the end token; the arrays are never Python objects."""
    lists = ak.to_packed(tokenizer.encode_batch(ak.from_arrow(texts), parallel=False))
    counts = ak.to_numpy(ak.num(lists))
    flat = ak.to_numpy(ak.flatten(lists)).astype(np.uint16)
    ends = np.cumsum(counts)
    ids = np.insert(flat, ends, end)
    offsets = np.concatenate(([0], ends + np.arange(1, len(ends) + 1)))
    return pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(ids))


def rensa_signatures(texts):
    # the matrix has no way out as an array: its rows are asked for one by one
    made = rensa.RMinHash.digests_from_token_sets(
        [shingles(t) for t in texts.to_pylist()], PERMUTATIONS, 1
    )
    return np.array(made, np.uint32)


STEPS = {
    "sign: datasketch": sign_datasketch,
    "sign: rensa": sign_rensa,
    "sign: daft": sign_daft,
    "group: datasketch": group_datasketch,
    "group: rensa": group_rensa,
    "run: daft": chain(with_daft),
    "run: rensa": chain(rensa_signatures),
}
