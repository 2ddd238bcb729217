"""Other libraries' files: rank files as tiktoken reads them, GPT-2's pair, SentencePiece."""

import base64
import hashlib
import io
import json

import pytest
import sentencepiece
import tiktoken

from tests.e2e.corpus import prose
from tests.pipelines.tokens.test_fast import same_ids
from tests.strategies import few
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.tokens.engines import adversarial
from tokenmill.pipelines.tokens.options import Tokenizer
from tokenmill.pipelines.tokens.reference import ENCODINGS, _byte_letters, open_reference
from tokenmill.pipelines.tokens.tokenize import load_engine

# As tiktoken 0.14 has it, possessive; elsewhere its pattern is ours.
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)


def rank_file(tokenizer_path, folder, name):
    """The trained vocabulary as a rank file: its bytes first, then what was merged."""
    letters = {letter: b for b, letter in enumerate(_byte_letters())}
    data = json.loads(tokenizer_path.read_text())
    made = ["".join(pair) for pair in data["model"]["merges"]]
    tokens = dict.fromkeys([*_byte_letters(), *made])
    path = folder / f"{name}.tiktoken"
    path.write_text(
        "".join(
            f"{base64.b64encode(bytes(letters[c] for c in token)).decode()} {rank}\n"
            for rank, token in enumerate(tokens)
        )
    )
    return path


def read_by_tiktoken(path):
    ranks = {
        base64.b64decode(token): int(rank)
        for token, rank in (line.split() for line in path.read_bytes().splitlines())
    }
    known = ENCODINGS[path.stem]
    pattern = CL100K if path.stem == "cl100k_base" else known.pattern
    return tiktoken.Encoding(
        path.stem, pat_str=pattern, mergeable_ranks=ranks, special_tokens=known.special
    )


@pytest.mark.parametrize("name", ENCODINGS)
def test_a_rank_file_is_encoded_as_tiktoken_does(tokenizer_path, tmp_path, name):
    path = rank_file(tokenizer_path, tmp_path, name)
    texts = [*adversarial(ENCODINGS[name].special), *prose()[::20]]
    expected = read_by_tiktoken(path).encode_ordinary_batch(texts)
    assert open_reference(str(path)).encode(texts) == expected
    same_ids(path, texts)


@pytest.mark.parametrize("name", few(["r50k_base", "cl100k_base", "o200k_base"], 3))
def test_published_rank_files(shared_data, name):
    path = shared_data / "tokenizers" / f"{name}.tiktoken"
    texts = [*adversarial(["<|endoftext|>"]), *prose()[::10]]
    reference = open_reference(str(path))
    theirs = read_by_tiktoken(path)
    assert reference.encode(texts) == theirs.encode_ordinary_batch(texts)
    assert reference.token_to_id("<|endoftext|>") == theirs.eot_token
    assert reference.largest_id == theirs.max_token_value


def test_gpt2s_pair_of_files_is_gpt2(shared_data):
    folder = shared_data / "tokenizers"
    texts = [*adversarial(["<|endoftext|>"]), *prose()[::10]]
    pair = open_reference(str(folder / "vocab.bpe"))
    assert pair.encode(texts) == open_reference(str(folder / "gpt2.json")).encode(texts)
    assert pair.token_to_id("<|endoftext|>") == 50256


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_sentencepiece_model(tmp_path, kind):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(prose()[:300]),
        model_writer=model,
        vocab_size=400,
        model_type=kind,
        byte_fallback=True,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    path = tmp_path / "spiece.model"
    path.write_bytes(model.getvalue())
    texts = [*adversarial(["<s>"]), *prose()[300:330]]
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(path))
    assert open_reference(str(path)).encode(texts) == theirs.encode(texts)
    engine, _ = same_ids(path, texts)
    assert engine.name.startswith("sentencepiece")
    ended = load_engine(Tokenizer(path=str(path), eos=True, bos=True))
    assert (ended.bos_id, ended.eos_id) == (theirs.bos_id(), theirs.eos_id())


def test_mistrals_sentencepiece_model(shared_data):
    path = shared_data / "tokenizers" / "mistral_instruct_tokenizer_240323.model.v3"
    texts = [*adversarial(["[INST]"]), *prose()[::10]]
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(path))
    assert open_reference(str(path)).encode(texts) == theirs.encode(texts)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("other.tiktoken", b"", "its name tells no known encoding"),
        ("r50k_base.tiktoken", b"IQ== 0\nnot a rank\n", "line 2: not a token in base64"),
        ("r50k_base.tiktoken", b"IQ== 0\n", "has no token for the byte 0; the file is not whole"),
        ("vocab.bpe", b"#version: 0.2\n", "no encoder.json or vocab.json beside it"),
        ("x.model", b"nonsense", "not a SentencePiece model"),
        ("none.tiktoken", None, "no such tokenizer file"),
        ("none.model", None, "no such tokenizer file"),
    ],
)
def test_mistakes_name_the_file_and_the_way_out(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=message) as e:
        load_engine(Tokenizer(path=str(path)))
    assert str(path) in str(e.value)
    assert "\n" not in str(e.value)


def test_control_tokens_in_a_sentencepiece_text_cannot_be_asked_for(tmp_path):
    (tmp_path / "a.model").write_bytes(b"x")
    with pytest.raises(ConfigError, match="special_tokens_in_text"):
        load_engine(Tokenizer(path=str(tmp_path / "a.model"), special_tokens_in_text="id"))


def test_a_tokenizer_is_known_where_md5_is_forbidden_but_for_names(tokenizer_path, monkeypatch):
    real = hashlib.md5

    def of_fips(data, *, usedforsecurity=True):
        if usedforsecurity:
            raise ValueError("disabled for FIPS")
        return real(data, usedforsecurity=False)

    wanted = open_reference(str(tokenizer_path)).digest
    monkeypatch.setattr(hashlib, "md5", of_fips)
    assert open_reference(str(tokenizer_path)).digest == wanted
