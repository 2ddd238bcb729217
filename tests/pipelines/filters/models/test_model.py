"""The file of a model: what it holds, and what is refused."""

import io
import json
import re
import zipfile

import numpy as np
import pyarrow as pa
import pytest

from tests.pipelines.train.quality.models import linear, saved
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.filters.models import quality_model as module
from tokenmill.pipelines.filters.models.quality_model import LinearModel, load_model, save_model


def written(path, **arrays):
    """An .npz of other arrays than a model's."""
    about = {"kind": "tokenmill quality model", "format": module.FORMAT}
    good = {
        "weights": np.zeros(8, np.float32),
        "intercept": np.array(0.0),
        "about": np.frombuffer(json.dumps(about).encode(), np.uint8),
    }
    np.savez(path, **{k: v for k, v in (good | arrays).items() if v is not None})
    return path


def test_a_model_comes_back_as_it_was(tmp_path):
    path, was = saved(tmp_path, intercept=-0.1), linear(intercept=-0.1)
    found = load_model(path)
    assert np.array_equal(found.weights, was.weights)
    assert found.weights.dtype == np.float32
    assert found.intercept == -0.1
    assert found.about == was.about | {"kind": "tokenmill quality model", "format": 1}


def test_the_same_model_makes_the_same_bytes(tmp_path):
    one, two = tmp_path / "1.npz", tmp_path / "2.npz"
    for path in (one, two):
        save_model(linear(), path)
    assert one.read_bytes() == two.read_bytes()
    assert list(tmp_path.glob("*.partial*")) == []


def test_the_file_is_arrays_that_numpy_reads(tmp_path):
    with np.load(saved(tmp_path), allow_pickle=False) as file:
        assert {name: file[name].dtype.str for name in file} == {
            "weights": "<f4",
            "intercept": "<f8",
            "about": "|u1",
        }


def test_scores_are_probabilities_whatever_the_sum(tmp_path):
    model = linear({"good": 1e30, "bad": -1e30, "fine": 1.0})
    scores = model.scores(pa.array(["good", "bad", "fine", "", "good bad"]))
    assert scores.tolist() == [1.0, 0.0, 0.731058579, 0.5, 0.5]


def test_a_file_cut_anywhere_is_refused(tmp_path):
    whole = saved(tmp_path, n_features=16).read_bytes()
    path = tmp_path / "cut.npz"
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        with pytest.raises(ConfigError, match="not a whole quality model .*train it again"):
            load_model(path)


def test_a_bit_that_flips_is_noticed(tmp_path):
    path = saved(tmp_path, n_features=16)
    whole = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as members:
        at = members.getinfo("weights.npy").header_offset + 90
    whole[at] ^= 1
    path.write_bytes(whole)
    with pytest.raises(ConfigError, match="not a whole quality model"):
        load_model(path)


@pytest.mark.parametrize("content", [b"", b"hello", b"\x89PNG\r\n", b'{"model": 1}'])
def test_another_kind_of_file_is_refused(tmp_path, content):
    path = tmp_path / "model.json"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=re.escape(f"{path}: not a whole quality model (")):
        load_model(path)


OTHER = "not a quality model"


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"weights": None}, f"{OTHER}, which has about, intercept, weights; it has about, inter"),
        ({"more": np.zeros(1)}, OTHER),
        ({"about": np.frombuffer(b'{"kind": "cat"}', np.uint8)}, f"{OTHER}, but arrays of some"),
        ({"about": np.frombuffer(b"[1]", np.uint8)}, OTHER),
        ({"about": np.frombuffer(b"{", np.uint8)}, "not a whole quality model"),
        ({"about": np.frombuffer(b"[" * 100_000, np.uint8)}, "not a whole quality model"),
        (
            {"about": np.frombuffer(b'{"kind": "tokenmill quality model", "format": 2}', "u1")},
            "a quality model of format 2, this tokenmill reads 1; train it again",
        ),
        ({"weights": np.zeros(8)}, r"weights are float64 of shape \(8,\), not float32 of \(16777"),
        ({"weights": np.zeros((2, 4), np.float32)}, r"weights are float32 of shape \(2, 4\), not"),
        ({"intercept": np.zeros(2)}, r"intercept are float64 of shape \(2,\), not float64 of \(\)"),
        ({"weights": np.zeros(6, np.float32)}, "a power of two"),
        (
            {"weights": np.array([0, np.nan, np.inf, 1], np.float32)},
            "2 of 4 weights are not finite numbers",
        ),
        ({"intercept": np.array(np.nan)}, "0 of 8 weights are not finite"),
        ({"weights": np.array([{}] * 8)}, "weights are object of shape"),
    ],
    ids=range(14),
)
def test_other_arrays_are_refused(tmp_path, arrays, said):
    path = written(tmp_path / "other.npz", **arrays)
    with pytest.raises(ConfigError, match=said):
        load_model(path)


def test_nothing_is_unpacked_that_no_model_can_be(tmp_path):
    path = written(tmp_path / "bomb.npz")
    header = io.BytesIO()
    of = {"descr": "<f4", "fortran_order": False, "shape": (2 * module.MOST_FEATURES,)}
    np.lib.format.write_array_header_1_0(header, of)
    with zipfile.ZipFile(path) as members:
        rest = {m: members.read(m) for m in members.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as members:
        for name, data in rest.items():
            members.writestr(name, header.getvalue() if name == "weights.npy" else data)
    with pytest.raises(ConfigError, match=r"weights are float32 of shape \(33554432,\), not"):
        load_model(path)


def test_a_model_of_no_numbers_cannot_be_made():
    with pytest.raises(ValueError, match="1 of 4 weights are not finite"):
        LinearModel(np.array([0, 1, 2, np.nan], np.float32), 0.0, {})
