"""Items of a benchmark made from templates: how many that were not planted are told dirty.

    python -m tests.bench.templates --benchmark bbh=FOLDER/bbh [--plant 433]

Questions drawn from the benchmark are planted verbatim, each in a document of the sample data by
itself, beside all of these documents as they are; then what the two verdicts tell.
"""

import argparse
import random
import sys

import numpy as np

from tests.conftest import SHARED_DATA
from tests.pipelines.contamination.planting import fitting, read_documents
from tests.strategies import document_batch
from tokenmill.dedup.arrays import I64
from tokenmill.pipelines.contamination.check import analysis_by
from tokenmill.pipelines.contamination.found import count_corpus, search
from tokenmill.pipelines.contamination.index import BenchmarkIndex, Matching
from tokenmill.pipelines.contamination.items.spec import QUESTION, parse_benchmark

SEED = 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--benchmark", required=True)
    parser.add_argument("--plant", type=int, default=433)
    options = parser.parse_args()
    matching = Matching(benchmarks=(parse_benchmark(options.benchmark),))
    index, draw = BenchmarkIndex.build(matching), random.Random(SEED)
    hosts = fitting(read_documents(SHARED_DATA))
    of_question = np.flatnonzero(index.texts.roles == QUESTION)
    questions = dict(
        zip(index.texts.items[of_question].tolist(), of_question.tolist(), strict=True)
    )
    chosen = draw.sample(sorted(questions), options.plant)
    documents = [planted(index, questions[item], hosts, draw) for item in chosen]
    found = search(document_batch([*documents, *hosts]), index, "web")
    counts = count_corpus([found], len(index.ngrams.hashes))
    write(f"{options.plant} of {len(questions):,} items, {len(documents + hosts):,} documents")
    for verdict in ("gpt3", 0.5):
        analysis, _ = analysis_by(index, counts, verdict)
        analysis.add(found)
        dirty: I64 = np.flatnonzero(analysis.item_docs)
        right = len(np.intersect1d(dirty, chosen))
        status = np.bincount(analysis.status()[chosen], minlength=5)
        write(
            f"{verdict}: {len(dirty):,} dirty, {right} of them planted: precision"
            f" {share(right, len(dirty))}, recall {share(right, len(chosen))}; of the planted"
            f" {status[0]} clean, {status[2]} not testable, {status[3]} in part,"
            f" {status[4]} only with context"
        )


def planted(index: BenchmarkIndex, text: int, hosts: list[str], draw: random.Random) -> str:
    host = draw.choice(hosts)
    at = host.find(" ", draw.randrange(len(host)))
    return f"{host[:at]}\n\n{index.texts.texts[text].as_py()}\n\n{host[at:]}"


def share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "of none"


def write(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
