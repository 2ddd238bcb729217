"""The file of a language model: what it holds, and what is refused."""

import io
import json
import re
import zipfile

import numpy as np
import pyarrow as pa
import pytest

from tests.pipelines.train.lm.models import CUTOFFS, model, saved
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.filters.models import ngram_model as module
from tokenmill.pipelines.filters.models.ngram_model import load_model, save_model

TEXTS = pa.array(["the cat sat on a mat.", "zebra", "", "a dog ran.\nthe cat"])


def about(**more):
    said = {"kind": "tokenmill language model", "format": module.FORMAT, "order": 3, **more}
    return np.frombuffer(json.dumps(said).encode(), np.uint8)


def written(path, **arrays):
    """An .npz of other arrays than a model's."""
    good = {
        "words": np.frombuffer(b"the\ncat\n", np.uint8),
        "word_logs": np.full((4, 2), -1, np.float32),
        "keys": np.array([5, 9], np.uint64),
        "logs": np.full((2, 2), -1, np.float32),
        "about": about(),
    }
    np.savez(path, **{k: v for k, v in (good | arrays).items() if v is not None})
    return path


def test_a_model_comes_back_as_it_was(tmp_path):
    found, was = load_model(saved(tmp_path)), model()
    assert np.array_equal(found.perplexities(TEXTS), was.perplexities(TEXTS), equal_nan=True)
    assert found.vocabulary.words == was.vocabulary.words
    assert found.order == 3
    assert found.cutoffs == (5.0, 20.0)
    assert found.about["cutoffs"] == CUTOFFS
    assert load_model(saved(tmp_path, cutoffs=None)).cutoffs is None


def test_the_same_model_makes_the_same_bytes(tmp_path):
    one, two = tmp_path / "1.npz", tmp_path / "2.npz"
    for path in (one, two):
        save_model(model(), path)
    assert one.read_bytes() == two.read_bytes()
    assert list(tmp_path.glob("*.partial*")) == []


def test_the_file_is_arrays_that_numpy_reads(tmp_path):
    with np.load(saved(tmp_path), allow_pickle=False) as file:
        assert {name: file[name].dtype.str for name in file} == {
            name: kind for name, (kind, _) in module.ARRAYS.items()
        }
        assert (np.diff(file["keys"].astype(object)) > 0).all()


def test_a_model_of_words_that_are_not_there_is_read(tmp_path):
    found = load_model(written(tmp_path / "few.npz"))
    assert found.perplexities(pa.array(["the", "zebra", ""])).tolist()[:2] == [100.0, 100.0]


def test_a_file_cut_anywhere_is_refused(tmp_path):
    whole = saved(tmp_path).read_bytes()
    path = tmp_path / "cut.npz"
    for size in range(0, len(whole), 31):
        path.write_bytes(whole[:size])
        with pytest.raises(ConfigError, match="not a whole language model .*train it again"):
            load_model(path)


def test_bits_that_flip_are_noticed_or_change_nothing(tmp_path):
    path = saved(tmp_path)
    whole = path.read_bytes()
    wanted = load_model(path).perplexities(TEXTS)
    with zipfile.ZipFile(path) as members:
        at = members.getinfo("logs.npy").header_offset + 90
    for place in (at, *range(0, len(whole), 41)):
        path.write_bytes(bytes(b ^ (i == place) for i, b in enumerate(whole)))
        try:
            found = load_model(path)
        except ConfigError:
            continue
        assert place != at
        assert np.array_equal(found.perplexities(TEXTS), wanted, equal_nan=True)


WHOLE = "not a whole language model"


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"keys": None}, "not a language model, which has about, keys, logs, word_logs, words; it"),
        ({"more": np.zeros(1)}, "not a language model"),
        ({"about": about(kind="cat")}, "not a language model, but arrays of something else"),
        ({"about": about(format=2)}, "of format 2, this tokenmill reads 1; train it again"),
        ({"about": np.frombuffer(b"{", np.uint8)}, WHOLE),
        ({"about": np.frombuffer(b"[" * 100_000, np.uint8)}, WHOLE),
        ({"about": about(order=7)}, "order is 2 to 6, got 7"),
        ({"about": about(order=2.0)}, "order is 2 to 6, got 2.0"),
        ({"about": about(order=None)}, "order is 2 to 6, got None"),
        ({"about": about(cutoffs={"head": 9, "tail": 5})}, "cutoffs are two perplexities, not"),
        ({"about": about(cutoffs={"head": 9})}, "cutoffs are two perplexities, not"),
        ({"about": about(cutoffs=[1, 2])}, "cutoffs are two perplexities, not"),
        ({"words": np.frombuffer(b"the\ncat", np.uint8)}, "the vocabulary has no end"),
        ({"words": np.frombuffer(b"the\nthe\n", np.uint8)}, "words stand there twice"),
        ({"words": np.frombuffer(b"the\na b\n", np.uint8)}, "is not a word each"),
        ({"words": np.frombuffer(b"the\n\n", np.uint8)}, "is not a word each"),
        ({"words": np.frombuffer(b"the\n\xff\n", np.uint8)}, WHOLE),
        ({"keys": np.array([5, 5], np.uint64)}, "n-grams stand there twice"),
        ({"keys": np.array([0, 5], np.uint64)}, "n-grams stand there twice"),
        ({"keys": np.array([5], np.uint64)}, r"logs have shape \(2, 2\), not \(1, 2\)"),
        ({"keys": np.zeros((2, 1), np.uint64)}, r"keys are uint64 of shape \(2, 1\), not"),
        ({"word_logs": np.zeros((3, 2), np.float32)}, r"word_logs have shape \(3, 2\), not \(4"),
        ({"logs": np.zeros((2, 2))}, r"logs are float64 of shape \(2, 2\), not float32"),
        ({"logs": np.full((2, 2), np.nan, np.float32)}, "logs are not logarithms of prob"),
        ({"logs": np.full((2, 2), -1e30, np.float32)}, "logs are not logarithms of prob"),
        ({"logs": np.full((2, 2), 0.5, np.float32)}, "logs are not logarithms of prob"),
        ({"logs": np.array([{}] * 4).reshape(2, 2)}, WHOLE),
    ],
    ids=range(27),
)
def test_other_arrays_are_refused(tmp_path, arrays, said):
    path = written(tmp_path / "other.npz", **arrays)
    with pytest.raises(ConfigError, match=said) as e:
        load_model(path)
    assert "\n" not in str(e.value)
    assert str(e.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (1 << 20, "keys have 1 bytes, not 8,388,608"),
        (0, "keys have 1 bytes, not 0"),
        (1 << 40, r"keys are uint64 of shape \(1099511627776,\), not uint64 of \(134217728,\) at"),
        (-1, r"keys are uint64 of shape \(-1,\), not"),
    ],
)
def test_nothing_is_unpacked_that_is_not_there(tmp_path, n, said):
    path = written(tmp_path / "bomb.npz")
    header = io.BytesIO()
    of = {"descr": "<u8", "fortran_order": False, "shape": (n,)}
    np.lib.format.write_array_header_1_0(header, of)
    with zipfile.ZipFile(path) as members:
        rest = {m: members.read(m) for m in members.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as members:
        for name, data in rest.items():
            members.writestr(name, header.getvalue() + b"5" if name == "keys.npy" else data)
    with pytest.raises(ConfigError, match=f"{WHOLE} .{said}"):
        load_model(path)


@pytest.mark.parametrize("content", [b"", b"hello", b"\x89PNG\r\n", b"PK\x03\x04"])
def test_another_kind_of_file_is_refused(tmp_path, content):
    path = tmp_path / "model.npz"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=re.escape(f"{path}: {WHOLE} (")):
        load_model(path)
