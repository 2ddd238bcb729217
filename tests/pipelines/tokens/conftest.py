"""A vocabulary that composes text first."""

import pytest
from tokenizers import Tokenizer as Tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from tests.e2e.corpus import prose
from tests.pipelines.conftest import END


@pytest.fixture(scope="session")
def composing_path(tmp_path_factory):
    """A byte-level vocabulary that composes text first, as GPT-NeoX's does."""
    made = Tokenizers(models.BPE())
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=800, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator([*prose()[:50], "naïve café über été " * 20], trainer)
    made.add_tokens(["   ", "|||PHONE|||"])
    path = tmp_path_factory.mktemp("composing") / "tokenizer.json"
    made.save(str(path))
    return path
