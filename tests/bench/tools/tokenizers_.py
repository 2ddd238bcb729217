"""tokenizers, tiktoken, gigatoken: text to ids; and `datasets.map`: to disk."""

import json
import os
from functools import cache

import awkward as ak
import datasets
import gigatoken
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tiktoken
import tokenizers

datasets.disable_progress_bars()
GPT2_SPLIT = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
PATH = os.environ["BENCH_TOKENIZER"]
BATCH = 256


def columns(part):
    return pq.read_table(part / "docs.parquet")["text"].combine_chunks().cast(pa.large_string())


def batches(texts):
    return [texts[at : at + BATCH] for at in range(0, len(texts), BATCH)]


@cache
def reference():
    """Loaded once, as every engine here: what it has learned of common words stays with it."""
    return tokenizers.Tokenizer.from_file(PATH)


@cache
def fast():
    return gigatoken.Tokenizer(PATH)


@cache
def tiktokens():
    return tiktoken.Encoding(
        "bench", pat_str=GPT2_SPLIT, mergeable_ranks=ranks(), special_tokens={}
    )


def with_tokenizers(part, scratch):
    tokenizer = reference()
    texts = batches(columns(part).to_pylist())

    def work():
        tokens = 0
        for batch in texts:
            tokens += sum(len(e.ids) for e in tokenizer.encode_batch_fast(batch))
        return {"tokens": tokens}

    return work


def with_tiktoken(part, scratch):
    encoding = tiktokens()
    texts = columns(part).to_pylist()

    def work():
        return {"tokens": sum(len(encoding.encode_ordinary(text)) for text in texts)}

    return work


def ranks():
    """What tiktoken needs of a byte-level vocabulary: bytes and their rank."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    byte_of = {chr(b): b for b in plain} | {chr(256 + i): b for i, b in enumerate(others)}
    with open(PATH, encoding="utf-8") as file:
        whole = json.load(file)
    added = {token["content"] for token in whole["added_tokens"]}
    vocabulary = {t: i for t, i in whole["model"]["vocab"].items() if t not in added}
    return {bytes(byte_of[c] for c in token): i for token, i in vocabulary.items()}


def with_gigatoken(part, scratch):
    tokenizer = fast()
    texts = batches(columns(part))

    def work():
        tokens = 0
        for batch in texts:
            made = tokenizer.encode_batch(ak.from_arrow(batch), parallel=False)
            tokens += int(ak.count(made))
        return {"tokens": tokens}

    return work


def gigatoken_to_disk(part, scratch):
    tokenizer = fast()
    texts = batches(columns(part))
    schema = pa.schema([("input_ids", pa.large_list(pa.uint16()))])

    def work():
        tokens = 0
        with pa.ipc.new_stream(str(scratch / "ids.arrow"), schema) as out:
            for batch in texts:
                made = ak.to_packed(tokenizer.encode_batch(ak.from_arrow(batch), parallel=False))
                ids = ak.to_numpy(ak.flatten(made)).astype(np.uint16)
                ends = np.cumsum(ak.to_numpy(ak.num(made)), dtype=np.int64)
                offsets = pa.array(np.concatenate(([0], ends)))
                lists = pa.LargeListArray.from_arrays(offsets, pa.array(ids))
                out.write_batch(pa.record_batch([lists], schema=schema))
                tokens += len(ids)
        return {"tokens": tokens}

    return work


def datasets_map(part, scratch):
    tokenizer = reference()
    texts = datasets.Dataset.from_dict({"text": columns(part).to_pylist()})

    def encode(batch):
        return {"input_ids": [e.ids for e in tokenizer.encode_batch_fast(batch["text"])]}

    def work():
        made = texts.map(
            encode,
            batched=True,
            remove_columns=["text"],
            cache_file_name=str(scratch / "ids.arrow"),
            new_fingerprint="bench",
        )
        return {"tokens": len(made.data.column("input_ids").combine_chunks().flatten())}

    return work


STEPS = {
    "encode: tokenizers": with_tokenizers,
    "encode: tiktoken": with_tiktoken,
    "encode: gigatoken": with_gigatoken,
    "to disk: gigatoken": gigatoken_to_disk,
    "to disk: datasets.map": datasets_map,
}
