"""What the libraries that tokenmill itself stands on do by themselves."""

import gzip
import hashlib
import io
import json
import string

import isal.igzip
import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pajson
import pyarrow.parquet as pq
import xxhash
import zstandard

DIGESTS = 5_000_000
NGRAM = 13
PUNCTUATION = str.maketrans("", "", string.punctuation)


def texts_of(part):
    return pq.read_table(part / "docs.parquet")["text"].to_pylist()


def gzip_json(part, scratch):
    def work():
        with gzip.open(part / "docs.jsonl.gz") as lines:
            return {"docs": len([json.loads(line)["text"] for line in lines])}

    return work


def igzip_orjson(part, scratch):
    def work():
        with isal.igzip.open(part / "docs.jsonl.gz") as lines:
            return {"docs": len([orjson.loads(line)["text"] for line in lines])}

    return work


def igzip_arrow(part, scratch):
    def work():
        with isal.igzip.open(part / "docs.jsonl.gz") as stream:
            return {"docs": pajson.read_json(stream).num_rows}

    return work


def zstd_orjson(part, scratch):
    def work():
        with (part / "docs.jsonl.zst").open("rb") as file:
            lines = io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(file))
            return {"docs": len([orjson.loads(line)["text"] for line in lines])}

    return work


def read_parquet(part, scratch):
    return lambda: {"docs": pq.read_table(part / "docs.parquet").num_rows}


def nfc(part, scratch):
    text = pq.read_table(part / "docs.parquet")["text"]
    return lambda: {"docs": len(pc.utf8_normalize(text, "NFC"))}


def md5(part, scratch):
    texts = texts_of(part)
    return lambda: {"docs": len([hashlib.md5(t.encode()).digest() for t in texts])}


def xxh3(part, scratch):
    texts = texts_of(part)
    return lambda: {"docs": len([xxhash.xxh3_128_digest(t.encode()) for t in texts])}


def drawn(scratch):
    n = 1000 if "warm" in scratch.name else DIGESTS
    first = np.random.default_rng(0).integers(0, DIGESTS, DIGESTS, np.uint64)[:n]
    return np.column_stack([first * np.uint64(0x9E3779B97F4A7C15), first])


def first_numpy(part, scratch):
    table = drawn(scratch)

    def work():
        pairs = np.ascontiguousarray(table).view([("high", np.uint64), ("low", np.uint64)])[:, 0]
        return {"docs": len(table), "kept": len(np.unique(pairs, return_index=True)[1])}

    return work


def first_arrow(part, scratch):
    table = drawn(scratch)
    rows = pa.table({"high": table[:, 0], "low": table[:, 1], "row": np.arange(len(table))})

    def work():
        grouped = rows.group_by(["high", "low"], use_threads=False).aggregate([("row", "min")])
        return {"docs": len(table), "kept": grouped.num_rows}

    return work


def first_dict(part, scratch):
    keys = [row.tobytes() for row in drawn(scratch)]

    def work():
        seen = {}
        return {"docs": len([seen.setdefault(k, i) for i, k in enumerate(keys)]), "kept": len(seen)}

    return work


def grams(text):
    words = text.lower().translate(PUNCTUATION).split()
    return {" ".join(words[i : i + NGRAM]) for i in range(len(words) - NGRAM + 1)}


def overlap_set(part, scratch):
    wanted = set()
    for line in (part / "benchmark.jsonl").open(encoding="utf-8"):
        wanted |= grams(json.loads(line)["question"])
    texts = texts_of(part)
    return lambda: {"removed": sum(not wanted.isdisjoint(grams(text)) for text in texts)}


STEPS = {
    "gzip and json": gzip_json,
    "igzip and orjson": igzip_orjson,
    "igzip and pyarrow.json": igzip_arrow,
    "zstd and orjson": zstd_orjson,
    "read parquet": read_parquet,
    "nfc": nfc,
    "md5": md5,
    "xxh3": xxh3,
    "first: numpy": first_numpy,
    "first: pyarrow": first_arrow,
    "first: dict": first_dict,
    "overlap": overlap_set,
}
