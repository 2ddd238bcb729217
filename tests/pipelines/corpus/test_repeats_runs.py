"""Whole runs keep what plain dictionaries over all documents keep, whatever the machine."""

import base64
import hashlib
import io
import json
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial

import pyarrow.parquet as pq
import pytest
from datasets import Image as ImageFeature
from datasets import List, load_from_disk
from PIL import Image
from tokenizers import Tokenizer

from tests.pipelines.corpus.repeats_corpora import corpus
from tests.pipelines.keyed import PUBLISHED
from tests.pipelines.read.images.shards import jpeg, sample, tar_bytes
from tests.reference import repeats as reference
from tests.running import one_by_one, prepare
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.core.schema import PLACEHOLDER
from tokenmill.pipelines.corpus.passes import passes
from tokenmill.pipelines.measure.job import check_one_pass
from tokenmill.pipelines.prepare.inspect import removals
from tokenmill.pipelines.prepare.recipe import make_recipe
from tokenmill.pipelines.runs.work import attempt

PLAIN = "https://plain.org/"  # of images that the corpus has neither URL nor MD5 of
STEPS = {
    "obelics": [
        "same_url",
        {"repeated_images": {"by": ["url"]}},
        "repeated_paragraphs",
        "same_images",
    ],
    "by both": ["repeated_images", "same_url", {"same_images": {"by": "md5", "keep": "first"}}],
    "keep first": [
        {"repeated_images": {"keep": "first", "no_images_left": False}},
        {"repeated_paragraphs": {"within": "corpus", "keep": "first"}},
    ],
    "ccnet": [
        {
            "repeated_paragraphs": {
                "unit": "line",
                "normalize": "ccnet",
                "digest": "sha1",
                "within": "corpus",
                "count": "documents",
                "more_than": 1,
            }
        }
    ],
    "llama": [
        {"repeated_paragraphs": {"unit": "line", "within": {"docs": 30}, "more_than": 3}},
        "same_url",
    ],
    "one pass": [{"same_images": {"by": "md5"}}, {"same_url": {"keep": "first"}}],
}


@cache
def png(digest):
    """A small picture that is another for another digest."""
    file = io.BytesIO()
    Image.frombytes("RGB", (1, 5), digest[:15]).save(file, "PNG")
    return file.getvalue()


def documents(seed, n=110, *, samples=False):
    """The corpus as it will be read: documents by their place, and the lines to read them from."""
    docs, lines = [], []
    for place, doc in enumerate(corpus(seed, (n,), samples=samples)[0]):
        images = [
            {
                "number": i,
                "url": image["url"] or (None if image["md5"] else PLAIN),
                "data": image["md5"] and png(image["md5"]),
            }
            for i, image in enumerate(doc["images"])
        ]
        nodes = [node for node in doc["text"].split("\n\n") if node]
        lines.append(json.dumps(line(place, doc["url"], nodes, images)))
        for image in images:
            data = image.pop("data")
            image["md5"] = data and hashlib.md5(data).digest()
        docs.append(
            {"doc_id": place, "url": doc["url"], "text": "\n\n".join(nodes), "images": images}
        )
    return docs, lines


def line(place, url, nodes, images):
    """A document as OBELICS has them: lists of texts, images and metadata, in order."""
    left = iter(images)
    texts, values, metadata = [], [], []
    for node in nodes:
        image = next(left) if node == PLACEHOLDER else {"url": None, "data": None}
        texts.append(None if node == PLACEHOLDER else node)
        data = image["data"]
        values.append({"bytes": base64.b64encode(data).decode()} if data else image["url"])
        metadata.append({"src": image["url"]} if image["url"] else None)
    return {"id": f"{place}", "url": url, "texts": texts, "images": values, "metadata": metadata}


def twin(docs, steps):
    """What is left of the documents, and {(document, number): reason} of images taken out."""
    images_out = {}
    for step in steps:
        name, options = (step, {}) if isinstance(step, str) else next(iter(step.items()))
        if name in ("same_url", "same_images"):
            gone = getattr(reference, name)(docs, **options)
            docs = [doc for doc in docs if doc["doc_id"] not in gone]
        elif name == "repeated_images":
            leave = options.get("no_images_left", True)
            options = {k: v for k, v in options.items() if k != "no_images_left"}
            found = reference.repeated_images(docs, **options)
            images_out |= {named: told[:2] for named, told in found.items()}
            left = [without_images(doc, found) for doc in docs]
            kept = zip(docs, left, strict=True)
            docs = [b for a, b in kept if not leave or b["images"] or not a["images"]]
        else:
            said = {k: v for k, v in options.items() if k != "digest"}
            found, copies = reference.repeated_paragraphs([docs], **said)
            left = [without_paragraphs(doc, found | copies, options) for doc in docs]
            kept = zip(docs, left, strict=True)
            docs = [
                b for a, b in kept if b["text"].strip() or b["images"] or a["text"] == b["text"]
            ]
    return docs, images_out


def without_images(doc, found):
    left = iter(doc["images"])
    nodes = [
        node
        for node in doc["text"].split("\n\n")
        if node != PLACEHOLDER or (doc["doc_id"], next(left)["number"]) not in found
    ]
    images = [i for i in doc["images"] if (doc["doc_id"], i["number"]) not in found]
    return {**doc, "text": "\n\n".join(nodes), "images": images}


def without_paragraphs(doc, found, options):
    numbers = {number for doc_id, number in found if doc_id == doc["doc_id"]}
    separator = "\n" if options.get("unit") == "line" else "\n\n"
    return {**doc, "text": reference.without_paragraphs(doc["text"], numbers, separator)}


def recipe_of(folder, tokenizer, steps, **settings):
    recipe = {
        "inputs": [{"path": str(folder / "*.jsonl"), "text": "texts", "images": "images"}],
        "images": {},
        "shard_bytes": "12kB",
        "steps": steps,
        "tokenizer": {"path": str(tokenizer)},
        "run": {"memory_budget": "700KiB"},
        **settings,
    }
    return make_recipe(recipe, where="test")


def in_dataset(out, tokenizer):
    """{document: (text, MD5s or None)} of the dataset, by the ids that the lines give."""
    rows = load_from_disk(str(out / "dataset"))
    rows = rows.cast_column("images", List(ImageFeature(decode=False)))
    engine, made = Tokenizer.from_file(str(tokenizer)), {}
    for row in rows:
        parts, place = [[]], max(row["input_ids"], default=0)
        for token in row["input_ids"]:
            if row["images"] and token == place:
                parts.append([])
            else:
                parts[-1].append(token)
        text = PLACEHOLDER.join(engine.decode(part) for part in parts)
        data = [image["bytes"] for image in row["images"]]
        made[int(row["id"])] = (text, [d and hashlib.md5(d).digest() for d in data])
    return made


def receipts_of_images(out):
    rows = [
        r for p in sorted((out / "removed-images").iterdir()) for r in pq.read_table(p).to_pylist()
    ]
    return {(int(r["id"]), r["number"]): (r["reason"], r["value"]) for r in rows}


# four of six rules by one of two corpora; the others by test_count
@pytest.mark.long_but("0-ccnet", "1-by both", "0-keep first", "0-obelics")
@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("seed", range(2))
def test_a_run_keeps_what_dictionaries_keep(tmp_path, tokenizer_path, steps, seed):
    docs, lines = documents(seed)
    for name, part in (("a", lines[:70]), ("b", lines[70:])):
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in part))
    report = prepare(recipe_of(tmp_path, tokenizer_path, steps), tmp_path / "run", one_by_one)
    assert report["inputs"]["shards"] > 4
    left, images_out = twin(docs, steps)
    assert len(left) < len(docs)
    found = in_dataset(tmp_path / "run", tokenizer_path)
    assert found == {d["doc_id"]: (d["text"], [i["md5"] for i in d["images"]]) for d in left}
    assert receipts_of_images(tmp_path / "run") == images_out
    gone = removals(tmp_path / "run")
    assert sorted([*found, *map(int, gone["id"].to_pylist())]) == list(range(len(docs)))


def four_at_once(job, phase):
    """Works side by side, the last one first."""
    with ThreadPoolExecutor(4) as pool:
        return [*pool.map(partial(attempt, job), phase.works[::-1])][::-1]


class StoppedError(Exception):
    pass


def stopped_behind(name):
    """An executor that is stopped when a phase has done its work."""

    def execute(job, phase):
        outcomes = four_at_once(job, phase)
        if phase.name == name:
            raise StoppedError
        return outcomes

    return execute


def every_file(out):
    paths = (p for p in out.rglob("*") if p.suffix in (".arrow", ".parquet", ".bin"))
    return {str(p.relative_to(out)): p.read_bytes() for p in paths}


def test_workers_memory_and_a_stop_in_the_middle_change_no_byte(tmp_path, tokenizer_path):
    _, lines = documents(0)
    (tmp_path / "docs.jsonl").write_text("\n".join(lines))
    lines = {"unit": "line", "normalize": "ccnet", "digest": "sha1", "within": {"docs": 40}}
    paragraphs = {"repeated_paragraphs": {**lines, "count": "documents"}}
    steps = ["same_url", "repeated_images", paragraphs, "same_images", PUBLISHED]
    made = {}
    for name, execute, budget in (
        ("whole", one_by_one, "1400KiB"),
        ("stopped", four_at_once, "4GiB"),
    ):
        run = {"memory_budget": budget, "keep_intermediates": True, "workers": 4}
        recipe = recipe_of(tmp_path, tokenizer_path, steps, run=run)
        phases = ("repeated_images", "repeated_paragraphs keys", "repeated_paragraphs")
        for step in phases if name == "stopped" else ():
            with pytest.raises(StoppedError):
                prepare(recipe, tmp_path / name, stopped_behind(step))
        prepare(recipe, tmp_path / name, execute)
        made[name] = every_file(tmp_path / name)
    assert made["whole"] == made["stopped"]
    folders = {path.partition("/")[0] for path in made["whole"]}
    assert folders >= {
        "13-same_url",
        "18-units",
        "19-repeated",
        "28-units",
        "29-repeated",
        "33-same_images",
        "34-near",
        "removed-images",
        "removed-paragraphs",
    }
    assert not any("runs" in path for path in made["whole"])


def test_nothing_but_receipts_stays_of_what_was_counted(tmp_path, tokenizer_path):
    _, lines = documents(1, samples=False)
    (tmp_path / "docs.jsonl").write_text("\n".join(lines))
    steps = ["repeated_images", {"repeated_paragraphs": {"more_than": 1}}]
    out = tmp_path / "run"
    report = prepare(recipe_of(tmp_path, tokenizer_path, steps), out, one_by_one)
    assert not list(out.glob("[0-9][0-9]-*"))
    (row,) = [row for row in report["ledger"] if row["stage"] == "repeated_paragraphs"]
    rows = [r for p in (out / "removed-paragraphs").iterdir() for r in pq.read_table(p).to_pylist()]
    assert len(rows) > 20
    breaks = row["bytes_edited"] - sum(r["text_bytes"] for r in rows)
    assert 0 < breaks <= 2 * len(rows)


def test_steps_that_take_something_out_end_their_pass():
    steps = ["same_url", "exact", "repeated_images", "repeated_paragraphs", "same_images", "near"]
    recipe = {"inputs": [{"path": "a"}], "images": {}, "tokenizer": {"path": "o/t"}, "steps": steps}
    made = [
        tuple([s.name for s in group] for group in (p.before, p.after))
        for p in passes(make_recipe(recipe, where="test").steps)
    ]
    assert made == [
        ([], ["same_url", "exact", "repeated_images"]),
        (["same_url", "exact", "repeated_images"], ["repeated_paragraphs"]),
        (["repeated_paragraphs"], ["same_images", "near"]),
        (["same_images", "near"], []),
    ]


@pytest.mark.parametrize("step", ["repeated_images", "same_images"])
def test_steps_about_images_need_a_recipe_with_images(step):
    recipe = {"inputs": [{"path": "a"}], "tokenizer": {"path": "o/t"}, "steps": [step]}
    with pytest.raises(ConfigError) as e:
        make_recipe(recipe, where="r.yaml")
    assert str(e.value).startswith(
        f"r.yaml: step {step!r} is about images, and the recipe has no section 'images'; add one,"
        " 'images: {}' will do"
    )


def test_text_alone_is_freed_from_what_its_sites_repeat(tmp_path, tokenizer_path):
    docs, _ = documents(0)
    for doc in docs:
        doc["images"], doc["text"] = [], doc["text"].replace(PLACEHOLDER, "nothing")
    lines = [json.dumps({"id": d["doc_id"], "url": d["url"], "text": d["text"]}) for d in docs]
    (tmp_path / "docs.jsonl").write_text("\n".join(lines))
    steps = ["repeated_paragraphs", "same_url"]
    inputs = [{"path": str(tmp_path / "docs.jsonl")}]
    recipe = recipe_of(
        tmp_path, tokenizer_path, steps, inputs=inputs, images=None, shard_bytes="3kB"
    )
    report = prepare(recipe, tmp_path / "run", one_by_one)
    assert report["inputs"]["shards"] > 3
    rows = load_from_disk(str(tmp_path / "run" / "dataset"))
    engine = Tokenizer.from_file(str(tokenizer_path))
    left, _ = twin(docs, steps)
    found = {int(row["id"]): engine.decode(row["input_ids"]) for row in rows}
    assert found == {doc["doc_id"]: doc["text"] for doc in left}


def test_captions_are_deduplicated_as_text_is_where_that_is_asked_for(tmp_path, tokenizer_path):
    words = " ".join(f"word{i}" for i in range(60))
    captions = ["a cat", "a dog", "a cat", f"{words} end", f"{words} ende", "a cat", ""]
    members = {}
    for i, caption in enumerate(captions):
        members |= sample(f"{i:02d}", jpeg(colour=(i, 0, 0)), caption)
    (tmp_path / "samples.tar").write_bytes(tar_bytes(members))
    inputs = [{"path": str(tmp_path / "samples.tar")}]
    run = {"workers": 1}
    steps = [{"exact": {"samples": "captions"}}, {"near": {"samples": "captions"}}]
    recipe = recipe_of(tmp_path, tokenizer_path, steps, inputs=inputs, run=run)
    report = prepare(recipe, tmp_path / "run", one_by_one)
    rows = load_from_disk(str(tmp_path / "run" / "dataset"))
    assert [row["id"].rpartition("/")[2] for row in rows] == ["00", "01", "03", "06"]
    assert [len(row["images"]) for row in rows] == [1] * 4
    ledger = {row["stage"]: row for row in report["ledger"]}
    for step, removed, n in (("exact", "exact_duplicate", 2), ("near", "near_duplicate", 1)):
        assert ledger[step]["removed"] == {removed: n}
        images = ledger[step]["images"]
        assert (images["with_document"], images["removed"]) == (n, {})


def test_what_a_prediction_cannot_tell_is_refused():
    recipe = {"inputs": [{"path": "a"}], "tokenizer": {"path": "o/t"}}
    with pytest.raises(ConfigError, match="step 'same_url' stands behind a corpus-wide step and"):
        check_one_pass(make_recipe({**recipe, "steps": ["exact", "c4", "same_url"]}, where="test"))
    for steps in (["exact", "repeated_paragraphs"], ["repeated_paragraphs", "same_url"]):
        check_one_pass(make_recipe({**recipe, "steps": steps}, where="test"))
