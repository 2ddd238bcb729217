"""`tokenmill train-quality`: good and bad documents in, a classifier out."""

import argparse

from tokenmill.flows.commands.training import ended, parse_file, parse_training
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.filters.models.quality_model import save_model
from tokenmill.pipelines.runs.manifest import check_apart
from tokenmill.pipelines.storage.atomic import write_text
from tokenmill.pipelines.train.quality.evaluation import SIDES, blocks, quality_markdown
from tokenmill.pipelines.train.quality.train import Training, check_library, train


def run(args: argparse.Namespace) -> int:
    """Train and write a classifier, show how well it does; ConfigError: it cannot be written."""
    training = parse_training(Training, args, SIDES, {"n_features": "features"})
    out = parse_file("--out", args.out, ".npz", "quality.npz")
    check_library()
    check_apart((*training.good, *training.bad), out)
    model = train(training)
    try:
        save_model(model, out)
        write_text(out.with_suffix(".md"), quality_markdown(model.about))
    except OSError as e:
        raise ConfigError(f"--out {out}: cannot write there ({e.strerror}); choose another") from e
    return ended(model.about, blocks, out, as_data=args.json)
