"""What is counted over shards, in parts of whatever size, is what plain dictionaries count."""

import pytest

from tests.pipelines.corpus.repeats_corpora import batch_of, corpus
from tests.pipelines.keyed import part_of
from tests.reference import repeats as reference
from tests.strategies import few
from tokenmill.pipelines.core.errors import ConfigError, ShardError
from tokenmill.pipelines.corpus import shuffle
from tokenmill.pipelines.corpus.counted import count
from tokenmill.pipelines.corpus.counted.count import (
    CountedStep,
    count_units,
    merged_facts,
    spill_units,
    write_repeated,
    write_units,
)
from tokenmill.pipelines.corpus.counted.images import RepeatedImages
from tokenmill.pipelines.corpus.counted.paragraphs import RepeatedParagraphs
from tokenmill.pipelines.corpus.equal import SameImages, SameUrl, find_equal, write_equal
from tokenmill.pipelines.corpus.rows import write_rows
from tokenmill.pipelines.corpus.spill import spill_keys
from tokenmill.pipelines.corpus.step import document_keys, key_schema
from tokenmill.pipelines.corpus.units import LATER_COPY, REPEATED
from tokenmill.pipelines.corpus.verdicts import verdicts_on
from tokenmill.pipelines.prepare.job import PrepareJob
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.runs.folder import KEYS
from tokenmill.pipelines.storage.files import arrow_file, open_arrow

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
    "lines": RepeatedParagraphs(unit="line", within="corpus", more_than=3),
    "documents": RepeatedParagraphs(count="documents"),
    "documents, first": RepeatedParagraphs(count="documents", within="corpus", keep="first"),
    "buckets": RepeatedParagraphs(within={"docs": 17}, more_than=1),
    "groups": RepeatedParagraphs(within={"shards": 2}, keep="first"),
    "llama": RepeatedParagraphs(unit="line", within={"docs": 50}, more_than=6),
    "ccnet": RepeatedParagraphs(
        unit="line",
        normalize="ccnet",
        digest="sha1",
        within={"shards": 3},
        count="documents",
        more_than=1,
        empty="count",
    ),
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
    part, step = part_of(job.recipe.steps), job.recipe.steps[-1]
    schema = key_schema(part.finders)
    for shard, docs in enumerate(shards):
        batches = [batch_of(docs[at : at + BATCH]) for at in range(0, len(docs), BATCH)]
        with arrow_file(job.path(KEYS, key=str(shard)), schema) as keys:
            for batch in batches:
                keys.write_batch(document_keys(batch, part.finders, schema, source=""))
        if isinstance(step, CountedStep):
            sidecar = step.sidecar(job, 0, str(shard), source="", images=None)
            with arrow_file(sidecar.path, sidecar.schema) as units:
                for batch in batches:
                    units.write_batch(sidecar.rows(batch, None))
    keys = tuple(str(s) for s in range(len(shards)))
    write_rows(job, part, keys, tuple(map(len, shards)))
    return keys


def find_repeats(job, steps):
    """Do all phases of the last of the steps; what they tell, and the files of the last."""
    part = part_of(steps)
    facts = write_units(job, part).facts
    told = [spill_units(job, part, group).facts for group in range(facts["groups"])]
    for bucket, ranges in enumerate(facts["ranges"]):
        told += [count_units(job, part, bucket, number).facts for number in range(ranges)]
    done = [write_repeated(job, part, group) for group in range(facts["shard_groups"])]
    return merged_facts(told), [path for d in done for path in d.files]


def find_same(job, steps):
    """Find documents of equal keys by the first of the steps; what is told of them."""
    part, name = part_of(steps), steps[0].name
    spill_keys(job, part, name, 0)
    done = find_equal(job, part, name, 0)
    write_equal(job, part, name, 0)
    return done.facts


def found_in(job, shards):
    """{(doc_id, number): (by, count, first)}; rows in order, a batch for each of documents."""
    out, named = {}, []
    for shard, docs in enumerate(shards):
        batches = open_arrow(job.path(REPEATED, key=str(shard)))[0]
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


def expected(step, shards):
    """As `found_in`."""
    options = {"more_than": step.more_than, "keep": step.keep}
    docs = [doc for docs in shards for doc in docs]
    if isinstance(step, RepeatedParagraphs):
        options |= step.model_dump(include={"unit", "normalize", "count", "empty", "within"})
        found, copies = reference.repeated_paragraphs(shards, **options)
        assert not found.keys() & copies.keys()
        found = {name: (0, *told) for name, told in found.items()}
        return found | {name: (LATER_COPY, *told) for name, told in copies.items()}
    found = reference.repeated_images(docs, by=step.by, **options)
    by = [f"repeated_{name}" for name in step.by]
    return {name: (by.index(told[0]), *told[1:]) for name, told in found.items()}


def every_file(out):
    return {f"{p.relative_to(out)}": p.read_bytes() for p in out.rglob("*.arrow")}


@pytest.mark.parametrize("step", (IMAGE_STEPS | PARAGRAPH_STEPS).values(), ids=repr)
@pytest.mark.parametrize("seed", few(range(3), 3))
def test_what_is_too_frequent_is_what_dictionaries_find(tmp_path, step, seed):
    shards = corpus(seed)
    job = job_of(tmp_path, [step])
    write_sidecars(job, shards)
    find_repeats(job, (step,))
    wanted = expected(step, shards)
    assert len(wanted) > 10
    assert found_in(job, shards) == wanted


@pytest.mark.parametrize(
    "step",
    few([IMAGE_STEPS["first"], PARAGRAPH_STEPS["domain"], PARAGRAPH_STEPS["ccnet"]], 2),
    ids=repr,
)
def test_memory_changes_nothing(tmp_path, step, monkeypatch):
    shards = corpus(1, (300, 0, 2_200, 5))
    whole = job_of(tmp_path / "whole", [step])
    write_sidecars(whole, shards)
    facts, _ = find_repeats(whole, (step,))
    assert found_in(whole, shards) == expected(step, shards)
    n_parts = []

    def counted(*args):
        made = list(parts(*args))
        n_parts.append(len(made))
        return made

    parts = shuffle.parts
    monkeypatch.setattr(shuffle, "parts", counted)
    monkeypatch.setattr(count, "ROW_BYTES", 2_000)  # as if units were many more
    little = job_of(tmp_path / "little", [step], "6MiB")
    write_sidecars(little, shards)
    told, made = find_repeats(little, (step,))
    assert max(n_parts) > 1
    assert told == facts
    assert every_file(tmp_path / "little") == every_file(tmp_path / "whole")
    assert {p.name for p in made} == {
        p.name for p in (tmp_path / "whole" / "19-repeated").iterdir()
    }


@pytest.mark.parametrize(
    "step",
    [IMAGE_STEPS["none"], *(PARAGRAPH_STEPS[name] for name in ("first", "buckets", "ccnet"))],
    ids=repr,
)
def test_many_groups_and_ranges_find_what_few_do(tmp_path, step, monkeypatch):
    shards = corpus(3, (30, 0, 60, 5, 0, 20))
    n_ranges = {}
    for name, units in (("few", 1 << 20), ("many", 40)):
        monkeypatch.setattr(count, "GROUP_ROWS", 7 * units)
        monkeypatch.setattr(count, "RANGE_UNITS", units)
        job = job_of(tmp_path / name, [step])
        write_sidecars(job, shards)
        find_repeats(job, (step,))
        n_ranges[name] = len(list((tmp_path / name / "18-unit-counts").iterdir()))
        assert found_in(job, shards) == expected(step, shards)
    assert n_ranges["many"] >= n_ranges["few"] + 3


def test_more_times_than_a_receipt_can_tell_are_told_as_so_many(tmp_path, monkeypatch):
    monkeypatch.setattr(count, "MOST_TOLD", 10)
    shards, step = corpus(0), IMAGE_STEPS["once"]
    job = job_of(tmp_path, [step])
    write_sidecars(job, shards)
    find_repeats(job, (step,))
    told = {name: (by, min(n, 10), of) for name, (by, n, of) in expected(step, shards).items()}
    assert found_in(job, shards) == told
    assert len({n for _, n, _ in told.values()}) > 2


@pytest.mark.parametrize("seed", range(3))
def test_facts_name_the_most_frequent(tmp_path, seed):
    shards = corpus(seed)
    step = RepeatedImages()
    job = job_of(tmp_path, [step])
    write_sidecars(job, shards)
    facts = find_repeats(job, (step,))[0]
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


@pytest.mark.parametrize(
    "step",
    [IMAGE_STEPS["none"], *(PARAGRAPH_STEPS[name] for name in ("first", "documents", "buckets"))],
    ids=repr,
)
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
    facts = find_repeats(job, (before, step))[0]
    docs = [doc for docs in shards for doc in docs]
    gone = reference.same_url(docs)
    if before.name == "same_images":
        gone = reference.same_images(docs, by="md5", keep="first")
    assert len(gone) > 10
    nothing = {"text": "", "images": []}  # but their places in buckets are theirs
    left = [
        [{**doc, **nothing} if doc["doc_id"] in gone else doc for doc in docs] for docs in shards
    ]
    assert found_in(job, shards) == expected(step, left)
    if isinstance(step, RepeatedImages):
        assert facts["images"] == sum(len(doc["images"]) for docs in left for doc in docs)


@pytest.mark.parametrize("keep", ["first", "last"])
@pytest.mark.parametrize("budget", few(["305KiB", "4GiB"], 2))
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
        for batch in verdicts_on(job, 0, step, shard):
            rows += batch.to_pylist()
    found = {d["doc_id"]: row["duplicate_of"] for d, row in zip(docs, rows, strict=True)}
    assert {d: of for d, of in found.items() if of is not None} == wanted
    assert {row["similarity"] for row in rows} == {None}
    assert all(row["alive"] == (row["duplicate_of"] is None) for row in rows)


@pytest.mark.parametrize("keep", ["first", "last"])
def test_one_url_of_more_documents_than_fit_keeps_one(tmp_path, keep):
    step = SameUrl(keep=keep)
    doc = {"url": "https://a.org/", "text": "", "images": []}
    shards = [[{**doc, "doc_id": i} for i in range(4_000)]]
    job = job_of(tmp_path, [step], "448KiB")
    write_sidecars(job, shards)
    facts = find_same(job, (step,))
    kept = 0 if keep == "first" else 3_999
    assert facts == {"docs": 4_000, "clusters": 1, "largest": [[kept, 4_000]]}
    batches = verdicts_on(job, 0, step, "0")
    of = [row for batch in batches for row in batch["duplicate_of"].to_pylist()]
    assert of == [None if i == kept else kept for i in range(4_000)]


def test_what_cannot_be_held_is_refused(tmp_path):
    step = RepeatedImages()
    job = job_of(tmp_path, [step], "200KiB")
    write_sidecars(job, corpus(0))
    with pytest.raises(ConfigError) as e:
        find_repeats(job, (step,))
    n = sum(len(doc["images"]) for docs in corpus(0) for doc in docs)
    assert str(e.value) == (
        f"repeated_images: needs 285 KiB of memory for {n} images,"
        " run.memory_budget is 200 KiB; raise it or split the corpus"
    )


def test_no_documents_no_repeats(tmp_path):
    for step in (RepeatedImages(), RepeatedParagraphs()):
        job = job_of(tmp_path / step.name, [step])
        write_sidecars(job, [[], []])
        _, made = find_repeats(job, (step,))
        assert found_in(job, [[], []]) == {}
        assert len(made) == 2


def test_a_sidecar_of_other_keys_is_refused(tmp_path):
    step, other = RepeatedImages(), RepeatedImages(by=("url",))
    job = job_of(tmp_path, [step])
    write_sidecars(job, corpus(0))
    with pytest.raises(ShardError, match="made with .*'md5'.* this run needs"):
        find_repeats(job, (other,))
