"""fastText models: what is one, and what they say of texts, against fastText and a slow twin."""

import functools
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import mkdtemp

import fasttext
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.pipelines.train.quality.models import (
    INPUTS,
    LABELS,
    OUTPUTS,
    fasttext_bytes,
    quantized,
    saved_fasttext,
)
from tests.reference import fasttext as reference
from tests.strategies import examples
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.filters.models.fasttext import (
    FastTextModel,
    FastTextScores,
    check_fasttext,
    full_label,
    is_fasttext,
)

TWIN = "goodeilhbbtz"  # has the hash of "good"
WORDS = ("</s>", TWIN, "good", "bad", "the", "\u00e9t\u00e9", "\u4e2d\u6587\u5b57", "_", "a" * 40)
PIECES = (
    *WORDS, "unknown", "\u00e9", "\u092d\u093e\u0937\u093e", "\U0001f600", "__label__a",
    "__label__zz", "<>", "x" * 300, *" \t\n\r\v\f\0",
)  # fmt: skip
TEXTS = st.lists(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), max_size=6)
HS, NS, SOFTMAX, OVA = reference.HS, reference.NS, reference.SOFTMAX, reference.OVA
KINDS = {
    "words alone": {"loss": SOFTMAX},
    "two labels and pairs of words": {
        "loss": SOFTMAX, "dim": 9, "n": 2, "bucket": 7, "n_labels": 2,
    },
    "n-grams of characters": {"loss": SOFTMAX, "dim": 17, "least": 1, "most": 3, "bucket": 50},
    "all of them, by a tree": {"loss": HS, "least": 2, "most": 5, "n": 3, "bucket": 41},
    "a tree that is sure": {"loss": HS, "n": 2, "bucket": 9, "scale": 60},
    "a tree of two labels": {"loss": HS, "n": 2, "bucket": 5, "n_labels": 2, "dim": 8},
    "a tree of one label": {"loss": HS, "n_labels": 1},
    "pruned": {
        "loss": SOFTMAX, "least": 2, "most": 4, "bucket": 50, "pruned": 20, "quantized": True,
    },
    "pruned to words": {
        "loss": HS, "least": 2, "most": 4, "bucket": 9, "pruned": 0, "quantized": True,
    },
    "norms and labels quantized": {
        "loss": HS, "dim": 7, "n": 2, "bucket": 20, "quantized": True, "norms": True, "qout": True,
    },
    "sigmoids": {"loss": OVA, "least": 3, "most": 3, "bucket": 30, "dim": 8},
    "negative sampling": {"loss": NS, "n": 2, "bucket": 30},
}  # fmt: skip


@functools.cache
def drawn(kind):
    """A model of random numbers: its file, and the same for the twin."""
    return made(KINDS[kind], Path(mkdtemp()) / "drawn.bin")


def made(kind, path):
    told = {"dim": 5, "n": 1, "least": 0, "most": 0, "bucket": 0, "n_labels": 6} | kind
    draw = np.random.default_rng(3)
    dim, n_labels = told["dim"], told["n_labels"]
    pruned = None
    if "pruned" in told:
        buckets = draw.permutation(told["bucket"])[: told["pruned"]]
        pruned = dict(zip(buckets.tolist(), draw.permutation(len(buckets)).tolist(), strict=True))
    n_rows = len(WORDS) + (told["bucket"] if pruned is None else len(pruned))
    labels = tuple(f"__label__{chr(97 + i)}" for i in range(n_labels))
    counts = tuple(sorted(draw.integers(1, 50, n_labels).tolist(), reverse=True))
    as_stored = inputs = draw.normal(size=(n_rows, dim)).astype("<f4")
    labels_stored = outputs = draw.normal(size=(n_labels, dim)).astype("<f4")
    outputs *= told.get("scale", 2)
    if told.get("quantized"):
        as_stored, inputs = quantized(n_rows, dim, norms=told.get("norms", False), drawn=draw)
    if told.get("qout"):
        labels_stored, outputs = quantized(n_labels, dim, norms=True, part=3, drawn=draw)
    sizes = {name: told[name] for name in ("least", "most", "n", "bucket", "loss")}
    data = fasttext_bytes(
        words=WORDS, labels=labels, dim=dim, inputs=as_stored, outputs=labels_stored, pruned=pruned,
        counts=counts, **sizes,
    )  # fmt: skip
    path.write_bytes(data)
    words = tuple(word.encode() for word in WORDS)
    twin = reference.Model(
        words, labels, counts, pruned=pruned, inputs=inputs, outputs=outputs, **sizes
    )
    return path, FastTextModel(path), twin


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(100, 6))
@given(texts=TEXTS)
@example(texts=[f"{TWIN} good", f"good {TWIN}"])
@example(texts=["", "good", "bad</s>", "the </s> bad", "good\0bad\nbad " * 900, "x" * 9000])
def test_labels_and_probabilities_are_those_of_fasttext_and_of_the_twin(kind, texts):
    path, model, twin = drawn(kind)
    theirs = loaded(path)
    labels, probabilities = model.tell(pa.array(texts, pa.string()))
    by_label = [model.tell(pa.array(texts, pa.string()), i)[1] for i in range(len(model.labels))]
    for d, text in enumerate(texts):
        line = text.replace("\n", " ") + "\n"
        near = 2e-6 + 1e-8 * len(line)  # float32 rounds each sum
        best = next(iter(theirs(line, 1, 0.0, "strict")), (0.0, None))
        assert best[1] == (model.labels[labels[d]] if labels[d] >= 0 else None)
        assert abs(probabilities[d] - min(1.0, best[0])) < near
        of_all = {label: min(1.0, p) for p, label in theirs(line, -1, 0.0, "strict")}
        slow = reference.probabilities(twin, text)
        step = 0.01 if twin.loss in (NS, OVA) else 2e-5  # of fastText's table of sigmoids
        for label, found in zip(model.labels, by_label, strict=True):
            assert abs(found[d] - of_all.get(label, 0.0)) < near
            assert abs(found[d] - min(1.0, slow.get(label, 0.0))) < step + near


@pytest.mark.parametrize("loss", [HS, NS, SOFTMAX, OVA])
def test_labels_and_numbers_are_as_many_as_they_are(loss, tmp_path):
    """Beside multiples of what kernels take at once."""
    texts = ["good", "bad the", "good bad good", ""]
    step = 0.01 if loss in (NS, OVA) else 2e-5
    for n_labels in (1, 2, 7, 8, 9, 17):
        for dim in (1, 4, 5, 8, 17):
            kind = {"loss": loss, "n_labels": n_labels, "dim": dim, "n": 2, "bucket": 3}
            _, model, twin = made(kind, tmp_path / "model.bin")
            expected = [reference.probabilities(twin, text) for text in texts]
            for i in (0, n_labels - 1):
                _, found = model.tell(pa.array(texts), i)
                right = [min(1.0, of.get(model.labels[i], 0.0)) for of in expected]
                assert np.abs(found - right).max() < step + 1e-5, (n_labels, dim)


@pytest.mark.parametrize("loss", [HS, NS, SOFTMAX, OVA])
@pytest.mark.parametrize("n_labels", [1, 2, 3, 5, 9])
def test_of_labels_that_are_alike_the_one_of_fasttext_is_told(loss, n_labels, tmp_path):
    path = saved_fasttext(
        tmp_path, labels=tuple(f"__label__{i}" for i in range(n_labels)), counts=(3,) * n_labels,
        outputs=np.ones((n_labels, 2)), inputs=np.ones((4, 2)), loss=loss,
    )  # fmt: skip
    model = FastTextModel(path)
    ((p, label),) = fasttext.load_model(str(path)).f.predict("good\n", 1, 0.0, "strict")
    labels, found = model.tell(pa.array(["good"]))
    assert (model.labels[labels[0]], found[0]) == (label, pytest.approx(min(1.0, p), abs=2e-6))


@functools.cache
def loaded(path):
    return fasttext.load_model(str(path)).f.predict


def test_threads_share_a_model_and_what_a_batch_is_does_not_matter():
    _, model, _ = drawn("all of them, by a tree")
    draw = np.random.default_rng(1)
    texts = pa.array([" ".join(draw.choice(PIECES, 30)) for _ in range(3000)])
    whole = model.tell(texts)
    parts = [texts.slice(at, 100) for at in range(0, 3000, 100)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(model.tell, parts))
    assert np.array_equal(np.concatenate([labels for labels, _ in found]), whole[0])
    assert np.array_equal(np.concatenate([p for _, p in found]), whole[1])


def test_scores_never_exceed_1(tmp_path):
    sure = np.array([[99.0, 0.0], [-99.0, 0.0]])
    path = saved_fasttext(tmp_path, inputs=np.ones((4, 2)), outputs=sure)
    scores = FastTextScores(FastTextModel(path), LABELS[0]).scores(pa.array(["good"]))
    assert scores.tolist() == [1.0]


def test_a_label_may_be_given_without_its_prefix(tmp_path):
    path = saved_fasttext(tmp_path)
    assert full_label(path, "hq") == full_label(path, "__label__hq") == "__label__hq"
    with pytest.raises(ConfigError, match="no label 'HQ'; it has __label__hq, __label__cc"):
        full_label(path, "HQ")
    with pytest.raises(ConfigError, match="name the label of good documents, as label: NAME; has"):
        full_label(path, None)


def test_a_file_cut_anywhere_is_refused(tmp_path):
    path = saved_fasttext(tmp_path)
    whole = path.read_bytes()
    for size in range(4, len(whole)):
        path.write_bytes(whole[:size])
        assert is_fasttext(path)
        with pytest.raises(ConfigError, match=r"not a whole fastText model \(.*copy it again"):
            check_fasttext(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(ConfigError, match="it ends at byte 270, the file at 271"):
        check_fasttext(path)


def test_n_grams_may_share_one_bucket_and_labels_one_row(tmp_path):
    one = {"inputs": np.ones((5, 2)), "n": 2, "bucket": 1, "labels": LABELS[:1], "counts": (1,)}
    model = FastTextModel(saved_fasttext(tmp_path, outputs=np.ones((1, 2)), **one))
    assert model.labels == LABELS[:1]
    assert model.tell(pa.array(["good bad"]))[0].tolist() == [0]


def test_word_vectors_classify_nothing(tmp_path):
    with pytest.raises(ConfigError, match="a fastText model of word vectors, which has no labels"):
        check_fasttext(saved_fasttext(tmp_path, kind=2))


def test_other_versions_are_refused(tmp_path):
    made = bytearray(fasttext_bytes(inputs=INPUTS, outputs=OUTPUTS))
    made[4] = 13
    path = tmp_path / "new.bin"
    path.write_bytes(made)
    with pytest.raises(ConfigError, match="version 13, not 11 or 12"):
        check_fasttext(path)


GRAMS = {"words": WORDS, "inputs": np.zeros((29, 2)), "bucket": 20, "least": 2, "most": 3}


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"inputs": np.full((4, 2), np.nan)}, "numbers that are infinite, over 1,000,000, or none"),
        ({"outputs": np.full((2, 2), np.inf)}, "numbers that are infinite"),
        ({"inputs": np.zeros((3, 2))}, "3 and 2 rows for 4 words and 2 labels"),
        ({"outputs": np.zeros((9, 2))}, "4 and 9 rows for 4 words and 2 labels"),
        ({"dim": 3}, "rows of 2 numbers, not 3"),
        ({"loss": 7}, "loss 7, not 1 to 4"),
        ({"counts": (-1, 2)}, "impossible counts"),
        ({"counts": (10**15, 2)}, "impossible counts"),
        ({"n": 2}, "0 buckets of n-grams"),
        (GRAMS | {"bucket": 21}, "21 buckets of n-grams, 20 rows"),
        (GRAMS | {"most": 10**9}, "n-grams of 1,000,000,000 characters"),
        (GRAMS | {"pruned": {3: 20}}, "n-grams in 20 buckets without a row of 20"),
        (GRAMS | {"pruned": {20: 3}}, "n-grams in 20 buckets without a row"),
        (GRAMS | {"pruned": {3: -1}}, "n-grams in 20 buckets without a row"),
        (GRAMS | {"pruned": {3: 1}, "bucket": 2**31 - 1}, "n-grams in 2,147,483,647 buckets"),
        ({"labels": ()}, "no labels|rows for 4 words and 0 labels"),
    ],
)
def test_a_file_that_lies_is_refused(tmp_path, told, message):
    with pytest.raises(ConfigError, match=f"not a whole fastText model .*{message}"):
        check_fasttext(saved_fasttext(tmp_path, **told))


@settings(max_examples=examples(2000, 60))
@given(st.data())
def test_whatever_bytes_a_file_has_it_is_refused_or_tells_probabilities(tmp_path_factory, data):
    """Numbers anywhere in a model replaced by ones that were drawn."""
    whole = bytearray(drawn(data.draw(st.sampled_from(sorted(KINDS))))[0].read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(8, 400) | st.integers(8, len(whole) - 9))
        number = data.draw(st.sampled_from([-1, 0, 1, 2, 255, 2**15, 2**31 - 1, -(2**31)]))
        whole[at : at + 4] = struct.pack("<i", number)
    path = tmp_path_factory.mktemp("lies") / "lies.bin"
    path.write_bytes(whole)
    try:
        model = FastTextModel(path)
    except ConfigError:
        return
    labels, probabilities = model.tell(pa.array(["good bad \u00e9t\u00e9 unknown", ""]))
    assert (labels < len(model.labels)).all()
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
