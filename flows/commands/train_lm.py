"""`tokenmill train-lm`: good text in, a language model out."""

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
from tokenmill.pipelines.filters.models.model import save_model
from tokenmill.pipelines.runs.manifest import check_apart
from tokenmill.pipelines.storage.atomic import write_text
from tokenmill.pipelines.train.lm.fit import Fitted, save_arpa
from tokenmill.pipelines.train.lm.report import blocks, lm_markdown
from tokenmill.pipelines.train.lm.train import LmTraining, train

NAMES = ("order", "vocabulary", "min_count", "prune", "words", "holdout", "head", "tail", "seed")


def run(args: argparse.Namespace) -> int:
    """Train a model, write it, and show how well it foretells."""
    training = parse_training(args)
    out = parse_file("--out", args.out, ".npz", "lm.npz")
    arpa = None if args.arpa is None else parse_file("--arpa", args.arpa, ".arpa", "lm.arpa")
    for path in filter(None, (out, arpa)):
        check_apart((*training.text, *training.cutoffs), path)
    fitted = train(training)
    write(fitted, out, arpa)
    about = fitted.model.about
    if args.json:
        as_json(about)
    else:
        show_model(blocks(about), about, out)
    return PARTIAL if any(failed(about).values()) else OK


def parse_training(args: argparse.Namespace) -> LmTraining:
    """What the command line asks for.

    Raises:
        ConfigError: one line that names the option and the way out.
    """
    inputs = {
        name: tuple(Input(path=path, text=args.text_column) for path in getattr(args, name))
        for name in ("text", "cutoffs")
    }
    try:
        return LmTraining(**inputs, **{name: getattr(args, name) for name in NAMES})
    except ValidationError as e:
        place = str(e.errors()[0]["loc"][0]) if e.errors()[0]["loc"] else ""
        said = str(explain(e, "", {})).removeprefix(": ").removeprefix(f"{place}: ")
        raise ConfigError(f"--{place.replace('_', '-')}: {said}" if place else said) from e


def parse_file(option: str, given: str, suffix: str, example: str) -> Path:
    """Where a file goes.

    Raises:
        ConfigError: it is no place for one.
    """
    path = Path(within_roots(given)).expanduser().absolute()
    if path.suffix != suffix or path.is_dir():
        raise ConfigError(
            f"{option} {given}: write a file name that ends in {suffix}, as {example}"
        )
    return path


def write(fitted: Fitted, out: Path, arpa: Path | None) -> None:
    """Write the model, and what is said of it beside it.

    Raises:
        ConfigError: it cannot be written there.
    """
    try:
        save_model(fitted.model, out)
        write_text(out.with_suffix(".md"), lm_markdown(fitted.model.about))
        if arpa is not None:
            save_arpa(fitted, arpa)
    except OSError as e:
        raise ConfigError(
            f"{e.filename or out}: cannot write there ({e.strerror}); choose another place"
        ) from e
