"""The fast engine against the reference: the same ids, or it is not used."""

import gzip
import json
from itertools import pairwise

import numpy as np
import orjson
import pyarrow as pa
import pytest
from hypothesis import given

from tests.apart import apart
from tests.e2e.corpus import prose
from tests.pipelines.conftest import END
from tests.pipelines.tokens import growth
from tests.strategies import THOROUGH, text_columns
from tokenmill.pipelines.tokens import engines as fast
from tokenmill.pipelines.tokens.engines import adversarial, fast_engine
from tokenmill.pipelines.tokens.options import Tokenizer
from tokenmill.pipelines.tokens.reference import open_reference
from tokenmill.pipelines.tokens.tokenize import load_engine

REAL = (
    "gpt2.json",
    "allenai_dolma2.json",
    "allenai_gpt-neox-olmo-dolma-v1_5.json",
    "deepseek_tokenizer.json",
    "cl100k_base.tiktoken",
    "o200k_base.tiktoken",
    "r50k_base.tiktoken",
    "vocab.bpe",
)
FAST = REAL[:4]  # the others may be fast or not


def per_document(tokens):
    return [tokens.ids[a:b].tolist() for a, b in pairwise(tokens.offsets)]


def same_ids(path, texts, **settings):
    """Assert that the engine makes the reference's ids of all texts; return who made how many."""
    config = Tokenizer(path=str(path), eos=False, **settings)
    engine = load_engine(config)
    found = engine.encode(pa.array(texts, pa.large_string()))
    for text, ids, expected in zip(
        texts, per_document(found), engine.reference.encode(texts), strict=True
    ):
        assert ids == expected, text[:200]
    return engine, found.by


@given(text=text_columns())
@pytest.mark.parametrize("mode", ["plain", "id"])
def test_the_fast_engine_makes_the_ids_of_the_reference(composing_path, mode, text):
    engine, by = same_ids(composing_path, text.to_pylist(), special_tokens_in_text=mode)
    assert engine.name.startswith("gigatoken")
    assert sum(by.values()) == len(text)


@pytest.mark.parametrize("mode", ["plain", "id"])
def test_adversarial_texts(tokenizer_path, composing_path, mode):
    for path in (tokenizer_path, composing_path):
        texts = list(adversarial([END, "   ", "|||PHONE|||"]))
        engine, by = same_ids(path, texts, special_tokens_in_text=mode)
        assert by[engine.name] > len(texts) / 2


def test_prose_is_encoded_by_the_fast_engine_alone(tokenizer_path):
    engine, by = same_ids(tokenizer_path, list(prose()))
    assert by == {engine.name: len(prose())}
    assert engine.why == ""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.long) if n != "gpt2.json" else n for n in REAL]
)
def test_real_tokenizers_on_real_and_adversarial_text(shared_data, name):
    path = shared_data / "tokenizers" / name
    added = [
        t.content
        for t in load_engine(Tokenizer(path=str(path), eos=False))
        .reference.tokenizer.get_added_tokens_decoder()
        .values()
    ]
    every = 1 if THOROUGH else 5
    texts = [*adversarial([*added[:40], *added[-40:]]), *prose()[:: 10 * every]]
    with gzip.open(shared_data / "text" / "docs_django_5.1_5.2.jsonl.gz") as lines:
        texts += [orjson.loads(line)["text"] for line in lines][:: 40 * every]
    for locale in ("ar", "hi", "ja", "ko", "ru", "th", "zh_Hans"):
        texts += django_texts(locale)
    engine, by = same_ids(path, texts)
    if name in FAST:
        assert engine.name.startswith("gigatoken"), engine.why
        assert by[engine.name] > 0.9 * len(texts)
    same_ids(path, texts[:500], special_tokens_in_text="id")


def django_texts(locale):
    """A few short texts in another script, from the packages that tests already install."""
    greetings = {
        "ar": "مرحبا بالعالم، هذا نص قصير.", "hi": "नमस्ते दुनिया, यह एक छोटा पाठ है।",
        "ja": "こんにちは世界。これは短い文章です。", "ko": "안녕하세요, 짧은 글입니다.",
        "ru": "Привет, мир. Это короткий текст.", "th": "สวัสดีชาวโลก นี่คือข้อความสั้น",
        "zh_Hans": "你好世界。这是一段短文。",
    }  # fmt: skip
    return [greetings[locale], greetings[locale] * 50]


def test_characters_of_all_planes_are_encoded_as_the_reference_does(tokenizer_path, composing_path):
    """Of all code points one in 63, or in seven, 32 neighbours a text; all take half a minute."""
    every = 7 if THOROUGH else 63
    code_points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    texts = [
        "".join(f"a{chr(c)}\u0308{chr(c)} " for c in code_points[i : i + 32])
        for i in range(0, len(code_points), every * 32)
    ]
    for path in (tokenizer_path, composing_path):
        same_ids(path, texts)


def changed(path, folder, **parts):
    """The vocabulary with some top-level parts of its file replaced."""
    made = folder / "tokenizer.json"
    made.write_text(json.dumps({**json.loads(path.read_text()), **parts}))
    return made


def test_a_vocabulary_that_normalizes_otherwise_is_left_to_the_reference(composing_path, tmp_path):
    lower = {"type": "Sequence", "normalizers": [{"type": "Lowercase"}]}
    path = changed(composing_path, tmp_path, normalizer=lower)
    engine, _ = same_ids(path, ["Hello World"])
    assert engine.why == "it normalizes text by Lowercase"


def test_an_engine_that_differs_is_not_used(composing_path, tmp_path, monkeypatch):
    """gigatoken reads single_word tokens otherwise; without the rule the check has to see it."""
    monkeypatch.setattr(fast, "_refused", lambda *_: "")
    flags = dict.fromkeys(("lstrip", "rstrip", "normalized", "special"), False)
    whole = {"id": 900, "content": "<word>", "single_word": True, **flags}
    path = changed(composing_path, tmp_path, added_tokens=[whole])
    made, why = fast_engine(open_reference(str(path)))
    assert made is None
    assert "makes other ids of" in why


def test_differences_are_found(composing_path, tokenizer_path):
    texts = ["hello there", "", "the end"]
    made, _ = fast_engine(open_reference(str(composing_path)))
    other = open_reference(str(tokenizer_path))
    found = made.encode(pa.array(texts))
    assert fast.differences(open_reference(str(composing_path)).encode(texts), found) == []
    assert fast.differences(other.encode(texts), found) == [0, 2]


def test_slices_and_both_string_types(tokenizer_path):
    texts = [f"{i} naïve {i}" for i in range(20)]
    engine = load_engine(Tokenizer(path=str(tokenizer_path), eos=False))
    expected = engine.reference.encode(texts)
    for kind in (pa.string(), pa.large_string()):
        column = pa.array(texts, kind)
        assert per_document(engine.encode(column.slice(7, 9))) == expected[7:16]
        assert per_document(engine.encode(column.slice(20))) == []


def test_a_renewed_engine_makes_the_same_ids(tokenizer_path, monkeypatch):
    monkeypatch.setattr(fast, "RENEW_TEXT_BYTES", 100)
    made, _ = fast_engine(open_reference(str(tokenizer_path)))
    text = pa.array(["the quick brown fox " * 10])
    first = made.encode(text)
    assert made._idle[0]._made is None  # it will be opened again
    assert np.array_equal(made.encode(text).ids, first.ids)


def test_memory_stays_bounded_on_words_never_seen_before(tokenizer_path):
    """Without renewal, 56 MB of random letters add 500 MB to its cache."""
    ended = apart(growth.main, str(tokenizer_path), str(12 << 20), "14")
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) < 250e6  # 64e6 to 136e6, beside twelve others too
