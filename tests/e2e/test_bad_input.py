"""Everything that can be wrong with an input or an output directory, in whole runs."""

import gzip
import json
import os
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from tests.pipelines.conftest import train
from tests.running import one_by_one, prepare
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.prepare.inspect import removals
from tokenmill.pipelines.prepare.recipe import load_recipe

LINES = [{"id": f"d{i}", "text": f"document {i} with a few words of its own"} for i in range(50)]
JSONL = "".join(json.dumps(line) + "\n" for line in LINES).encode()


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return str(train(tmp_path_factory.mktemp("tokenizer")))


def recipe_of(folder, tokenizer, inputs, **settings):
    path = folder / "recipe.yaml"
    data = {
        "inputs": [{"path": str(p)} if not isinstance(p, dict) else p for p in inputs],
        "steps": ["normalize", "exact", "near"],
        "tokenizer": {"path": tokenizer},
        **settings,
    }
    path.write_text(yaml.safe_dump(data))
    return load_recipe(path)


def totals(report):
    """Causes of failure over all stages, and documents that came out."""
    causes = {}
    for row in report["ledger"]:
        for cause, n in row["failed"].items():
            causes[cause] = causes.get(cause, 0) + n
    return causes, report["ledger"][-1]["docs_out"]


def write_bad(folder):
    """One file for each way to be wrong, and a good one."""
    folder.mkdir()
    (folder / "good.jsonl").write_bytes(JSONL)
    noise = [json.dumps({"id": f"g{i}", "text": os.urandom(500).hex()}) for i in range(200)]
    whole = gzip.compress("\n".join(noise).encode())
    (folder / "truncated.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    (folder / "invalid_utf8.jsonl").write_bytes(b'{"text": "caf\xe9"}\n{"text": "fine"}\n')
    (folder / "invalid_json.jsonl").write_bytes(b'{"text": "fine too"}\n{"text": \n')
    (folder / "empty.jsonl").write_bytes(b"")
    pq.write_table(pa.table({"body_of_it": ["x"]}), folder / "no_text.parquet")
    pq.write_table(pa.table({"text": ["y"] * 1000}), folder / "cut.parquet")
    whole = (folder / "cut.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(whole[: len(whole) // 2])


def test_one_bad_file_of_each_kind_does_not_stop_the_good_ones(tmp_path, tokenizer):
    write_bad(tmp_path / "in")
    recipe = recipe_of(tmp_path, tokenizer, [tmp_path / "in"], steps=["normalize"])
    report = prepare(recipe, tmp_path / "run", one_by_one)
    causes, docs = totals(report)
    from_truncated = docs - (50 + 1 + 1)
    assert 50 < from_truncated < 150
    assert causes["invalid_utf8"] == 1
    assert causes["invalid_json"] == 1
    assert causes["truncated_gzip"] == 1
    failed = {os.path.basename(f["path"]): f["cause"] for f in report["failed_inputs"]}
    assert failed["no_text.parquet"] == "missing_column"
    assert "cut.parquet" in failed
    assert all("\n" not in f["message"] for f in report["failed_inputs"])
    (truncated,) = removals(tmp_path / "run", reason="truncated_gzip").to_pylist()
    assert "truncated.jsonl.gz" in truncated["detail"]


def test_a_200_mb_line_is_one_failed_document(tmp_path, tokenizer):
    path = tmp_path / "huge.jsonl"
    with path.open("wb") as f:
        f.write(JSONL)
        f.write(b'{"text": "' + b"a" * 200_000_000 + b'"}\n')
        f.write(b'{"text": "after it"}\n')
    report = prepare(recipe_of(tmp_path, tokenizer, [path]), tmp_path / "run", one_by_one)
    assert totals(report) == ({"too_large": 1}, 51)


def test_no_documents_at_all_are_a_dataset_without_rows(tmp_path, tokenizer):
    path = tmp_path / "empty.jsonl"
    path.write_bytes(b"")
    report = prepare(recipe_of(tmp_path, tokenizer, [path]), tmp_path / "run", one_by_one)
    assert totals(report) == ({}, 0)
    assert report["measurement"]["total"]["text_bytes_per_token"] is None


def test_a_filter_that_removes_everything_leaves_a_balanced_ledger(tmp_path, tokenizer):
    path = tmp_path / "docs.jsonl"
    path.write_bytes(JSONL)
    steps = [{"gopher_quality": {"min_words": 1000}}, "exact", "near"]
    recipe = recipe_of(tmp_path, tokenizer, [path], steps=steps)
    report = prepare(recipe, tmp_path / "run", one_by_one)
    assert totals(report) == ({}, 0)
    assert sum(report["ledger"][1]["removed"].values()) == 50


def test_only_unreadable_inputs_are_a_mistake_named_at_once(tmp_path, tokenizer):
    pq.write_table(pa.table({"body_of_it": ["x"]}), tmp_path / "no_text.parquet")
    recipe = recipe_of(tmp_path, tokenizer, [tmp_path / "no_text.parquet"])
    with pytest.raises(ConfigError, match="no input can be read: .*body_of_it") as e:
        prepare(recipe, tmp_path / "run", one_by_one)
    assert "\n" not in str(e.value)
    assert not (tmp_path / "run").exists()


def test_an_input_that_is_not_there(tmp_path, tokenizer):
    recipe = recipe_of(tmp_path, tokenizer, [tmp_path / "nowhere.jsonl"])
    with pytest.raises(ConfigError, match=r"nowhere\.jsonl"):
        prepare(recipe, tmp_path / "run", one_by_one)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"step": []}, "unknown key 'step'; did you mean 'steps'?"),
        ({"output": {"seqlen": 5}}, "output: unknown key 'seqlen'; did you mean 'seq_len'?"),
        ({"steps": [{"near": {"verfy": 1}}]}, "near: unknown key 'verfy'; did you mean 'verify'?"),
        ({"steps": ["dedupe"]}, "unknown step 'dedupe'; steps are"),
        ({"steps": ["near_image"]}, "step 'near_image'; did you mean 'near_images'?; one of your"),
        ({"steps": ["exact", "exact"]}, "step 'exact' stands twice"),
        ({"shard_bytes": "12 parsecs"}, "shard_bytes"),
        (
            {"steps": [{"near": {"bands": 50}}]},
            "50 bands of 5 rows need 250 permutations, num_perm is 70; give that too",
        ),
    ],
)
def test_a_mistake_in_the_recipe_is_one_line(tmp_path, tokenizer, settings, message):
    with pytest.raises(ConfigError) as e:
        recipe_of(tmp_path, tokenizer, [tmp_path], **settings)
    assert message in str(e.value)
    assert "\n" not in str(e.value)


def test_a_tokenizer_that_does_not_exist_is_told_before_anything_is_written(tmp_path):
    (tmp_path / "docs.jsonl").write_bytes(JSONL)
    recipe = recipe_of(tmp_path, str(tmp_path / "no.json"), [tmp_path / "docs.jsonl"])
    with pytest.raises(ConfigError, match="no such tokenizer file"):
        prepare(recipe, tmp_path / "run", one_by_one)
    assert not (tmp_path / "run" / "manifest.json").exists()


def test_another_recipe_is_refused_with_the_difference(tmp_path, tokenizer):
    (tmp_path / "docs.jsonl").write_bytes(JSONL)
    first = recipe_of(tmp_path, tokenizer, [tmp_path / "docs.jsonl"])
    prepare(first, tmp_path / "run", one_by_one)
    second = recipe_of(
        tmp_path,
        tokenizer,
        [tmp_path / "docs.jsonl"],
        steps=["normalize", "exact", {"near": {"verify": 0.8}}],
    )
    with pytest.raises(ConfigError) as e:
        prepare(second, tmp_path / "run", one_by_one)
    assert "recipe.steps.2.near.verify is 0.7 there, 0.8 here" in str(e.value)


def test_changed_inputs_are_refused_too(tmp_path, tokenizer):
    path = tmp_path / "docs.jsonl"
    path.write_bytes(JSONL)
    recipe = recipe_of(tmp_path, tokenizer, [path])
    prepare(recipe, tmp_path / "run", one_by_one)
    path.write_bytes(JSONL + b'{"text": "one more"}\n')
    with pytest.raises(ConfigError, match=r"another run: \S*docs\.jsonl has changed since;"):
        prepare(recipe, tmp_path / "run", one_by_one)


def test_a_folder_that_holds_other_things_is_not_taken_over(tmp_path, tokenizer):
    (tmp_path / "docs.jsonl").write_bytes(JSONL)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("do not delete")
    with pytest.raises(ConfigError, match=r"not a run directory, but holds thesis\.tex"):
        prepare(
            recipe_of(tmp_path, tokenizer, [tmp_path / "docs.jsonl"]), tmp_path / "run", one_by_one
        )


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MB."""
    where = tmp_path / "disk"
    where.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(where)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a tmpfs here: {mounted.stderr.decode().strip()}")
    yield where
    subprocess.run(["umount", "--lazy", str(where)], check=True)


def big_recipe(folder, tokenizer):
    path = folder / "docs.jsonl"
    with path.open("w") as f:
        for i in range(20_000):
            text = f"document {i} says {i * i} and {i**3} and many other words {i * 7919}"
            f.write(json.dumps({"text": text}) + "\n")
    return recipe_of(folder, tokenizer, [path], shard_bytes="100kB")


def test_a_full_disk_is_one_line_and_the_run_continues_elsewhere_in_time(
    tmp_path, tokenizer, small_disk
):
    recipe = big_recipe(tmp_path, tokenizer)
    with pytest.raises(ConfigError, match="cannot write there .*space") as e:
        prepare(recipe, small_disk / "run", one_by_one)
    assert "\n" not in str(e.value)
    assert not list(small_disk.rglob("*.partial-*"))
    assert list(small_disk.rglob("receipts/pass-0/*.json")), "some shards were finished"
    subprocess.run(["mount", "-o", "remount,size=200m", str(small_disk)], check=True)
    report = prepare(recipe, small_disk / "run", one_by_one)
    assert totals(report)[0] == {}


def test_a_read_only_disk_is_one_line(tmp_path, tokenizer, small_disk):
    (tmp_path / "docs.jsonl").write_bytes(JSONL)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    recipe = recipe_of(tmp_path, tokenizer, [tmp_path / "docs.jsonl"])
    with pytest.raises(ConfigError, match=r"cannot write there .*[Rr]ead-only") as e:
        prepare(recipe, small_disk / "run", one_by_one)
    assert "\n" not in str(e.value)
