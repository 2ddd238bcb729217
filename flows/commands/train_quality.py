"""`tokenmill train-quality`: good and bad documents in, a classifier out."""

import argparse
from pathlib import Path

from pydantic import ValidationError

from tokenmill.flows.cli import OK, PARTIAL
from tokenmill.flows.show import as_json
from tokenmill.flows.trained import failed, show_model
from tokenmill.pipelines.core.config import explain
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.places import within_roots
from tokenmill.pipelines.core.shard import Input
from tokenmill.pipelines.filters.models.quality_model import LinearModel, save_model
from tokenmill.pipelines.runs.manifest import check_apart
from tokenmill.pipelines.storage.atomic import write_text
from tokenmill.pipelines.train.quality.report import blocks, quality_markdown
from tokenmill.pipelines.train.quality.train import check_library, train
from tokenmill.pipelines.train.quality.training import SIDES, Training

SUFFIX = ".npz"
OPTIONS = {"n_features": "features"}  # named otherwise than the setting


def run(args: argparse.Namespace) -> int:
    """Train a classifier, write it, and show how well it does."""
    training, out = parse_training(args), parse_out(args.out)
    check_library()
    check_apart((*training.good, *training.bad), out)
    model = train(training)
    write(model, out)
    if args.json:
        as_json(model.about)
    else:
        show_model(blocks(model.about), model.about, out)
    return PARTIAL if any(failed(model.about).values()) else OK


def parse_training(args: argparse.Namespace) -> Training:
    """What the command line asks for.

    Raises:
        ConfigError: one line that names the option and the way out.
    """
    sides = {
        side: tuple(Input(path=path, text=args.text_column) for path in getattr(args, side))
        for side in SIDES
    }
    given = {name: getattr(args, name) for name in ("documents", "holdout", "alpha", "seed")}
    try:
        return Training(**sides, n_features=args.features, **given)
    except ValidationError as e:
        place = str(e.errors()[0]["loc"][0]) if e.errors()[0]["loc"] else ""
        said = str(explain(e, "", {})).removeprefix(": ").removeprefix(f"{place}: ")
        raise ConfigError(f"--{OPTIONS.get(place, place)}: {said}" if place else said) from e


def parse_out(given: str) -> Path:
    """Where the model goes.

    Raises:
        ConfigError: it is no place for one.
    """
    out = Path(within_roots(given)).expanduser().absolute()
    if out.suffix != SUFFIX or out.is_dir():
        raise ConfigError(f"--out {given}: write a file name that ends in {SUFFIX}, as quality.npz")
    return out


def write(model: LinearModel, out: Path) -> None:
    """Write the model, and what is said of it beside it.

    Raises:
        ConfigError: it cannot be written there.
    """
    try:
        save_model(model, out)
        write_text(out.with_suffix(".md"), quality_markdown(model.about))
    except OSError as e:
        raise ConfigError(f"--out {out}: cannot write there ({e.strerror}); choose another") from e
