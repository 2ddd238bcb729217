"""What is counted over shards, in parts of whatever size, is what plain dictionaries count."""

import pytest

from pipelines.arrow_files import arrow_file
from pipelines.duplicates import find_equal, write_duplicates
from pipelines.errors import ConfigError, ShardError
from pipelines.keys import document_keys, key_schema
from pipelines.passes import duplicate_finders
from pipelines.prepare_job import PrepareJob
from pipelines.recipe import make_recipe
from pipelines.repeats import count
from pipelines.repeats.count import find_repeats
from pipelines.repeats.found import read_found
from pipelines.repeats.steps import RepeatedImages, RepeatedParagraphs, SameImages, SameUrl
from pipelines.repeats.units import unit_schema, units_maker
from pipelines.sidecar import open_arrow
from pipelines.spill import spill_keys
from pipelines.spill_rows import write_rows
from tests.pipelines.repeats.corpora import batch_of, corpus
from tests.reference import repeats as reference

BATCH = 13
IMAGE_STEPS = {
    "none": RepeatedImages(),
    "first": RepeatedImages(keep="first"),
    "md5, url": RepeatedImages(by=("md5", "url"), keep="first"),
    "url": RepeatedImages(by=("url",), more_than=9),
    "once": RepeatedImages(more_than=1),
}
PARAGRAPH_STEPS = {
    "domain": RepeatedParagraphs(),
    "corpus": RepeatedParagraphs(within="corpus", more_than=3),
    "first": RepeatedParagraphs(keep="first"),
}


def job_of(out, steps, budget="4GiB"):
    recipe = {
        "inputs": [{"path": "docs.jsonl"}],
        "steps": list(steps),
        "images": {},
        "tokenizer": {"path": "tokenizer.json"},
        "run": {"memory_budget": budget},
    }
    return PrepareJob(out=out, recipe=make_recipe(recipe, where="test"), identity="test")


def write_sidecars(job, shards):
    """What a pass writes beside its documents; the keys of its shards."""
    steps = job.recipe.steps
    finders = duplicate_finders(steps)
    schema, step = key_schema(finders), steps[-1]
    counted = isinstance(step, RepeatedImages | RepeatedParagraphs)
    for shard, docs in enumerate(shards):
        batches = [batch_of(docs[at : at + BATCH]) for at in range(0, len(docs), BATCH)]
        with arrow_file(job.keys(0, str(shard)), schema) as keys:
            for batch in batches:
                keys.write_batch(document_keys(batch, finders, schema, source=""))
        if counted:
            with arrow_file(job.units(0, str(shard)), unit_schema(step)) as units:
                for batch in batches:
                    units.write_batch(units_maker(step, None)(batch, None))
    keys = tuple(str(s) for s in range(len(shards)))
    write_rows(job, 0, steps, keys, tuple(map(len, shards)))
    return keys


def find_same(job, steps):
    """Find documents of equal keys by the first of the steps; what is told of them."""
    name = steps[0].name
    spill_keys(job, 0, steps, name, 0)
    done = find_equal(job, 0, steps, name, 0)
    write_duplicates(job, 0, steps, name, 0)
    return done.facts


def found_in(job, shards):
    """{(doc_id, number): (by, count, first)}; rows in order, a batch for each of documents."""
    out, named = {}, []
    for shard, docs in enumerate(shards):
        batches = list(read_found(job.repeated(0, str(shard))))
        assert len(batches) == -(-len(docs) // BATCH)
        for at, batch in enumerate(batches):
            ids = {doc["doc_id"] for doc in docs[at * BATCH : (at + 1) * BATCH]}
            for row in batch.to_pylist():
                assert row["doc_id"] in ids
                named.append((row["doc_id"], row["number"]))
                first = (row["of_doc_id"], row["of_number"])
                out[named[-1]] = (row["by"], row["value"], first)
    assert named == sorted(set(named))
    return out


def expected(step, docs):
    options = {"more_than": step.more_than, "keep": step.keep}
    if isinstance(step, RepeatedParagraphs):
        found = reference.repeated_paragraphs(docs, within=step.within, **options)
        return {name: (0, *told) for name, told in found.items()}
    found = reference.repeated_images(docs, by=step.by, **options)
    by = [f"repeated_{name}" for name in step.by]
    return {name: (by.index(told[0]), *told[1:]) for name, told in found.items()}


def files(out):
    return {p.name: p.read_bytes() for p in (out / "19-repeated").iterdir()}


@pytest.mark.parametrize("step", (IMAGE_STEPS | PARAGRAPH_STEPS).values(), ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_what_is_too_frequent_is_what_dictionaries_find(tmp_path, step, seed):
    shards = corpus(seed)
    job = job_of(tmp_path, [step])
    write_sidecars(job, shards)
    find_repeats(job, 0, (step,))
    wanted = expected(step, [doc for docs in shards for doc in docs])
    assert len(wanted) > 20
    assert found_in(job, shards) == wanted


@pytest.mark.parametrize("step", [IMAGE_STEPS["first"], PARAGRAPH_STEPS["domain"]], ids=repr)
def test_memory_changes_nothing(tmp_path, step, monkeypatch):
    shards = corpus(1, (300, 0, 4_500, 5))
    whole = job_of(tmp_path / "whole", [step])
    write_sidecars(whole, shards)
    facts = find_repeats(whole, 0, (step,)).facts
    assert found_in(whole, shards) == expected(step, [doc for docs in shards for doc in docs])
    n_parts = []

    def counted(*args):
        made = list(parts(*args))
        n_parts.append(len(made))
        return made

    parts = count.parts
    monkeypatch.setattr(count, "parts", counted)
    little = job_of(tmp_path / "little", [step], "256KiB")
    write_sidecars(little, shards)
    done = find_repeats(little, 0, (step,))
    assert min(n_parts) > 1
    assert done.facts == facts
    assert files(tmp_path / "little") == files(tmp_path / "whole")
    assert {p.name for p in done.files} == set(files(tmp_path / "whole"))


def test_one_image_that_is_more_than_fits_is_counted(tmp_path):
    shards = corpus(2, (300, 900))
    for docs in shards:
        for doc in docs:
            image = {"url": "https://x.org/logo.png", "md5": None}
            doc["images"] = [{"number": i, **image} for i in range(9)]
    step = RepeatedImages(keep="first")
    job = job_of(tmp_path, [step], "256KiB")
    write_sidecars(job, shards)
    facts = find_repeats(job, 0, (step,)).facts
    found = found_in(job, shards)
    assert found == expected(step, [doc for docs in shards for doc in docs])
    assert len(found) == 1200 * 9 - 1
    assert facts == {
        "images": 10_800,
        "url": {"repeated": 1, "units": 10_800, "most": [[0, 0, 10_800]]},
        "md5": {"repeated": 0, "units": 0, "most": []},
    }


@pytest.mark.parametrize("seed", range(3))
def test_facts_name_the_most_frequent(tmp_path, seed):
    shards = corpus(seed)
    step = RepeatedImages()
    job = job_of(tmp_path, [step])
    write_sidecars(job, shards)
    facts = find_repeats(job, 0, (step,)).facts
    docs = [doc for docs in shards for doc in docs]
    assert facts["images"] == sum(len(doc["images"]) for doc in docs)
    for by in ("url", "md5"):
        every = reference.repeated_images(docs, by=(by,), more_than=1)
        counts = {told[2]: told[1] for told in every.values()}
        often = {first: n for first, n in counts.items() if n > 10}
        most = sorted(counts, key=lambda first: (-counts[first], first))[:20]
        assert facts[by] == {
            "repeated": len(often),
            "units": sum(often.values()),
            "most": [[*first, counts[first]] for first in most],
        }


@pytest.mark.parametrize("step", [IMAGE_STEPS["none"], PARAGRAPH_STEPS["first"]], ids=repr)
@pytest.mark.parametrize("before", [SameUrl(), SameImages(by="md5", keep="first")], ids=repr)
def test_documents_that_a_step_before_removes_count_for_nothing(tmp_path, step, before):
    shards = corpus(5)
    for docs in shards:  # a third of the documents is there twice
        docs[::3] = [{**doc, "url": "https://same.org"} for doc in docs[::3]]
        for doc in docs[::4]:
            doc["images"] = [{"number": 0, "url": None, "md5": b"0123456789abcdef"}]
    job = job_of(tmp_path, [before, step])
    write_sidecars(job, shards)
    find_same(job, (before, step))
    facts = find_repeats(job, 0, (before, step)).facts
    docs = [doc for docs in shards for doc in docs]
    gone = reference.same_url(docs)
    if before.name == "same_images":
        gone = reference.same_images(docs, by="md5", keep="first")
    assert len(gone) > 10
    left = [doc for doc in docs if doc["doc_id"] not in gone]
    assert found_in(job, shards) == expected(step, left)
    if isinstance(step, RepeatedImages):
        assert facts["images"] == sum(len(doc["images"]) for doc in left)


@pytest.mark.parametrize("keep", ["first", "last"])
@pytest.mark.parametrize("budget", ["4GiB", "286KiB"])
@pytest.mark.parametrize("kind", [SameUrl, SameImages, "md5"])
def test_equal_documents_are_those_that_dictionaries_find(tmp_path, kind, keep, budget):
    step = SameImages(by="md5", keep=keep) if kind == "md5" else kind(keep=keep)
    shards = corpus(3, (400, 0, 600))
    for docs in shards:  # sets in another order, and with repeats
        for doc in docs[::5]:
            doc["images"] = [
                {"number": i, "url": f"{u}", "md5": b"x" * 15 + u.encode()}
                for i, u in enumerate(["a", "b", "b"][:: 1 if len(docs) > 500 else -1])
            ]
    job = job_of(tmp_path, [step], budget)
    keys = write_sidecars(job, shards)
    find_same(job, (step,))
    docs = [doc for docs in shards for doc in docs]
    wanted = (
        reference.same_url(docs, keep=keep)
        if kind is SameUrl
        else reference.same_images(docs, by=step.by, keep=keep)
    )
    assert len(wanted) > 100
    rows = []
    for shard in keys:
        for batch in open_arrow(job.duplicates(0, step.name, shard))[0]:
            rows += batch.to_pylist()
    found = {d["doc_id"]: row["duplicate_of"] for d, row in zip(docs, rows, strict=True)}
    assert {d: of for d, of in found.items() if of is not None} == wanted
    assert {row["similarity"] for row in rows} == {None}


@pytest.mark.parametrize("keep", ["first", "last"])
def test_one_url_of_more_documents_than_fit_keeps_one(tmp_path, keep):
    step = SameUrl(keep=keep)
    doc = {"url": "https://a.org/", "text": "", "images": []}
    shards = [[{**doc, "doc_id": i} for i in range(4_000)]]
    job = job_of(tmp_path, [step], "373KiB")
    write_sidecars(job, shards)
    facts = find_same(job, (step,))
    kept = 0 if keep == "first" else 3_999
    assert facts == {"docs": 4_000, "clusters": 1, "largest": [[kept, 4_000]]}
    batches = open_arrow(job.duplicates(0, "same_url", "0"))[0]
    of = [row for batch in batches for row in batch["duplicate_of"].to_pylist()]
    assert of == [None if i == kept else kept for i in range(4_000)]


def test_what_cannot_be_held_is_refused(tmp_path):
    step = RepeatedImages()
    job = job_of(tmp_path, [step], "200KiB")
    write_sidecars(job, corpus(0))
    with pytest.raises(ConfigError) as e:
        find_repeats(job, 0, (step,))
    n = sum(len(doc["images"]) for docs in corpus(0) for doc in docs)
    assert str(e.value) == (
        f"repeated_images: needs 256 KiB of memory for {n} images,"
        " run.memory_budget is 200 KiB; raise it or split the corpus"
    )


def test_no_documents_no_repeats(tmp_path):
    for step in (RepeatedImages(), RepeatedParagraphs()):
        job = job_of(tmp_path / step.name, [step])
        write_sidecars(job, [[], []])
        done = find_repeats(job, 0, (step,))
        assert found_in(job, [[], []]) == {}
        assert len(done.files) == 2


def test_a_sidecar_of_other_keys_is_refused(tmp_path):
    step, other = RepeatedImages(), RepeatedImages(by=("url",))
    job = job_of(tmp_path, [step])
    write_sidecars(job, corpus(0))
    with pytest.raises(ShardError, match="made with .*'md5'.* this run needs"):
        find_repeats(job, 0, (other,))
