"""The phases of the corpus-wide steps behind a pass, each of independent works.

No work is told of all shards: `rows` sets them down for the others. How many groups and ranges
there are follows from the documents alone, so that every runner does the same works.
"""

from collections.abc import Sequence

from tokenmill.pipelines.core.config import digest_of
from tokenmill.pipelines.corpus.rows import write_rows
from tokenmill.pipelines.corpus.step import Chain, Pass, Size
from tokenmill.pipelines.runs.folder import RunFolder
from tokenmill.pipelines.runs.receipt import Receipt
from tokenmill.pipelines.runs.work import Finished, Phases


def corpus_wide(
    run: RunFolder, part: Pass, made: Sequence[Receipt], finished: Finished
) -> Phases[str]:
    """The corpus-wide steps behind a pass; return a digest of all they found.

    made: the receipts of the pass, in order of the shards.
    """
    inputs = digest_of([run.identity, *(receipt.digest for receipt in made)])
    chain = Chain(part, made, finished, inputs)
    keys = tuple(receipt.key for receipt in made)
    docs = tuple(receipt.stats[-1][1].docs_out for receipt in made)
    rows = yield from chain.phase("rows", "rows", write_rows, {"all": (keys, docs)})
    size = Size(**rows["all"].facts)
    for step in part.after:
        yield from step.phases(chain, size)
    return chain.inputs
