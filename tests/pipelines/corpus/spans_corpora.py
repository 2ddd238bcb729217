"""Corpora of documents that repeat each other, and the corpus-wide phases run on them alone."""

from hypothesis import strategies as st

from tests.pipelines.keyed import part_of
from tests.running import one_by_one
from tests.strategies import document_batch
from tokenmill.pipelines.core.ledger import StageStats
from tokenmill.pipelines.corpus.passes import corpus_wide
from tokenmill.pipelines.corpus.spans.apply import without_spans
from tokenmill.pipelines.corpus.spans.settings import FOUND_SPANS
from tokenmill.pipelines.prepare.job import PrepareJob
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.runs.drive import drive
from tokenmill.pipelines.runs.folder import FILTERED
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Finished
from tokenmill.pipelines.storage.files import arrow_file, open_arrow

PHRASES = ["a b c d", "b c d e f", "c d e", "x Y z, w v!", "Y z w. (v) u", "İstanbul ΣΑΣ 東京", "k"]
SPACES = [" ", "\n", "\n\n", " - ", ".  "]


@st.composite
def texts(draw):
    """A document of phrases, of which other documents have some too."""
    parts = draw(st.lists(st.tuples(st.sampled_from(PHRASES), st.sampled_from(SPACES)), max_size=8))
    text = "".join(phrase + space for phrase, space in parts)
    return draw(st.sampled_from([text, text.strip(), f"“{text}", "", " \n"]))


corpora = st.lists(st.lists(texts(), max_size=4), min_size=1, max_size=4)


def job_of(out, steps, budget="4GiB", workers=1):
    recipe = {
        "inputs": [{"path": "docs.jsonl"}],
        "steps": list(steps),
        "tokenizer": {"path": "tokenizer.json"},
        "run": {"memory_budget": budget, "workers": workers},
    }
    return PrepareJob(out=out, recipe=make_recipe(recipe, where="test"), identity="test")


def batches_of(shard, texts, size):
    """Documents as they lie between two passes: `size` a batch, none of none."""
    whole = document_batch(texts, shard)
    return [whole.slice(at, size) for at in range(0, len(texts), size)]


def find(job, shards, *, batch=2):
    """Run the corpus-wide phases on shards of texts; the receipts by step."""
    steps, made = job.recipe.steps, []
    for shard, texts in enumerate(shards):
        key = f"{shard:05d}"
        batches = batches_of(shard, texts, batch)
        path = job.path(FILTERED, key=key)
        with arrow_file(path, document_batch([]).schema, compression="lz4") as written:
            for documents in batches:
                written.write_batch(documents)
        n, n_bytes = len(texts), sum(len(text.encode()) for text in texts)
        stats = StageStats(docs_in=n, docs_out=n, bytes_in=n_bytes, bytes_out=n_bytes)
        made.append(Receipt(step="pass-0", key=key, inputs="", stats=(("read", stats),)))
    finished = Finished()
    drive(job, corpus_wide(job, part_of(steps[-1:]), made, finished), one_by_one)
    by_step = {}
    for receipt in finished.receipts:
        by_step.setdefault(receipt.step, []).append(receipt)
    return by_step


def found_in(job, shard):
    """What was found of a shard, a batch for each of documents."""
    return open_arrow(job.path(FOUND_SPANS, key=f"{shard:05d}"))[0]


def taken(job, shards, *, batch=2):
    """What the step makes of the shards: [Applied] of all batches, in order."""
    step, made = job.recipe.steps[-1], []
    for shard, texts in enumerate(shards):
        batches = batches_of(shard, texts, batch)
        pairs = zip(batches, found_in(job, shard), strict=True)
        made += [without_spans(step, *both) for both in pairs]
    return made


def left(made):
    """{doc_id: text} of what is kept."""
    return {
        doc_id: text
        for one in made
        for doc_id, text in zip(
            one.result.kept["doc_id"].to_pylist(), one.result.kept["text"].to_pylist(), strict=True
        )
    }
