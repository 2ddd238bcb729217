"""`tokenmill train-lm`: good text in, a language model out."""

import argparse

from tokenmill.flows.commands.training import ended, parse_file, parse_training
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.filters.models.ngram_model import save_model
from tokenmill.pipelines.runs.manifest import check_apart
from tokenmill.pipelines.storage.atomic import write_text
from tokenmill.pipelines.train.lm.fit import save_arpa
from tokenmill.pipelines.train.lm.train import LmTraining, blocks, lm_markdown, train


def run(args: argparse.Namespace) -> int:
    """Train and write a model, show how it foretells; ConfigError where it cannot be written."""
    training = parse_training(LmTraining, args, ("text", "cutoffs"))
    out = parse_file("--out", args.out, ".npz", "lm.npz")
    arpa = None if args.arpa is None else parse_file("--arpa", args.arpa, ".arpa", "lm.arpa")
    for path in filter(None, (out, arpa)):
        check_apart((*training.text, *training.cutoffs), path)
    fitted = train(training)
    about = fitted.model.about
    try:
        save_model(fitted.model, out)
        write_text(out.with_suffix(".md"), lm_markdown(about))
        if arpa is not None:
            save_arpa(fitted, arpa)
    except OSError as e:
        raise ConfigError(
            f"{e.filename or out}: cannot write there ({e.strerror}); choose another place"
        ) from e
    return ended(about, blocks, out, as_data=args.json)
