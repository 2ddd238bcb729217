"""Documents that a step found alike, as they came to it: those that a report shows.

receipts of a step: its largest clusters, pairs worth a look ── show, one work ── their texts
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tokenmill.pipelines.core.schema import ROW_BITS
from tokenmill.pipelines.corpus.rows import Corpus
from tokenmill.pipelines.corpus.step import Chain, Pass
from tokenmill.pipelines.runs.folder import FILTERED, KEYS, RunFolder
from tokenmill.pipelines.runs.work import Done, Finished, Phases
from tokenmill.pipelines.storage.files import open_arrow, open_batch, values

MOST_CHARS = 10_000  # of a text beside another
FIRST_CHARS = 200  # of one that is named alone
MOST_CLUSTERS = 6  # of which a pair is shown


def shown(run: RunFolder, parts: Sequence[Pass], finished: Finished, inputs: str) -> Phases[None]:
    """Set down the texts of documents that the report shows, as facts of a work a step.

    parts: the passes before the last.  inputs: digest of what they found.
    """
    for part in parts:
        for step in part.after:
            told = step.told(run, part.index, finished.receipts).get("duplicates", {})
            if whole := _wanted(told.get(step.name, {})):
                chain = Chain(part, (), finished, inputs)
                yield from chain.phase("shown", f"shown-{step.name}", show, {"all": (whole,)})


def _wanted(found: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    """Ids of documents to be shown, and how many characters of each."""
    pairs = [*found.get("closest", ()), *found.get("of_largest", ())[:MOST_CLUSTERS]]
    wanted = {doc_id: FIRST_CHARS for doc_id, _ in found.get("largest", ())}
    wanted |= {int(doc_id): MOST_CHARS for pair in pairs for doc_id in pair[:2]}
    return tuple(sorted(wanted.items()))


def show(run: RunFolder, part: Pass, wanted: tuple[tuple[int, int], ...]) -> Done:
    """Tell of documents, by their ids, the beginnings of their texts; not of earlier runs'."""
    corpus = Corpus(run, part)
    most = dict(wanted)
    ids = np.array([doc_id for doc_id, _ in wanted], np.uint64)
    documents = []
    held = set((ids >> np.uint64(ROW_BITS)).tolist())
    for key in filter(lambda key: corpus.ordinal(key) in held, corpus.shard_keys()):
        keyed = open_arrow(corpus.path(KEYS, key=key))[0]
        for number, keys in enumerate(keyed):
            here = np.flatnonzero(np.isin(values(keys, "doc_id"), ids))
            if not len(here):
                continue  # and nothing is unpacked of its texts
            batch = open_batch(corpus.path(FILTERED, key=key), number)
            rows = batch.select(["doc_id", "id", "text"]).take(pa.array(here))
            for row in rows.to_pylist():
                text = row["text"]
                documents.append({**row, "text": text[: most[row["doc_id"]]], "chars": len(text)})
    return Done(facts={"documents": documents})
