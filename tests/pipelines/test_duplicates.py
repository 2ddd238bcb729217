"""The same duplicates are found whatever memory there is, and those of the plain way."""

import numpy as np
import pyarrow as pa
import pytest

from dedup.cluster import clusters
from dedup.lsh import NO_KEY, band_keys, candidate_pairs
from dedup.minhash import EMPTY, pair_similarity
from pipelines import duplicates, edges
from pipelines.arrow_files import arrow_file
from pipelines.dedup_steps import ExactDedup, NearDedup
from pipelines.duplicates import find_exact, find_near, read_duplicates
from pipelines.edges import find_edges
from pipelines.errors import ConfigError
from pipelines.keys import band_column, key_schema
from pipelines.prepare_job import PrepareJob
from pipelines.recipe import make_recipe
from pipelines.schema import doc_ids

MIB = 1 << 20
EXACT = ExactDedup()
NEAR = NearDedup(num_perm=24, bands=5, rows=4)
STEPS = {"near alone": (NEAR,), "exact, near": (EXACT, NEAR), "near, exact": (NEAR, EXACT)}
SHARD_DOCS = (9_000, 0, 1, 21_000)


def documents(n, *, families, same=0):
    """(n, 24) signatures and (n, 2) digests: `families` of like ones, `same` equal documents."""
    rng = np.random.default_rng(7)
    family = rng.integers(0, families, n)
    signed = rng.integers(0, 2**32, (families, NEAR.num_perm), dtype=np.uint32)[family]
    changed = rng.random(signed.shape) < 0.12
    signed[changed] = rng.integers(0, 2**32, int(changed.sum()), np.uint32)
    copies = rng.integers(0, n, (2, n // 10))
    signed[copies[0]] = signed[copies[1]]
    signed[rng.permutation(n)[:same]] = signed[0]
    signed[rng.random(n) < 0.01] = EMPTY
    # the texts of equal signatures differ, but for some: exact and near find other clusters
    digests = np.ascontiguousarray(signed[:, :4]).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    digests[:, 1] += (rng.random(n) < 0.3).astype(np.uint64)
    return signed, digests


def write_keys(out, steps, signed, digests):
    """Key sidecars in shards of uneven size, one of them empty; their keys."""
    job = job_of(out, steps)
    schema, bands = key_schema(steps), band_keys(signed, NEAR.lsh())
    at = 0
    for shard, n in enumerate(SHARD_DOCS):
        rows = slice(at, at + n)
        flat = pa.array(signed[rows].reshape(-1))
        columns = {"doc_id": pa.array(doc_ids(shard, 0, n))}
        columns["digest"] = pa.FixedSizeListArray.from_arrays(pa.array(digests[rows].ravel()), 2)
        columns["signature"] = pa.FixedSizeListArray.from_arrays(flat, NEAR.num_perm)
        columns |= {band_column(b): pa.array(bands[rows, b].copy()) for b in range(NEAR.bands)}
        whole = pa.record_batch([columns[name] for name in schema.names], schema=schema)
        with arrow_file(job.keys(0, str(shard)), schema) as writer:
            for start in range(0, n, 1_000):
                writer.write_batch(whole.slice(start, 1_000))
        at += n


def job_of(out, steps, budget="4GiB", workers=1):
    recipe = {
        "inputs": [{"path": "docs.jsonl"}],
        "steps": list(steps),
        "tokenizer": {"path": "tokenizer.json"},
        "run": {"memory_budget": budget, "workers": workers},
    }
    return PrepareJob(out=out, recipe=make_recipe(recipe, where="test"), identity="test")


def find(keys, out, steps, budget, workers=1):
    """Run all corpus-wide steps on the key sidecars in `keys`; their facts."""
    out.mkdir()
    (out / "11-keys").symlink_to(keys / "11-keys")
    job = job_of(out, steps, budget, workers)
    args = (job, 0, steps, tuple(str(s) for s in range(len(SHARD_DOCS))))
    facts = {}
    for step in steps:
        if step is EXACT:
            facts["exact"] = find_exact(*args).facts
        else:
            facts["bands"] = [find_edges(*args, band).facts for band in range(NEAR.bands)]
            facts["near"] = find_near(*args).facts
    return facts


def files(out, folders):
    paths = sorted(p for folder in folders for p in (out / folder).iterdir() if (out / folder))
    return {f"{p.parent.name}/{p.name}": p.read_bytes() for p in paths}


def labels(out, folder):
    """(n,) the id of the document kept in each one's place, and its similarity; ids of all."""
    paths = [out / folder / f"part-{shard}.arrow" for shard in range(len(SHARD_DOCS))]
    batches = [batch for path in paths for batch in read_duplicates(path)]
    of, alike = (pa.chunked_array([b[i] for b in batches]) for i in (0, 1))
    ids = np.concatenate([doc_ids(shard, 0, n) for shard, n in enumerate(SHARD_DOCS)])
    return of.to_pylist(), alike.to_pylist(), ids


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_parts_of_the_keys_at_a_time_make_the_same_files(tmp_path, steps, monkeypatch):
    monkeypatch.setattr(edges, "EDGES_AT_ONCE", 1_000)
    write_keys(tmp_path, steps, *documents(sum(SHARD_DOCS), families=4_000))
    whole = find(tmp_path, tmp_path / "whole", steps, "4GiB")
    parts_read = []
    for module in (edges, duplicates):
        monkeypatch.setattr(module, "parts", counted(module.parts, parts_read))
    for name, budget, workers in (("parts", 0.7 * MIB, 1), ("workers", 2.6 * MIB, 4)):
        assert find(tmp_path, tmp_path / name, steps, int(budget), workers) == whole
        folders = [path.name for path in (tmp_path / "whole").iterdir() if path.name != "11-keys"]
        assert len(folders) == len(steps) + 1
        assert files(tmp_path / name, folders) == files(tmp_path / "whole", folders)
        assert sum(n > 1 for n in parts_read) >= NEAR.bands
        parts_read.clear()


def counted(parts, numbers):
    """`parts`, and how many there were each time."""

    def wrapped(*args):
        made = list(parts(*args))
        numbers.append(len(made))
        return made

    return wrapped


@pytest.mark.parametrize("budget", ["4GiB", "700KiB"])
@pytest.mark.parametrize("same", [0, 20_000])
def test_duplicates_are_those_of_all_candidate_pairs_at_once(tmp_path, budget, same):
    """With 20,000 equal documents too, more than fit into memory at once with their keys."""
    signed, digests = documents(sum(SHARD_DOCS), families=4_000, same=same)
    write_keys(tmp_path, (NEAR,), signed, digests)
    facts = find(tmp_path, tmp_path / "found", (NEAR,), budget)
    keys, rows = band_keys(signed, NEAR.lsh()), np.arange(len(signed))
    bands = [candidate_pairs(np.ascontiguousarray(keys[:, b]), rows) for b in range(NEAR.bands)]
    assert [f["candidates"] for f in facts["bands"]] == [len(pairs) for pairs in bands]
    pairs = np.concatenate(bands)
    alike = pair_similarity(signed, *pairs.T) >= np.float32(NEAR.verify)
    label = clusters(len(signed), pairs[alike])
    of, similarity, ids = labels(tmp_path / "found", "14-near")
    gone = label != rows
    assert gone.sum() > 10_000
    assert of == [int(ids[r]) if g else None for r, g in zip(label, gone, strict=True)]
    expected = pair_similarity(signed, rows, label)
    assert similarity == [float(s) if g else None for s, g in zip(expected, gone, strict=True)]
    sizes = np.bincount(label)
    largest = sorted(np.flatnonzero(sizes > 1), key=lambda row: (-sizes[row], row))[:20]
    assert facts["near"] == {
        "docs": len(signed),
        "clusters": int((sizes > 1).sum()),
        "largest": [[int(ids[row]), int(sizes[row])] for row in largest],
    }


@pytest.mark.parametrize("budget", ["4GiB", "700KiB"])
def test_exact_duplicates_are_those_a_dictionary_finds(tmp_path, budget):
    signed, digests = documents(sum(SHARD_DOCS), families=4_000, same=20_000)
    write_keys(tmp_path, (EXACT,), signed, digests)
    facts = find(tmp_path, tmp_path / "found", (EXACT,), budget)
    of, similarity, ids = labels(tmp_path / "found", "13-exact")
    first = {}
    kept = [
        first.setdefault(tuple(d), i) for i, d in zip(ids.tolist(), digests.tolist(), strict=True)
    ]
    assert of == [k if k != i else None for k, i in zip(kept, ids.tolist(), strict=True)]
    assert set(similarity) == {1.0, None}
    assert facts["exact"]["largest"][0][1] > 10_000


def test_documents_without_words_and_those_gone_before_are_no_candidates(tmp_path):
    signed, digests = documents(sum(SHARD_DOCS), families=4_000)
    signed[:5_000] = EMPTY
    assert np.all(band_keys(signed[:5_000], NEAR.lsh()) == NO_KEY)
    write_keys(tmp_path, (EXACT, NEAR), signed, digests)
    find(tmp_path, tmp_path / "found", (EXACT, NEAR), "4GiB")
    exact, _, _ = labels(tmp_path / "found", "13-exact")
    near, _, ids = labels(tmp_path / "found", "14-near")
    assert not any(near[:5_000])
    gone = {int(i) for i, of in zip(ids, exact, strict=True) if of is not None}
    assert not gone & {of for of in near if of is not None}
    assert not any(e is not None and n is not None for e, n in zip(exact, near, strict=True))


@pytest.mark.parametrize(
    ("step", "call", "message"),
    [
        (EXACT, find_exact, "exact: needs 666 KiB of memory for 30,001 documents,"),
        (NEAR, find_near, "near: needs 637 KiB of memory for 30,001 documents,"),
    ],
)
def test_what_cannot_be_held_of_each_document_is_refused(tmp_path, step, call, message):
    write_keys(tmp_path, (step,), *documents(sum(SHARD_DOCS), families=4_000))
    job = job_of(tmp_path, (step,), "600KiB")
    with pytest.raises(ConfigError) as e:
        call(job, 0, (step,), tuple(str(s) for s in range(len(SHARD_DOCS))))
    budget = " run.memory_budget is 600 KiB; raise it or split the corpus"
    assert str(e.value) == message + budget


def test_bands_at_once_share_the_memory(tmp_path):
    write_keys(tmp_path, (NEAR,), *documents(sum(SHARD_DOCS), families=4_000))
    shards = tuple(str(s) for s in range(len(SHARD_DOCS)))
    find_edges(job_of(tmp_path, (NEAR,), "1MiB", 3), 0, (NEAR,), shards, 0)
    with pytest.raises(ConfigError, match="raise it, use fewer workers or split the corpus") as e:
        find_edges(job_of(tmp_path, (NEAR,), "1MiB", 4), 0, (NEAR,), shards, 0)
    assert str(e.value).startswith("near: needs 1.11 MiB of memory for 30,001 documents,")
