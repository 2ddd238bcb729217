"""Ids of documents with images, against one document at a time."""

import functools
import json
from itertools import pairwise

import pyarrow as pa
import pytest
import tokenizers
from hypothesis import example, given
from hypothesis import strategies as st

from tests.pipelines.read.images.batches import illustrated, image
from tests.reference import image_tokens as reference
from tests.strategies import words
from tokenmill.pipelines.core.errors import ConfigError, LedgerError
from tokenmill.pipelines.core.schema import IMAGE, PLACEHOLDER
from tokenmill.pipelines.read.options import Images, Patches
from tokenmill.pipelines.tokens import images as tokens
from tokenmill.pipelines.tokens.images import batches_of, encode_illustrated, tokens_of
from tokenmill.pipelines.tokens.options import Tokenizer
from tokenmill.pipelines.tokens.tokenize import load_engine

TOKEN = "<image>"
sides = st.one_of(st.none(), st.integers(1, 2**31 - 1), st.integers(1, 40))
limits = st.one_of(st.none(), st.integers(1, 30))
patches = st.builds(
    Patches, patch=st.integers(1, 20), merge=st.integers(1, 3), longest=limits, most=limits
)
texts = st.lists(st.one_of(words, st.sampled_from([TOKEN, "<", "image>", "\n\n"])), max_size=6)


@st.composite
def documents(draw):
    """Samples, text with images between, and text alone."""
    made = []
    for _ in range(draw(st.integers(0, 5))):
        pieces = ["".join(t) for t in draw(st.lists(texts, min_size=1, max_size=4))]
        small = st.one_of(st.none(), st.integers(1, 60))
        if len(pieces) > 1 or draw(st.booleans()):
            n, text = len(pieces) - 1, PLACEHOLDER.join(pieces)
        else:
            n, text = draw(st.integers(0, 3)), pieces[0]
        made.append((text, [image(i, width=draw(small), height=draw(small)) for i in range(n)]))
    return made


def with_token(path, folder):
    """The tokenizer with a token of its own for images, one that text is searched for."""
    data = json.loads(path.read_text())
    new = {"id": 600, "content": TOKEN, "special": False}
    data["added_tokens"].append({**data["added_tokens"][0], **new})
    (folder / "own.json").write_text(json.dumps(data))
    return folder / "own.json"


@pytest.fixture(scope="module", params=["own", "one more"])
def path(request, tokenizer_path, tmp_path_factory):
    if request.param == "one more":
        return tokenizer_path
    return with_token(tokenizer_path, tmp_path_factory.mktemp("own"))


@functools.cache
def library(path):
    made = tokenizers.Tokenizer.from_file(str(path))
    made.encode_special_tokens = True
    return made


def slowly(tokenizer):
    """What encodes one text, whatever it spells."""

    def encode(text):
        pieces = text.split(TOKEN)
        parts = [pieces[0], *(TOKEN[1:] + p for p in pieces[1:])]
        cut = [p + TOKEN[0] for p in parts[:-1]] + parts[-1:]
        return [i for p in cut for i in tokenizer.encode(p, add_special_tokens=False).ids]

    def plainly(text):
        return tokenizer.encode(text, add_special_tokens=False).ids

    return plainly if tokenizer.token_to_id(TOKEN) is None else encode


@given(
    docs=documents(),
    rule=st.one_of(st.integers(0, 3), patches),
    first=st.integers(0, 5),
    bos=st.booleans(),
    eos=st.booleans(),
)
def test_ids_are_those_of_each_document_alone(path, docs, rule, first, bos, eos):
    engine = load_engine(Tokenizer(path=str(path), bos=bos, eos=eos), "auto", TOKEN)
    tokenizer = library(path)
    made, per_image, text = encode_illustrated(
        engine, illustrated(docs).slice(first), Images(tokens=rule)
    )
    expected = [
        reference.encoded(
            text,
            images,
            rule=rule,
            encode=slowly(tokenizer),
            image_id=600,
            bos=[engine.bos_id] if bos else [],
            eos=[engine.eos_id] if eos else [],
        )
        for text, images in docs[first:]
    ]
    assert [made.ids[a:b].tolist() for a, b in pairwise(made.offsets)] == expected
    assert made.ids.dtype == engine.dtype
    assert per_image.sum() == sum(ids.count(600) for ids in expected)
    assert sum(made.by.values()) == len(docs[first:])
    assert text.to_pylist() == [t.replace(PLACEHOLDER, "") for t, _ in docs[first:]]


@given(st.lists(st.tuples(sides, sides), max_size=5), patches)
@example([(3, 1000), (1000, 3)], Patches(patch=1, longest=500))
def test_tokens_by_size_are_those_of_the_formula(sizes, rule):
    images = [image(width=width, height=height) for width, height in sizes]
    made = tokens_of(pa.array(images, IMAGE), rule)
    assert made.tolist() == [reference.placeholders(i, rule) for i in images]


@given(st.lists(st.integers(0, 5), max_size=8), st.integers(1, 12), st.integers(0, 3))
def test_batches_are_of_so_many_placeholders_or_one_document(counts, most, each):
    documents = illustrated([("text", [image()] * n) for n in counts])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "BATCH_IDS", most)
        parts = [batch.to_pylist() for batch in batches_of(documents, each)]
    assert [row for part in parts for row in part] == documents.to_pylist()
    made = [sum(each * len(row["images"]) for row in part) for part in parts]
    assert all(n <= most or len(part) == 1 for n, part in zip(made, parts, strict=True))
    assert all(a + each * len(b[0]["images"]) > most for a, b in zip(made, parts[1:], strict=False))


def test_ids_of_known_images():
    sizes = [image(width=w, height=h) for w, h in ((336, 336), (337, 336), (1, 9999), (None, 5))]
    items = pa.array(sizes, IMAGE)
    assert tokens_of(items, 5).tolist() == [5, 5, 5, 5]
    assert tokens_of(items, Patches()).tolist() == [576, 600, 715, 1]
    # as Qwen2-VL merges patches, and as CLIP at 336 pixels, but for the shape
    assert tokens_of(items, Patches(merge=2)).tolist() == [144, 156, 358, 1]
    assert tokens_of(items, Patches(longest=336, most=100)).tolist() == [100, 100, 24, 100]


def test_an_id_more_than_the_vocabulary_has_must_fit(tokenizer_path, tmp_path):
    data = json.loads(tokenizer_path.read_text())
    vocab = data["model"]["vocab"]
    vocab |= {f"<filler{i}>": i for i in range(len(vocab), 65536)}
    path = tmp_path / "full.json"
    path.write_text(json.dumps(data))
    config = Tokenizer(path=str(path))
    assert load_engine(config).dtype == "uint16"
    assert load_engine(config, "auto", "<image>").dtype == "int32"
    with pytest.raises(ConfigError) as e:
        load_engine(config, "uint16", "<image>")
    assert str(e.value) == (
        f"output.dtype: {path} with '<image>' added has ids up to 65536,"
        " which uint16 cannot hold; use auto"
    )


def test_the_vocabulary_s_own_token_is_taken(tokenizer_path):
    engine = load_engine(Tokenizer(path=str(tokenizer_path)), "auto", "[CLS]")
    assert engine.image_id == engine.reference.token_to_id("[CLS]")
    assert load_engine(Tokenizer(path=str(tokenizer_path))).image_id is None


def test_a_placeholder_that_text_makes_whatever_is_done_is_refused(tokenizer_path):
    engine = load_engine(Tokenizer(path=str(tokenizer_path)), "auto", "a")
    with pytest.raises(ConfigError, match="images.token: text makes 'a' too, .* another token"):
        encode_illustrated(engine, illustrated([("xax", [])]), Images(token="a"))


def test_places_and_images_of_unequal_number_are_a_bug_with_a_name(tokenizer_path):
    engine = load_engine(Tokenizer(path=str(tokenizer_path)), "auto", "<image>")
    batch = illustrated([("a sample", [image()]), (PLACEHOLDER, [image(0), image(1)])])
    with pytest.raises(LedgerError, match=r"document 1 \(doc-1\) has 2 images and 1 places"):
        encode_illustrated(engine, batch, Images())
    with pytest.raises(LedgerError, match="has 0 images and 1 places"):
        encode_illustrated(engine, illustrated([(PLACEHOLDER, [])]), Images())


def test_a_document_of_more_ids_than_a_row_holds_is_refused(tokenizer_path):
    engine = load_engine(Tokenizer(path=str(tokenizer_path)), "auto", "<image>")
    batch = illustrated([("", [image()]), ("", [image(), image()])])
    with pytest.raises(ConfigError, match=r"doc-1 would have 2,400,000,001 ids, .*\(most\)"):
        encode_illustrated(engine, batch, Images(tokens=1_200_000_000))
