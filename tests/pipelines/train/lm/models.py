"""Small language models as files."""

from dataclasses import replace

from tests.pipelines.train.lm.lines import fitted
from tokenmill.pipelines.filters.models.ngram_model import save_model
from tokenmill.pipelines.train.lm.fit import save_arpa

LINES = [
    ["the", "cat", "sat", "on", "a", "mat", "."],
    ["the", "cat", "sat", "on", "the", "dog", "."],
    ["a", "dog", "ran", "."],
]
CUTOFFS = {"head": 5.0, "tail": 20.0}


def model(*, cutoffs=CUTOFFS, **settings):
    made = fitted(LINES, unseen=100, **settings).model
    about = {"training": {"by": "hand"}, **({"cutoffs": cutoffs} if cutoffs else {})}
    return replace(made, about=about)


def saved(folder, **settings):
    path = folder / "lm.npz"
    save_model(model(**settings), path)
    return path


def saved_arpa(folder, **settings):
    path = folder / "lm.arpa"
    save_arpa(fitted(LINES, unseen=100, **settings), path)
    return path
