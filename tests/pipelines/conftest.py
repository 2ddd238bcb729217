"""A small tokenizer, trained once on text that ships with Python; and an S3 server."""

import os
import textwrap
from functools import cache
from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from tests.cluster.s3 import s3_in

END = "<|endoftext|>"


PAGE_KEYS = 100  # names of a listing's page: a thousand objects take moto 6 s


def train(folder: Path, *, vocab_size: int = 600) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(_trained(vocab_size), encoding="utf-8")
    return path


@cache
def _trained(vocab_size: int) -> str:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[END, "[CLS]"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(Path(textwrap.__file__).read_text().splitlines(), trainer)
    # as many published files do: a post-processor that we must not run
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A", special_tokens=[("[CLS]", tokenizer.token_to_id("[CLS]"))]
    )
    return tokenizer.to_str(pretty=True)


@pytest.fixture(scope="session")
def tokenizer_path(tmp_path_factory) -> Path:
    return train(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="session")
def one_s3(tmp_path_factory):
    with s3_in(tmp_path_factory.mktemp("s3"), page_keys=PAGE_KEYS) as served:
        yield served


@pytest.fixture
def reached_s3(one_s3, monkeypatch):
    """A store over HTTP, reached as a user would: by the environment. It does not fail yet."""
    for name in [n for n in os.environ if n.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in one_s3.env.items():
        monkeypatch.setenv(name, value)
    one_s3.proxy.forget()
    yield one_s3
    one_s3.proxy.forget()
