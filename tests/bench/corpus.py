"""The corpus: real text in a seeded order, then the same text again with words replaced.

A part of N MB is the first N MB of one endless sequence of documents, so that a slow
tool's part is the beginning of a fast tool's. Each is a folder:

    docs.jsonl  docs.jsonl.gz  docs.jsonl.zst  docs.parquet     {"id", "text"}
    benchmark.jsonl    items to look for    {"question"}
    short.txt          a short document a line, for steps whose unit is the document
    info.json          documents, bytes of text
"""

import gzip
import itertools
import json
import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.prepare.demo import found_inputs
from tokenmill.pipelines.read.options import Limits
from tokenmill.pipelines.read.plan import plan_inputs
from tokenmill.pipelines.read.readers import read_shard

VERSION = 1  # raise it when a part would come out otherwise: older ones are made again
SEED = 20
PROSE = ("licences", "descriptions", "readmes", "stdlib")  # of what the demo finds
SHARED = ("docs_*.jsonl.gz", "c4_sample*/**/*.json.gz")
WIKITEXT = "wikitext2/**/*.txt"
ARTICLE = re.compile(r"(?m)^ = [^=\n]+ = $")
WRAPPED = re.compile(r"(?<=[\w,;])\n(?=[a-z(])")  # a line broken within a sentence
LEAST_BYTES, MOST_BYTES = 200, 60_000
EXACT_SHARE, NEAR_SHARE = 0.03, 0.07  # of the documents made: copies, and copies a little changed
NEAR_RATE, OTHER_RATE = 0.01, 0.2  # words replaced
ITEMS, LEAKED_ITEMS, ITEM_WORDS, ITEM_RATE = 10_000, 100, 70, 0.5
SHORT_DOCS, SHORT_WORDS = 100_000, 24


def part(cache: Path, mb: float, data: Path) -> Path:
    """The folder of the first `mb` megabytes; made if it is not there."""
    folder = cache / f"v{VERSION}-{mb:g}MB"
    if not (folder / "info.json").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        texts = list(first_bytes(int(mb * 1e6), data))
        write_documents(folder, texts)
        write_benchmark(folder / "benchmark.jsonl", originals(data))
        write_short(folder / "short.txt", originals(data))
        info = {"docs": len(texts), "text_bytes": sum(len(t.encode()) for t in texts)}
        info["real_bytes"] = min(sum(len(t.encode()) for t in originals(data)), info["text_bytes"])
        (folder / "info.json").write_text(json.dumps(info))
    return folder


def first_bytes(size: int, data: Path) -> Iterator[str]:
    made = 0
    for text in documents(originals(data)):
        if made >= size:
            return
        made += len(text.encode())
        yield text


def documents(texts: tuple[str, ...]) -> Iterator[str]:
    """Each text once; then without end, each with words of the corpus put in."""
    yield from texts
    draw = random.Random(SEED)
    words = [w for text in texts[:2000] for w in text.split()]
    for text in itertools.cycle(texts):
        kind = draw.random()
        if kind < EXACT_SHARE:
            yield text
        else:
            rate = NEAR_RATE if kind < EXACT_SHARE + NEAR_SHARE else OTHER_RATE
            yield replaced(text, words, rate, draw)


def replaced(text: str, words: list[str], rate: float, draw: random.Random) -> str:
    """Put other words in the place of some; all whitespace stays."""
    pieces = re.split(r"(\s+)", text)
    at = range(0, len(pieces), 2)
    for i in draw.sample(at, int(len(at) * rate)):
        if pieces[i]:
            pieces[i] = draw.choice(words)
    return "".join(pieces)


@cache
def originals(data: Path) -> tuple[str, ...]:
    """Real documents: of installed packages, and of the folder `data` if it is there.

    Lines broken within a sentence are joined, as they are in text taken from the web:
    else the filters for web text would keep next to nothing.
    """
    found = [*packages(), *shared(data)]
    joined = [WRAPPED.sub(" ", text) for text in found]
    sized = [t for t in joined if LEAST_BYTES <= len(t.encode()) <= MOST_BYTES]
    random.Random(SEED).shuffle(sized)
    return tuple(sized)


def packages() -> list[str]:
    wanted = [Input(**i) for i in found_inputs() if i["source"] in PROSE]
    return list(texts_of(wanted))


def shared(data: Path) -> list[str]:
    inputs = [Input(path=str(p)) for pattern in SHARED for p in sorted(data.glob(pattern))]
    texts = list(texts_of(inputs)) if inputs else []
    for path in sorted(data.glob(WIKITEXT)):
        texts += ARTICLE.split(path.read_text(encoding="utf-8"))
    return texts


def texts_of(inputs: list[Input]) -> Iterator[str]:
    for shard in plan_inputs(tuple(inputs), 64_000_000).shards:
        for batch in read_shard(shard, limits=Limits()):
            yield from batch.documents["text"].to_pylist()


def write_documents(folder: Path, texts: list[str]) -> None:
    lines = [json.dumps({"id": str(i), "text": t}) + "\n" for i, t in enumerate(texts)]
    data = "".join(lines).encode()
    (folder / "docs.jsonl").write_bytes(data)
    (folder / "docs.jsonl.gz").write_bytes(gzip.compress(data, compresslevel=6, mtime=0))
    (folder / "docs.jsonl.zst").write_bytes(zstandard.compress(data, level=3))
    table = pa.table(
        {
            "id": [str(i) for i in range(len(texts))],
            "text": pa.chunked_array([pa.array(texts, pa.large_string())]),
        }
    )
    pq.write_table(table, folder / "docs.parquet", compression="zstd", row_group_size=10_000)


def write_benchmark(path: Path, texts: tuple[str, ...]) -> None:
    """Items of the length of a test question: some stand in the corpus, the others hardly do."""
    draw = random.Random(SEED)
    words = [w for text in texts[:2000] for w in text.split()]
    with path.open("w", encoding="utf-8") as file:
        for i in range(ITEMS):
            at = draw.randrange(max(len(words) - ITEM_WORDS, 1))
            item = " ".join(words[at : at + ITEM_WORDS])
            if i >= LEAKED_ITEMS:
                item = replaced(item, words, ITEM_RATE, draw)
            file.write(json.dumps({"question": item}) + "\n")


def write_short(path: Path, texts: tuple[str, ...]) -> None:
    """Runs of the corpus's words; in ten, one stands twice and one nearly twice."""
    draw = random.Random(SEED)
    words = [w for text in texts[:2000] for w in text.split()]
    made: list[str] = []
    while len(made) < SHORT_DOCS:
        at = draw.randrange(max(len(words) - SHORT_WORDS, 1))
        lines = [" ".join(draw.sample(words, SHORT_WORDS // 2) + words[at : at + SHORT_WORDS // 2])]
        if len(made) % 10 == 0:
            lines += [lines[0], replaced(lines[0], words, 0.05, draw)]
        made += lines
    path.write_text("\n".join(made[:SHORT_DOCS]), encoding="utf-8")


def train(texts: tuple[str, ...], vocab_size: int, end: str) -> Tokenizer:
    """A byte-level BPE, where no known tokenizer is at hand."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=[end], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer
