import math
import random
import statistics

from hypothesis import given
from hypothesis import strategies as st

from tokenmill.pipelines.core.measured import measure, ratio_and_error


def shard(source="web", docs=1, tokens=10, text_bytes=40, token_file_bytes=24, **further):
    return further | {
        "source": source,
        "docs": docs,
        "chars": text_bytes,
        "tokens": tokens,
        "text_bytes": text_bytes,
        "token_file_bytes": token_file_bytes,
    }


def test_the_total_is_the_sum_of_the_sources():
    made = measure([shard("a"), shard("b", tokens=30), shard("b", text_bytes=60)], 100)
    assert made["total"].tokens == made["a"].tokens + made["b"].tokens == 50
    assert made["total"].text_bytes == made["a"].text_bytes + made["b"].text_bytes == 140
    assert math.isclose(made["total"].stored_bytes, 100)
    assert math.isclose(made["a"].stored_bytes + made["b"].stored_bytes, 100)
    assert made["total"].text_bytes_per_token == 140 / 50


def with_images(docs, images, image_tokens, *, text_tokens=10, with_bytes=None):
    """A shard of images of 100 bytes and 50 pixels each."""
    known = images if with_bytes is None else with_bytes
    return shard(
        docs=docs,
        tokens=image_tokens + text_tokens,
        images={
            "images": images,
            "image_bytes": 100 * known,
            "image_tokens": image_tokens,
            "pixels": 50 * images,
            "with_bytes": known,
            "with_size": images,
        },
    )


def test_tokens_that_stand_for_images_are_none_of_text():
    made = measure([with_images(2, 3, 300), with_images(1, 1, 20, text_tokens=30)], 1000)["total"]
    assert made.tokens == 360
    assert made.text_bytes_per_token == 80 / 40
    assert math.isclose(made.stored_bytes_per_token, 1000 / 360)
    of = made.images
    assert (of.images, of.image_bytes, of.image_tokens) == (4, 400, 320)
    values = {name: r["value"] for name, r in made.to_json()["images"].items() if name[-1] != "s"}
    assert values == {
        "bytes_per_token": 480 / 360,
        "bytes_per_doc": 480 / 3,
        "image_bytes_per_doc": 400 / 3,
        "images_per_doc": 4 / 3,
        "bytes_per_image": 100,
        "pixels_per_image": 50,
        "tokens_per_image": 320 / 4,
        "tokens_per_doc": 360 / 3,
        "text_tokens_per_doc": 40 / 3,
        "text_bytes_per_doc": 80 / 3,
    }
    assert of.bytes_per_image.se == 0
    assert of.images_per_doc.se == ratio_and_error([3, 1], [2, 1])[1] > 0


def test_an_image_of_unknown_size_does_not_make_the_mean_smaller():
    of = measure([with_images(2, 4, 4, with_bytes=3)], 0)["total"].images
    assert (of.bytes_per_image.value, of.image_bytes_per_doc.value) == (100, 150)
    none = measure([with_images(2, 4, 4, with_bytes=0)], 0)["total"].images
    assert none.bytes_per_image.value is None


def test_a_run_without_a_token_of_text_has_no_text_bytes_per_token():
    made = measure([with_images(2, 2, 8, text_tokens=0)], 16)["total"]
    assert (made.text_bytes_per_token, made.stored_bytes_per_token) == (None, 2)


def test_a_run_of_text_says_nothing_of_images():
    assert "images" not in measure([shard()], 1)["total"].to_json()
    assert "images" in measure([with_images(0, 0, 0)], 1)["total"].to_json()


def test_no_documents_give_no_ratio_rather_than_zero():
    made = measure([shard(docs=0, tokens=0, text_bytes=0)], 0)
    assert made["total"].text_bytes_per_token is None
    assert made["total"].stored_bytes_per_token_se is None


def test_one_shard_gives_no_error():
    assert ratio_and_error([4.0], [1.0]) == (4.0, None)


@given(st.lists(st.integers(1, 100), min_size=2, max_size=20), st.floats(0.5, 8.0))
def test_shards_of_one_ratio_have_no_error(tokens, ratio):
    _, se = ratio_and_error([t * ratio for t in tokens], tokens)
    assert se is not None
    assert se < 1e-9 * ratio


def test_the_standard_error_is_that_of_repeated_sampling():
    """1,000 corpora of 40 shards: the mean stated error is the spread actually seen."""
    rng = random.Random(1)
    ratios, errors = [], []
    for _ in range(1000):
        tokens = [rng.randint(500, 1500) for _ in range(40)]
        text = [t * rng.gauss(4.0, 0.4) for t in tokens]
        ratio, se = ratio_and_error(text, tokens)
        ratios.append(ratio)
        errors.append(se)
    assert math.isclose(statistics.mean(errors), statistics.stdev(ratios), rel_tol=0.1)
