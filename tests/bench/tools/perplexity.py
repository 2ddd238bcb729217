"""Perplexities of an n-gram model of a corpus's own text: ours, and KenLM's loop over lines."""

import pyarrow as pa
import pyarrow.parquet as pq

from tests.bench.tools.ours import batches_of
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.filters.models.kenlm import KenlmModel
from tokenmill.pipelines.filters.models.ngram_model import save_model
from tokenmill.pipelines.filters.models.perplexity import Perplexity
from tokenmill.pipelines.train.lm.fit import save_arpa
from tokenmill.pipelines.train.lm.train import LmTraining, train

WORDS = 2_000_000


def fitted(part):
    """Of order 4, without trigrams and longer ones that occur once."""
    return train(LmTraining(text=(Input(path=str(part / "docs.parquet")),), words=WORDS))


def ours(part, scratch):
    save_model(fitted(part).model, scratch / "lm.npz")
    stage = Perplexity.model_validate({"model": str(scratch / "lm.npz")})
    batches = list(batches_of(part / "docs.parquet"))
    stage(batches[0].slice(0, 1))  # the model is read once a process

    def work():
        kept = sum(stage(batch).kept.num_rows for batch in batches)
        return {"docs": sum(b.num_rows for b in batches), "kept": kept}

    return work


def kenlm(part, scratch):
    """With CCNet's normalization; its words are those between white space, and so fewer."""
    save_arpa(fitted(part), scratch / "lm.arpa")
    model = KenlmModel(scratch / "lm.arpa", normalization="ccnet", pieces=None)
    texts = pq.read_table(part / "docs.parquet")["text"].combine_chunks()

    def work():
        found = model.perplexities(texts.cast(pa.large_string()))
        return {"docs": len(found)}

    return work


STEPS = {"perplexity": ours, "perplexity: kenlm": kenlm}
