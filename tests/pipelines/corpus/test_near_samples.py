"""Samples are not taken for the same by their captions alone."""

import hashlib
from functools import cache
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from datasets import load_from_disk
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.pipelines.corpus.repeats_corpora import batch_of
from tests.pipelines.keyed import find, found, job_of
from tests.pipelines.read.images.shards import encoded, noise, png, tar_bytes
from tests.reference import images as of_images
from tests.reference import stars as reference
from tests.running import one_by_one, prepare
from tests.strategies import examples
from tokenmill.dedup.same.minhash import signed_shingles
from tokenmill.pipelines.core.schema import ILLUSTRATED, PLACEHOLDER, doc_ids
from tokenmill.pipelines.corpus import buckets, edges, stars
from tokenmill.pipelines.corpus.equal import ExactDedup
from tokenmill.pipelines.corpus.looks import ON_GREY, ON_WHITE, Views, looks_of
from tokenmill.pipelines.corpus.near import NearDedup
from tokenmill.pipelines.corpus.step import document_keys, key_schema
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.read.images.blobs import Window
from tokenmill.pipelines.read.options import Images
from tokenmill.pipelines.runs.folder import KEYS
from tokenmill.pipelines.storage.files import arrow_file

CAPTION = "a cat sits on a mat in front of a red door"


def keys_of(step, *documents):
    """(n_docs, n_bands), of `exact` (n_docs, 2): a text, and of each image URL and MD5."""
    rows = []
    for i, (text, *images) in enumerate(documents):
        some = [{"number": n, "url": u, "md5": m} for n, (u, m) in enumerate(images)]
        rows.append({"doc_id": i, "url": None, "text": text, "images": some})
    columns = step.key_columns(batch_of(rows), "source")
    if isinstance(step, ExactDedup):
        return np.asarray(columns[0].flatten()).reshape(len(rows), -1)
    return np.stack([np.asarray(column) for column in columns[-step.lsh().bands :]], axis=1)


A, B = ("https://a.org/a", b"a" * 16), ("https://a.org/b", b"b" * 16)


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ([A], [B], False),
        ([A], [("https://b.org/a", A[1])], True),
        ([("u", None)], [("u", None)], True),
        ([("u", None)], [("v", None)], False),
        ([A, B], [B, A], True),
        ([A], [A, B], False),
        ([(None, None)], [(None, None)], False),
    ],
    ids=["others", "equal", "one url", "two urls", "any order", "one more", "unknown"],
)
def test_samples_meet_by_captions_and_the_same_images(one, other, meet):
    documents = (CAPTION, *one), (CAPTION, *other)
    for digest in ("md5", "xxh3"):
        x, y = keys_of(ExactDedup(digest=digest), *documents)
        assert (x == y).all() == meet
        x, y = keys_of(ExactDedup(digest=digest), documents[0], (f"{CAPTION}s", *one))
        assert (x != y).any()
    x, y = keys_of(ExactDedup(samples="captions"), *documents)
    assert (x == y).all()
    x, y = keys_of(NearDedup(), *documents)
    assert ((x == y) & (x != 0)).any() == meet
    x, y = keys_of(NearDedup(samples="captions"), *documents)
    assert (x == y).all()


@pytest.mark.parametrize("documents", [((CAPTION,), (CAPTION,)), None], ids=["text", "interleaved"])
def test_text_is_compared_where_images_stand_in_it_or_there_are_none(documents):
    woven = f"{PLACEHOLDER}\n\n{CAPTION}"
    x, y = keys_of(NearDedup(), *(documents or ((woven, A), (woven, B))))
    assert (x == y).all()
    assert x.any()
    x, y = keys_of(ExactDedup(samples="captions"), *(documents or ((woven, A), (woven, B))))
    assert (x == y).all()


def test_documents_with_images_in_their_text_can_be_told_apart_by_these():
    woven = f"{PLACEHOLDER}\n\n{CAPTION}"
    for step in (ExactDedup(), NearDedup(samples="documents")):
        x, y, z = keys_of(step, (woven, A), (woven, B), (woven, A))
        assert (x != y).any()
        assert not ((x == y) & (x != 0)).any() or isinstance(step, ExactDedup)
        assert (x == z).all()


SMALL = {"ngram": 1, "words": "whitespace", "num_perm": 8, "bands": 4, "rows": 2, "verify": 0.5}
CAPTIONS = ("", "a b c d", "a b c d e", "b c d e f", "x y z")


def photo(seed):
    return noise(20, 20, seed).resize((160, 120), Image.Resampling.BICUBIC)


@cache
def pool():
    """Of two photos each as it is, in another encoding, smaller and brighter; a plain one; bytes
    that do not decode; and one known by its URL alone.
    """
    made = []
    for seed in (5, 6):
        photo = noise(20, 20, seed).resize((160, 120), Image.Resampling.BICUBIC)
        made += [
            encoded(photo, "PNG"),
            encoded(photo, "JPEG"),
            encoded(photo.resize((80, 60)), "PNG"),
        ]
        made += [encoded(photo.point(lambda level: min(level * 5 // 4, 255)), "PNG")]
    return [*made, png(colour=(9, 9, 9)), b"broken", None]


@cache
def picture(number):
    """As the reference has it."""
    data = pool()[number]
    if data is None:
        return (0, 1), 0, 0, None
    found = looks_of(data, 10**6, Views())
    kind = found.kind if found.kind in (ON_WHITE, ON_GREY) else 0
    return (1, number), kind, int(found.hashes[0]), found.looks[0]


def batch_with(documents, first):
    """(caption, numbers of its images, whether they stand in it) as documents, and their bytes."""
    pieces, rows = [], []
    for row, (caption, numbers, in_text) in enumerate(documents):
        images = []
        for n, number in enumerate(numbers):
            data = pool()[number]
            image = {"number": n, "url": None if data else "https://a.org/a"}
            if data is not None:
                image |= {"md5": hashlib.md5(data).digest(), "bytes": len(data)}
                image["offset"] = sum(map(len, pieces))
                pieces.append(data)
            images.append(image)
        text = PLACEHOLDER * len(numbers) + caption if in_text else caption
        rows.append({"doc_id": first + row, "id": str(row), "text": text, "images": images})
    return pa.RecordBatch.from_pylist(rows, schema=ILLUSTRATED), Window(0, pieces)


def run(folder, step, shards):
    """{row: (row it leaves for, similarity)}, and the key sidecars."""
    job, schema, made = job_of(folder, (step,)), key_schema((step,)), []
    for shard, documents in enumerate(shards):
        batch, blobs = batch_with(documents, int(doc_ids(shard, 0, 1)[0]))
        made.append(document_keys(batch, (step,), schema, source="", blobs=blobs, images=Images()))
        with arrow_file(job.path(KEYS, 0, key=f"{shard:05d}"), schema) as writer:
            writer.write_batch(made[-1])
    sizes = [len(documents) for documents in shards]
    find(job, (step,), sizes)
    rows = {int(i): n for n, i in enumerate(i for keys in made for i in keys["doc_id"].to_pylist())}
    leaving = found(job, step, sizes)
    return {row: (rows[of], alike) for row, (of, alike) in leaving.items()}, made


def same(one, other):
    """Whether two documents may be taken for one, by their images."""
    some, others = (
        [] if in_text else [picture(number) for number in numbers]
        for _, numbers, in_text in (one, other)
    )
    return of_images.same_pictures(some, others, 4)


samples = st.tuples(
    st.sampled_from(CAPTIONS),
    st.lists(st.integers(0, 10), max_size=2),
    st.sampled_from([False, False, False, True]),
)


@settings(max_examples=examples(25), deadline=None)
@given(
    shards=st.lists(st.lists(samples, min_size=1, max_size=12), min_size=1, max_size=3),
    how=st.sampled_from(["images", "alike"]),
    crowded=st.sampled_from([2, 128]),
    share=st.sampled_from([2, 1 << 20]),
)
def test_a_sample_leaves_for_one_whose_caption_and_whose_images_are_near(
    tmp_path_factory, shards, how, crowded, share
):
    step = NearDedup(**SMALL, samples=how)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stars, "MAX_BUCKET", crowded)
        patch.setattr(buckets, "MAX_BUCKET", crowded)
        patch.setattr(stars, "LED", 1_000)
        patch.setattr(stars, "MOST_ROUNDS", 60)
        patch.setattr(edges, "PICTURES_SHARE", share)
        made, keys = run(tmp_path_factory.mktemp("run"), step, shards)
    documents = [document for shard in shards for document in shard]
    batch, _ = batch_with(documents, 0)
    _, shingles = signed_shingles(batch["text"], step.minhash())
    sets = [set(shingles.hashes[a:b].tolist()) for a, b in pairwise(shingles.offsets)]
    named = [column.keys for column in step.shuffled]
    of = [
        list(row)
        for part in keys
        for row in zip(*(part[n].to_pylist() for n in named), strict=True)
    ]

    def may_be(x, y):
        return how == "images" or same(documents[x], documents[y])

    expected = reference.leaving(sets, of, "0.5", same=may_be)
    assert made == {row: (x, float(np.float32(j))) for row, (x, j) in expected.items()}
    for row, (x, _) in made.items():  # never for its caption alone
        assert same(documents[row], documents[x])


@pytest.mark.parametrize("how", ["images", "alike"])
def test_captions_alone_remove_no_sample(tmp_path, how):
    """Of one title each: two photos, a plain one, one that does not decode, a URL."""
    shards = [[("one title of all", [number], False) for number in (0, 4, 8, 9, 10)]]
    assert run(tmp_path, NearDedup(samples=how), shards)[0] == {}


def chain():
    """Three pictures; the second is near both others, and these are not near each other."""
    steps = [encoded(Image.blend(photo(5), photo(6), part / 40), "PNG") for part in range(30)]
    looks = [looks_of(data, 10**6, Views()) for data in steps]
    shown = [((1, i), of.kind, int(of.hashes[0]), of.looks[0]) for i, of in enumerate(looks)]

    def near(x, y):
        return of_images.same_picture(shown[x], shown[y], 4)

    return next(
        [steps[0], steps[i], steps[j]]
        for i in range(1, 30)
        for j in range(i + 1, 30)
        if near(0, i) and near(i, j) and not near(0, j)
    )


def test_near_images_are_asked_of_the_one_that_stays_not_of_a_chain(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.pool", chain)
    shards = [[("one title of all", [number], False) for number in range(3)]]
    made, _ = run(tmp_path, NearDedup(samples="alike"), shards)
    assert {row: of for row, (of, _) in made.items()} == {1: 0}


def test_equal_pictures_of_a_caption_that_all_have_are_found(tmp_path, monkeypatch):
    for module in (stars, buckets):
        monkeypatch.setattr(module, "MAX_BUCKET", 2)
    monkeypatch.setattr(stars, "LED", 0)
    shards = [[("one title of all", [number], False) for number in (0, 4, 8, 9, 10, 4, 8, 9, 10)]]
    made, _ = run(tmp_path, NearDedup(samples="alike"), shards)
    assert {row: of for row, (of, _) in made.items()} == {5: 1, 6: 2, 7: 3, 8: 4}


def test_alike_is_of_stars():
    with pytest.raises(ValueError, match="samples: alike is of cluster: stars"):
        NearDedup(samples="alike", cluster="components")


def test_a_run_removes_a_near_caption_of_a_near_image_with_no_near_images_before_it(
    tmp_path, tokenizer_path
):
    one, other = photo(5), photo(6)
    title = " ".join(f"word{i}" for i in range(40))
    members = {}
    for i, (image, kind, caption) in enumerate(
        [
            (one, "png", title),
            (one, "jpg", f"{title} more"),
            (other, "png", title),
            (one.resize((120, 90)), "png", "a caption of other words"),
        ]
    ):
        data = encoded(image, {"png": "PNG", "jpg": "JPEG"}[kind])
        members |= {f"{i:02d}.{kind}": data, f"{i:02d}.txt": caption.encode()}
    (tmp_path / "samples.tar").write_bytes(tar_bytes(members))
    recipe = {
        "name": "samples",
        "inputs": [{"path": str(tmp_path / "samples.tar")}],
        "tokenizer": {"path": str(tokenizer_path)},
        "images": {},
        "steps": [{"near": {"samples": "alike"}}],
    }
    prepare(make_recipe(recipe, where="test"), tmp_path / "run", one_by_one)
    rows = load_from_disk(str(tmp_path / "run" / "dataset"))
    assert [row["id"].rpartition("/")[2] for row in rows] == ["00", "02", "03"]
