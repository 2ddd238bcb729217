"""Who is predicted to leave for an earlier document leaves in the run, and no other."""

from itertools import pairwise

import numpy as np
import pytest

from tests.pipelines.keyed import job_of, write_texts
from tests.pipelines.measure.probes import ends_of, kept_by_run, probe
from tokenmill.pipelines.corpus.equal import ExactDedup, SameUrl
from tokenmill.pipelines.corpus.near import NearDedup
from tokenmill.pipelines.measure import earlier
from tokenmill.pipelines.measure.scan import ENDS
from tokenmill.pipelines.storage.files import arrow_file

SMALL = {"ngram": 1, "words": "whitespace", "num_perm": 16, "bands": 8, "rows": 2, "verify": 0.5}
EXACT, NEAR = ExactDedup(), NearDedup(**SMALL)
SIZES = (300, 0, 260, 1, 239)
N = sum(SIZES)
KEYS = tuple(f"{shard:05d}" for shard in range(len(SIZES)))


def texts():
    """Windows over texts: chains of like ones, of which the ends are not; some are empty."""
    rng = np.random.default_rng(5)
    made = []
    for of, at in zip(rng.integers(0, 60, N), rng.integers(0, 12, N), strict=True):
        made.append(" ".join(f"{of}w{i}" for i in range(at, at + 10)) if of else "")
    return made


def shards():
    made = texts()
    return [made[a:b] for a, b in pairwise(np.cumsum([0, *SIZES]))]


def probed(folder, steps, probes, read_frac=1.0):
    for key, part in zip(KEYS, shards(), strict=True):
        with arrow_file(folder / "ends" / f"part-{key}.arrow", ENDS) as writer:
            writer.write_batch(ends_of([len(text) + 1 for text in part]))
    return probe(folder, steps, KEYS, probes=probes, read_frac=read_frac)


@pytest.mark.parametrize("steps", [(NEAR,), (EXACT, NEAR), (NEAR, EXACT)], ids=len)
@pytest.mark.parametrize("similarity", ["exact", "estimate"])
def test_as_much_is_left_as_the_run_leaves(tmp_path, steps, similarity):
    steps = tuple(
        NearDedup(**SMALL, similarity=similarity) if step is NEAR else step for step in steps
    )
    write_texts(job_of(tmp_path, steps), steps, shards())
    last = probed(tmp_path, steps, N).last
    stays = kept_by_run(tmp_path, steps, SIZES)
    assert last.whole.all()
    assert (1 / last.copies).sum() == pytest.approx(stays.sum())
    assert 0.1 < stays.mean() < 0.6
    if steps[0] is not EXACT:
        assert (stays[np.isfinite(last.copies)]).sum() == stays.sum()


@pytest.mark.parametrize("keep", ["first", "last"])
@pytest.mark.parametrize("before", [(NEAR,), (EXACT, NEAR)], ids=len)
def test_of_one_url_as_many_are_left_behind_near_as_the_run_leaves(tmp_path, before, keep):
    steps = (*before, SameUrl(keep=keep))
    named = np.random.default_rng(6).integers(-60, 200, N)
    urls = np.where(named < 0, None, np.char.add("https://a.example/", named.astype(str)))
    parts = [urls[a:b].tolist() for a, b in pairwise(np.cumsum([0, *SIZES]))]
    write_texts(job_of(tmp_path, steps), steps, shards(), urls=parts)
    every, few = probed(tmp_path, steps, N), probed(tmp_path, steps, 200)
    stays = kept_by_run(tmp_path, steps, SIZES)
    near, last = every.steps["near"], every.last
    assert (1 / near.copies).sum() > 1.2 * stays.sum()  # same_url has something to find
    assert last.whole.all()
    assert (1 / last.copies).sum() == pytest.approx(stays.sum())
    sizes = np.array([len(text) + 1 for text in texts()])
    left_bytes = (last.first["text_bytes"] / last.copies).sum()
    assert left_bytes == pytest.approx(sizes[stays].sum())
    at = np.searchsorted(every.doc_id, few.doc_id)
    assert 0.2 < few.last.whole.mean() < 1  # how many of one URL stay is not known of few
    assert (few.last.copies == last.copies[at])[few.last.whole].all()
    assert (few.last.most >= last.copies[at]).all()
    assert np.isfinite(few.last.most[np.isfinite(last.copies[at])]).all()
    assert (few.last.alike <= last.copies[at]).all()


@pytest.mark.parametrize("keep", ["first", "last"])
def test_who_leaves_for_another_of_its_url_takes_no_like_one_along(tmp_path, keep):
    steps = (SameUrl(keep=keep), NEAR)
    named = np.random.default_rng(6).integers(-60, 200, N)
    urls = np.where(named < 0, None, np.char.add("https://a.example/", named.astype(str)))
    parts = [urls[a:b].tolist() for a, b in pairwise(np.cumsum([0, *SIZES]))]
    write_texts(job_of(tmp_path, steps), steps, shards(), urls=parts)
    last, stays = probed(tmp_path, steps, N).last, kept_by_run(tmp_path, steps, SIZES)
    assert last.whole.all()
    assert (1 / last.copies).sum() == pytest.approx(stays.sum())


def test_few_probes_are_told_the_same_as_all(tmp_path):
    steps = (NEAR,)
    write_texts(job_of(tmp_path, steps), steps, shards())
    every, few = probed(tmp_path, steps, N), probed(tmp_path, steps, 40)
    at = np.searchsorted(every.doc_id, few.doc_id)
    assert (every.last.copies[at] == few.last.copies).all()
    assert few.last.whole.all()


@pytest.mark.parametrize("rows", [1, 270])
def test_however_many_rows_are_looked_at_together_the_same_is_found(tmp_path, monkeypatch, rows):
    steps = (NEAR,)
    write_texts(job_of(tmp_path, steps), steps, shards())
    together = probed(tmp_path, steps, N).last
    monkeypatch.setattr(earlier, "LOOKED_AT", rows)
    some = probed(tmp_path, steps, N).last
    assert (some.copies == together.copies).all()
    assert (some.units == together.units).all()


@pytest.mark.parametrize(("bound", "most"), [("MOST_WALKS", 1), ("MOST_NODES", 30)])
def test_what_is_not_looked_at_is_said_to_be_unknown(tmp_path, monkeypatch, bound, most):
    monkeypatch.setattr(earlier, bound, most)
    steps = (NEAR,)
    write_texts(job_of(tmp_path, steps), steps, shards())
    last, stays = probed(tmp_path, steps, 40).last, kept_by_run(tmp_path, steps, SIZES)
    assert not last.whole.all()
    monkeypatch.undo()
    every = probed(tmp_path, steps, N)
    at = np.searchsorted(every.doc_id, probed(tmp_path, steps, 40).doc_id)
    known = last.whole
    assert (np.isfinite(last.copies) == stays[at])[known].all()
    assert (1 / last.most <= stays[at]).all()  # nothing is promised of what is unknown
    assert (1 / last.alike >= stays[at]).all()


@pytest.mark.parametrize("most", [1, 3])
def test_a_crowded_key_is_looked_at_in_part(tmp_path, monkeypatch, most):
    monkeypatch.setattr(earlier, "MOST_OF_KEY", most)
    steps = (NEAR,)
    write_texts(job_of(tmp_path, steps), steps, shards())
    last, stays = probed(tmp_path, steps, N).last, kept_by_run(tmp_path, steps, SIZES)
    assert not last.whole.all()
    assert (np.isfinite(last.copies) == stays)[last.whole].mean() > 0.97


def test_of_a_part_units_are_those_of_all_that_is_like_a_document(tmp_path):
    steps = (NEAR,)
    write_texts(job_of(tmp_path, steps), steps, shards())
    part, whole = (probed(tmp_path, steps, N, frac).last for frac in (0.5, 1.0))
    assert (part.copies == whole.copies).all()
    stays = np.isfinite(part.copies)
    assert part.units[stays].max() > 1
    assert (part.units >= 1).all()
    every, few = probed(tmp_path, steps, N, 0.5), probed(tmp_path, steps, 40, 0.5)
    at = np.searchsorted(every.doc_id, few.doc_id)
    assert (few.last.units == every.last.units[at]).all()
