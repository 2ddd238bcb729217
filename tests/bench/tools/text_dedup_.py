"""text-dedup: its MinHash by document, and its command from JSONL.gz to a dataset on disk."""

import json
import os
import subprocess
import sys

import numpy as np
from text_dedup.minhash import embed_func
from text_dedup.utils import xxh3_32hash

PERMUTATIONS, NGRAM, BANDS, ROWS = 112, 5, 14, 8
PRIME = np.uint32((1 << 32) - 5)


def sign(part, scratch):
    texts = [json.loads(line)["text"] for line in (part / "docs.jsonl").open(encoding="utf-8")]
    draw = np.random.RandomState(42)
    size = (PERMUTATIONS,)
    given = {
        "num_perm": PERMUTATIONS,
        "ngram_size": NGRAM,
        "min_length": NGRAM,
        "hashranges": [(i * ROWS, (i + 1) * ROWS) for i in range(BANDS)],
        "permutations": (
            draw.randint(1, PRIME, size=size, dtype=np.uint32),
            draw.randint(0, PRIME, size=size, dtype=np.uint32),
        ),
        "hash_func": xxh3_32hash,
        "dtype": np.uint32,
        "max_hash": np.uint32((1 << 32) - 1),
        "modulo_prime": PRIME,
    }

    def work():
        return {"docs": len([embed_func(text, i, **given) for i, text in enumerate(texts)])}

    return work


def command(part, scratch):
    given = {
        "path": "json",
        "data_files": str(part / "docs.jsonl.gz"),
        "split": "train",
        "cache_dir": str(scratch / "cache"),
        "output": str(scratch / "out"),
        "num_proc": "1",
        "column": "text",
        "num_perm": str(PERMUTATIONS),
        "ngram": str(NGRAM),
        "b": str(BANDS),
        "r": str(ROWS),
        "hash_func": "xxh3",
        "hash_bits": "32",
    }
    options = [word for key, value in given.items() for word in (f"--{key}", value)]
    environment = {**os.environ, "HF_HOME": str(scratch / "home")}

    def work():
        ended = subprocess.run(
            [sys.executable, "-m", "text_dedup.minhash", *options],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        if ended.returncode:
            raise RuntimeError(ended.stderr[-500:])
        return {}

    return work


STEPS = {"sign": sign, "run": command}
