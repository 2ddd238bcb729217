import json
import os
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
import tokenizers
from huggingface_hub import constants
from hypothesis import given

from tests.pipelines.conftest import END
from tests.strategies import few, text_columns
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.tokens import tokenize
from tokenmill.pipelines.tokens.options import Tokenizer
from tokenmill.pipelines.tokens.tokenize import load_engine


def per_document(tokens):
    return [tokens.ids[a:b].tolist() for a, b in pairwise(tokens.offsets)]


def reference(path, text, *, plain=True):
    made = tokenizers.Tokenizer.from_file(str(path))
    made.encode_special_tokens = plain
    return [made.encode(t, add_special_tokens=False).ids for t in text.to_pylist()]


@given(text=text_columns())
def test_ids_are_those_of_tokenizers_and_the_end(tokenizer_path, text):
    engine = load_engine(Tokenizer(path=str(tokenizer_path)))
    expected = [[*ids, engine.eos_id] for ids in reference(tokenizer_path, text)]
    assert per_document(engine.encode(text)) == expected


@given(text=text_columns(max_docs=20))
def test_ids_do_not_depend_on_how_much_is_encoded_at_once(tokenizer_path, text):
    engine = load_engine(Tokenizer(path=str(tokenizer_path)))
    whole = per_document(engine.encode(text))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokenize, "ENCODE_BYTES", 10)
        assert per_document(engine.encode(text)) == whole


def test_both_ends_and_neither(tokenizer_path):
    path = str(tokenizer_path)
    both = load_engine(Tokenizer(path=path, bos=True, eos=END))
    neither = load_engine(Tokenizer(path=path, eos=False))
    (ids,) = per_document(neither.encode(pa.array(["wrap"])))
    assert per_document(both.encode(pa.array(["wrap"]))) == [[both.bos_id, *ids, both.eos_id]]
    assert both.bos_id != both.eos_id


def test_a_control_token_written_in_text_is_text_unless_the_recipe_says_id(tokenizer_path):
    text = pa.array([f"a{END}b"])
    plain = load_engine(Tokenizer(path=str(tokenizer_path), eos=False))
    asked = load_engine(Tokenizer(path=str(tokenizer_path), eos=False, special_tokens_in_text="id"))
    end = asked.reference.token_to_id(END)
    assert end not in per_document(plain.encode(text))[0]
    assert end in per_document(asked.encode(text))[0]
    assert per_document(plain.encode(text)) == reference(tokenizer_path, text)
    assert per_document(asked.encode(text)) == reference(tokenizer_path, text, plain=False)


@pytest.mark.parametrize(("dtype", "expected"), [("auto", "uint16"), ("int32", "int32")])
def test_id_width(tokenizer_path, dtype, expected):
    engine = load_engine(Tokenizer(path=str(tokenizer_path)), dtype)
    assert engine.encode(pa.array(["a"])).ids.dtype == np.dtype(expected)


def widened(tokenizer_path, folder, largest):
    """The tokenizer with one more token whose id is `largest`."""
    data = json.loads(tokenizer_path.read_text())
    data["added_tokens"].append(
        {**data["added_tokens"][0], "id": largest, "content": "<|far|>", "special": False}
    )
    vocab = data["model"]["vocab"]
    vocab |= {f"<filler{i}>": i for i in range(len(vocab), largest)}
    path = folder / "wide.json"
    path.write_text(json.dumps(data))
    return str(path)


@pytest.mark.parametrize(("largest", "expected"), [(65535, "uint16"), (65536, "int32")])
def test_uint16_only_where_the_largest_id_fits(tokenizer_path, tmp_path, largest, expected):
    path = widened(tokenizer_path, tmp_path, largest)
    engine = load_engine(Tokenizer(path=path))
    assert engine.largest_id == largest
    assert engine.dtype == np.dtype(expected)
    (ids,) = per_document(engine.encode(pa.array(["<|far|>"])))
    assert ids == [largest, engine.eos_id]


def test_documents_are_counted_by_the_engine_that_encoded_some(tokenizer_path):
    engine = load_engine(Tokenizer(path=str(tokenizer_path)))
    fast, slow = engine.name, engine.reference.name
    for n_slow, counted in ((0, {fast: 3}), (1, {fast: 2, slow: 1}), (3, {slow: 3})):
        assert engine.counted(np.arange(3) < n_slow) == counted
    alone = load_engine(Tokenizer(path=str(tokenizer_path), engine="reference"))
    assert alone.counted(np.ones(3, np.bool_)) == {slow: 3}


def test_a_file_is_loaded_once_and_anew_when_it_changed_though_not_in_size(
    tokenizer_path, tmp_path
):
    path, data = tmp_path / "tokenizer.json", tokenizer_path.read_bytes()
    path.write_bytes(data)
    config = Tokenizer(path=str(path))
    assert load_engine(config) is load_engine(config)
    path.write_bytes(data.replace(END.encode(), END.upper().encode()))
    os.utime(path, ns=(0, 0))
    assert path.stat().st_size == len(data)
    with pytest.raises(ConfigError, match=r"has no token <\|endoftext\|>"):
        load_engine(config)


def test_a_vocabulary_too_large_for_the_asked_width_is_refused(tokenizer_path, tmp_path):
    path = widened(tokenizer_path, tmp_path, 65536)
    with pytest.raises(ConfigError, match="ids up to 65536, which uint16 cannot hold; use auto"):
        load_engine(Tokenizer(path=path), "uint16")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"path": "no/such/tokenizer.json"}, "no such tokenizer file; name a tokenizer.json"),
        ({"path": "NOT_JSON"}, "not a tokenizer.json"),
        ({"path": "GOOD", "eos": "<end>"}, r"has no token <end>; name its token \(tokenizer.eos"),
    ],
)
def test_mistakes_are_one_line_with_a_way_out(tokenizer_path, tmp_path, config, message):
    (tmp_path / "bad.json").write_text("{}")
    names = {"NOT_JSON": str(tmp_path / "bad.json"), "GOOD": str(tokenizer_path)}
    config["path"] = names.get(config["path"], config["path"])
    with pytest.raises(ConfigError, match=message) as e:
        load_engine(Tokenizer(**config))
    assert "\n" not in str(e.value)


def test_a_hub_id_offline_says_so(monkeypatch):
    # the library reads its environment (HF_HUB_OFFLINE) when it is first imported
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ConfigError, match=r"'nobody/nothing' is no file here and could not be had"):
        load_engine(Tokenizer(path="nobody/nothing"))


@pytest.mark.parametrize(
    "name",
    few(
        [
            "gpt2.json",
            "allenai_dolma2.json",
            "allenai_gpt-neox-olmo-dolma-v1_5.json",
            "deepseek_tokenizer.json",
        ],
        4,
    ),
)
def test_real_tokenizers(shared_data, name):
    path = shared_data / "tokenizers" / name
    engine = load_engine(Tokenizer(path=str(path)))
    text = pa.array(["Hello world", "naïve 東京 🙂", "<|endoftext|>", "", "x = 1\n\tif y:"])
    expected = [[*ids, engine.eos_id] for ids in reference(path, text)]
    assert per_document(engine.encode(text)) == expected
